"""Reads one streaming answer as it comes, so that TTFT and TPOT are the server's and not the parser's.

Parses as JSON only the events up to the first token and the last few: usage, finish reason. Sends nothing; the
instants come from whoever took the bytes off the socket.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from probes.load.records import Ending, RequestRecord
from probes.load.sse import DONE, EventTooLarge, SseReader, events_of

_TAIL = 4
_SHOWN_CHARS = 200


class StreamFault(Exception):
    """The server answered, but not with a usable stream."""


class Flight:
    """One request on its way; keeps its stamps when it is cut off in the middle.

    `seen_s` is set by the connection before it hands over the bytes of a read.
    """

    __slots__ = ("_chat", "_reader", "_tail", "client", "finish", "first_s", "index", "last_s", "launched_s",
                 "output_tokens", "prompt_tokens", "retried", "seen_s", "sent_s")  # fmt: skip

    def __init__(self, index: int, client: int, launched_s: float, *, chat: bool) -> None:
        self.index, self.client, self.launched_s = index, client, launched_s
        self.sent_s: float | None = None
        self.first_s: float | None = None
        self.last_s: float | None = None
        self.seen_s: float | None = None
        self.prompt_tokens: int | None = None
        self.output_tokens: int | None = None
        self.finish: str | None = None
        self.retried = False
        self._chat = chat
        self._reader = SseReader()
        self._tail: deque[tuple[float, bytes]] = deque(maxlen=_TAIL)

    def read(self, chunk: bytes) -> None:
        """Take bytes of the body that were read at `seen_s`. Raises StreamFault on an error object or no JSON."""
        try:
            block = self._reader.whole_events(chunk)
        except EventTooLarge as error:
            raise StreamFault(str(error)) from None
        if block:
            self._take(block)

    def finished(self) -> str | None:
        """The stream ended: find usage, finish reason and last token. Gives what is wrong with it, if anything."""
        try:
            rest = self._reader.rest()
            if rest:
                self._take(rest)
            done = self._read_tail()
        except StreamFault as fault:
            return str(fault)
        if self.first_s is None:
            self.first_s = self.last_s
        if self.sent_s is None:
            self.sent_s = self.launched_s
        return None if done or self.finish is not None else "the stream ended before the answer did"

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
            retried=self.retried,
        )

    def _take(self, block: bytes) -> None:
        if not block.startswith(b"data:") and b"data:" not in block:
            return
        assert self.seen_s is not None
        # Text inside JSON carries escaped quotes, so this matches a key or a whole value, never prose.
        if b'"error"' in block:
            for event in _events(block):
                _raise_if_error(event)
        self._tail.append((self.seen_s, block))
        if self.first_s is None and any(_has_token(event, chat=self._chat) for event in _events(block)):
            self.first_s = self.seen_s

    def _read_tail(self) -> bool:
        """True where the stream said that it is done. From the end, and no further than needed: JSON is slow."""
        done = False
        for at_s, block in reversed(self._tail):
            for payload in reversed(events_of(block)):
                if payload == DONE:
                    done = True
                elif self.output_tokens is None or self.last_s is None or self.finish is None:
                    self._read_last(_json(payload), at_s)
        return done

    def _read_last(self, event: Mapping[str, Any], at_s: float) -> None:
        usage = event.get("usage")
        if self.output_tokens is None and isinstance(usage, dict):
            self.prompt_tokens = _count(usage.get("prompt_tokens"))
            self.output_tokens = _count(usage.get("completion_tokens"))
        choices = _choices(event)
        if choices:
            self.last_s = max(at_s, self.last_s or at_s)
            self.finish = self.finish or choices[0].get("finish_reason")


def _events(block: bytes) -> Iterator[dict[str, Any]]:
    return (_json(payload) for payload in events_of(block) if payload != DONE)


def _json(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload.decode())  # bytes would have their encoding guessed
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
