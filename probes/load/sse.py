"""Cuts a byte stream into whole server-sent events, so that the load client stamps bytes and parses almost no JSON.

Knows nothing of HTTP, JSON or clocks, and never decodes text.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 4 * 1024 * 1024
DONE = b"[DONE]"


class EventTooLarge(ValueError):
    """An event that never ends: not a model server's stream."""


class SseReader:
    """Feed it reads of any size; it gives back what is complete by then, uncut: `events_of` cuts where one needs to.

    Lines may end in LF or CRLF, also cut in the middle.
    """

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def whole_events(self, chunk: bytes) -> bytes:
        """All events completed by this read, as one block with LF line ends; empty where none is.

        Raises EventTooLarge once an unfinished event passes 4 MiB.
        """
        # What a model server sends nearly always: whole events with LF ends, one or several to a read.
        if not self._tail and chunk.endswith(b"\n\n") and b"\r" not in chunk:
            return chunk
        data = self._tail + chunk
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        block, gap, self._tail = data.rpartition(b"\n\n")
        if len(self._tail) > MAX_EVENT_BYTES:
            raise EventTooLarge(f"an event of more than {MAX_EVENT_BYTES} bytes without an end")
        return block + gap

    def rest(self) -> bytes:
        """What a server left unterminated when it closed the stream (some omit the last blank line)."""
        tail, self._tail = self._tail.rstrip(b"\r"), b""
        return tail


def events_of(block: bytes) -> list[bytes]:
    """The data of every event of a block, in order; comments and fields other than `data` are dropped."""
    return [payload for part in block.split(b"\n\n") if (payload := _payload(part)) is not None]


def _payload(event: bytes) -> bytes | None:
    if event.startswith(b"data: ") and b"\n" not in event:
        return event[6:]
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None
