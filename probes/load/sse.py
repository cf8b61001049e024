"""Cuts a byte stream into server-sent events, so that the load client stamps bytes and parses almost no JSON.

Knows nothing of HTTP, JSON or clocks, and never decodes text.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 4 * 1024 * 1024
DONE = b"[DONE]"


class EventTooLarge(ValueError):
    """An event that never ends: not a model server's stream."""


class SseReader:
    """Feed it reads of any size; it gives back the data of every event that is complete by then.

    Lines may end in LF or CRLF, also cut in the middle; comments and fields other than `data` are dropped.
    Raises EventTooLarge once an unfinished event passes 4 MiB.
    """

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Data payloads completed by this read, in order."""
        data = self._tail + chunk if self._tail else chunk
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        parts = data.split(b"\n\n")
        self._tail = parts.pop()
        if len(self._tail) > MAX_EVENT_BYTES:
            raise EventTooLarge(f"an event of more than {MAX_EVENT_BYTES} bytes without an end")
        return [payload for part in parts if (payload := _payload(part)) is not None]

    def finish(self) -> list[bytes]:
        """What a server left unterminated when it closed the stream (some omit the last blank line)."""
        tail, self._tail = self._tail.rstrip(b"\r"), b""
        payload = _payload(tail)
        return [] if payload is None else [payload]


def _payload(event: bytes) -> bytes | None:
    if event.startswith(b"data: ") and b"\n" not in event:
        return event[6:]
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None
