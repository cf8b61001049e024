"""The bytes of completion answers, from templates made once per server; no sockets beyond a connection's `write`.

A chunk per request and step is the hot path of the simulator: it must not build JSON there.
"""

from __future__ import annotations

import json

from probes.sim.api import Ask
from probes.sim.request import CHARS_PER_TOKEN, Request
from probes.sim.wire import LAST_CHUNK, Connection, chunk

TEXT = " the moon has two ends and one long day "
"""Cut into pieces of four characters: one simulated token each."""
_ID = "@" * 32
_CREATED = 1_000_000_000


def text_of(tokens: int) -> str:
    """Output text of so many tokens."""
    size = tokens * CHARS_PER_TOKEN
    return (TEXT * (size // len(TEXT) + 1))[:size]


class Templates:
    """Ready frames with two gaps each (id and time), by tokens in the step and finish reason."""

    def __init__(self, model_name: str, *, chat: bool, most_tokens: int) -> None:
        self._model = model_name
        self._chat = chat
        self.prefix = "chatcmpl-" if chat else "cmpl-"
        self._object = "chat.completion" if chat else "text_completion"
        self.frames: dict[tuple[int, str | None], bytes] = {
            (tokens, reason): self._frame([self._choice(text_of(tokens), reason)])
            for tokens in range(most_tokens + 1)
            for reason in (None, "stop", "length", "abort")
        }
        self.role = self._frame([self._role()]) if chat else b""
        self.done = chunk(b"data: [DONE]\n\n") + LAST_CHUNK

    def usage_frame(self, usage: dict[str, object]) -> bytes:
        """The chunk before `[DONE]` where usage was asked for; gaps as in `frames`."""
        return self._frame([], usage)

    def whole(self, ident: str, created: int, request: Request, reason: str) -> bytes:
        """A body without streaming."""
        text = text_of(request.generated)
        choice: dict[str, object] = {"index": 0, "logprobs": None, "finish_reason": reason, "stop_reason": None}
        choice |= {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        answer = self._envelope(ident, created, self._object, [choice], usage_of(request))
        return json.dumps(answer).encode()

    def _choice(self, text: str, reason: str | None) -> dict[str, object]:
        content: dict[str, object] = {"delta": {"content": text}} if self._chat else {"text": text}
        return {"index": 0} | content | {"logprobs": None, "finish_reason": reason, "stop_reason": None}

    def _role(self) -> dict[str, object]:
        return {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}

    def _envelope(
        self, ident: str, created: int, kind: str, choices: list[dict[str, object]], usage: dict[str, object] | None
    ) -> dict[str, object]:
        envelope = {"id": ident, "object": kind, "created": created, "model": self._model, "choices": choices}
        if usage is not None or not self._chat:
            envelope["usage"] = usage
        return envelope

    def _frame(self, choices: list[dict[str, object]], usage: dict[str, object] | None = None) -> bytes:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        data = json.dumps(self._envelope(self.prefix + _ID, _CREATED, kind, choices, usage), separators=(",", ":"))
        framed = chunk(f"data: {data}\n\n".encode()).replace(b"%", b"%%")
        # Id and time keep their lengths, so the frame's size line stays right.
        return framed.replace(_ID.encode(), b"%b", 1).replace(b"%d" % _CREATED, b"%d", 1)


def usage_of(request: Request, factor: float = 1.0) -> dict[str, object]:
    """Token counts as the API gives them; `factor` makes a liar of it."""
    generated = round(request.generated * factor)
    return {
        "prompt_tokens": request.prompt_tokens,
        "total_tokens": request.prompt_tokens + generated,
        "completion_tokens": generated,
        "prompt_tokens_details": None,
    }


class Answer:
    """One client's answer in the making."""

    __slots__ = ("_ask", "_connection", "_created", "_frames", "_ident", "_started", "_templates", "_usage_factor")

    def __init__(
        self,
        connection: Connection,
        ask: Ask,
        templates: Templates,
        ident: str,
        created: int,
        usage_factor: float | None = 1.0,
    ) -> None:
        self._usage_factor = usage_factor
        self._connection = connection
        self._ask = ask
        self._templates = templates
        self._frames = templates.frames
        self._ident = ident.encode()
        self._created = created
        self._started = not ask.chat
        if ask.stream:
            connection.start_stream()

    def step(self, request: Request, tokens: int, reason: str | None) -> None:
        """What the request got in one engine step, in one write."""
        if not self._ask.stream:
            if reason is not None:
                templates = self._templates
                ident = templates.prefix + self._ident.decode()
                self._connection.respond(200, templates.whole(ident, self._created, request, reason))
            return
        gaps = (self._ident, self._created)
        data = self._frames[tokens, reason] % gaps
        if not self._started:
            self._started = True
            data = self._templates.role % gaps + data
        if reason is None:
            self._connection.write(data)
            return
        if self._ask.include_usage and self._usage_factor is not None:
            data += self._templates.usage_frame(usage_of(request, self._usage_factor)) % gaps
        self._connection.write(data + self._templates.done)
        self._connection.end()

    def cut(self) -> None:
        """End a stream in its middle, properly framed (a fault for tests)."""
        self._connection.write(LAST_CHUNK)
        self._connection.end()
