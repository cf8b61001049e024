"""Sends one streaming request and stamps it on the wire, so that TTFT and TPOT are the server's and not the parser's.

Parses as JSON only the events up to the first token and the last four: usage, finish reason. Never retries.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from probes.http import AsyncClient, HTTPError, Response, TimeoutException
from probes.load.records import Ending, RequestRecord
from probes.load.request import Body
from probes.load.sse import DONE, EventTooLarge, SseReader

_TAIL = 4
_SHOWN_CHARS = 200
_SENT_EVENT = "send_request_body.complete"


class StreamFault(Exception):
    """The server answered, but not with a usable stream."""


class Flight:
    """One request on its way; keeps its stamps when it is cut off in the middle."""

    __slots__ = ("_chat", "_done", "_reader", "_tail", "client", "finish", "first_s", "index", "last_s", "launched_s",
                 "output_tokens", "prompt_tokens", "seen_s", "sent_s")  # fmt: skip

    def __init__(self, index: int, client: int, launched_s: float, *, chat: bool) -> None:
        self.index, self.client, self.launched_s = index, client, launched_s
        self.sent_s: float | None = None
        self.first_s: float | None = None
        self.last_s: float | None = None
        self.seen_s: float | None = None
        self.prompt_tokens: int | None = None
        self.output_tokens: int | None = None
        self.finish: str | None = None
        self._chat = chat
        self._done = False
        self._reader = SseReader()
        self._tail: deque[tuple[float, bytes]] = deque(maxlen=_TAIL)

    def read(self, chunk: bytes, now_s: float) -> None:
        """Take one read off the wire. Raises StreamFault on an error object, EventTooLarge, or no JSON."""
        self.seen_s = now_s
        for payload in self._reader.feed(chunk):
            self._event(payload, now_s)

    def finished(self) -> None:
        """The stream ended: find usage, finish reason and last token. Raises StreamFault if it was cut short."""
        for payload in self._reader.finish():
            self._event(payload, self.seen_s or self.launched_s)
        for at_s, payload in reversed(self._tail):
            event = _json(payload)
            usage = event.get("usage")
            if self.output_tokens is None and isinstance(usage, dict):
                self.prompt_tokens = _count(usage.get("prompt_tokens"))
                self.output_tokens = _count(usage.get("completion_tokens"))
            choices = _choices(event)
            if choices:
                self.last_s = max(at_s, self.last_s or at_s)
                self.finish = self.finish or choices[0].get("finish_reason")
        if self.first_s is None:
            self.first_s = self.last_s
        if not self._done and self.finish is None:
            raise StreamFault("the stream ended before the answer did")

    def record(self, ending: Ending, end_s: float, error: str = "") -> RequestRecord:
        """The frozen outcome."""
        return RequestRecord(
            index=self.index,
            client=self.client,
            launched_s=self.launched_s,
            sent_s=self.sent_s,
            first_s=self.first_s,
            last_s=self.last_s,
            end_s=end_s,
            ending=ending,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            finish_reason=self.finish,
            error=error,
        )

    def _event(self, payload: bytes, now_s: float) -> None:
        if payload == DONE:
            self._done = True
            return
        # Text inside JSON carries escaped quotes, so this matches a key or a whole value, never prose.
        if b'"error"' in payload:
            _raise_if_error(_json(payload))
        self._tail.append((now_s, payload))
        if self.first_s is None and _has_token(_json(payload), chat=self._chat):
            self.first_s = now_s


async def send(
    client: AsyncClient,
    url: str,
    body: Body,
    headers: Mapping[str, str],
    flight: Flight,
    mono: Callable[[], float] = time.monotonic,
) -> RequestRecord:
    """Run one request to its end. Only cancellation is raised; the caller keeps `flight` for that case."""

    async def trace(name: str, _info: Mapping[str, Any]) -> None:
        if name.endswith(_SENT_EVENT):
            flight.sent_s = mono()

    request = client.build_request("POST", url, content=body.content, headers=headers, extensions={"trace": trace})
    response: Response | None = None
    try:
        response = await client.send(request, stream=True)
        if flight.sent_s is None:
            flight.sent_s = flight.launched_s
        if response.status_code != 200:
            raise StreamFault(await _refusal(response))
        async for chunk in response.aiter_raw():
            flight.read(chunk, mono())
        flight.finished()
    except (StreamFault, EventTooLarge) as error:
        return flight.record(Ending.ERROR, mono(), str(error))
    except TimeoutException as error:
        return flight.record(Ending.ERROR, mono(), f"no answer in time ({type(error).__name__})")
    except HTTPError as error:
        return flight.record(Ending.ERROR, mono(), f"connection failed: {error or type(error).__name__}")
    finally:
        if response is not None:
            await response.aclose()
    return flight.record(Ending.OK, flight.seen_s or mono())


async def _refusal(response: Response) -> str:
    status = response.status_code
    if status in (401, 403):
        return f"HTTP {status}: the API wants a key; set api_key_env or api_key_file"
    text = b""
    async for chunk in response.aiter_raw():
        text += chunk
        if len(text) >= _SHOWN_CHARS * 4:
            break
    shown = " ".join(text.decode("utf-8", "replace").split())[:_SHOWN_CHARS]
    return f"HTTP {status}: {shown}" if shown else f"HTTP {status}"


def _json(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except ValueError:
        raise StreamFault("an event of the stream is not JSON") from None
    if not isinstance(value, dict):
        raise StreamFault("an event of the stream is not a JSON object")
    return value


def _raise_if_error(event: Mapping[str, Any]) -> None:
    fault = event.get("error")
    if fault:
        message = fault.get("message", fault) if isinstance(fault, dict) else fault
        raise StreamFault(f"the server broke off: {' '.join(str(message).split())[:_SHOWN_CHARS]}")
    if any(choice.get("finish_reason") == "error" for choice in _choices(event)):
        raise StreamFault("the server broke off with finish reason error")


def _has_token(event: Mapping[str, Any], *, chat: bool) -> bool:
    """Completions servers send a choice only with tokens; chat servers open with an empty role message."""
    choices = _choices(event)
    if not choices or not chat:
        return bool(choices)
    delta = choices[0].get("delta")
    return isinstance(delta, dict) and any(value for key, value in delta.items() if key != "role")


def _choices(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = event.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
