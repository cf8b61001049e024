"""Builds requests ahead of their time, so that a burst of launches is not slowed down by making JSON.

Hands them out in the source's order. Sends nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from probes.load.request import Body
from probes.load.wire.head import RequestHead

_AT_ONCE = 2
_EVERY_S = 0.001
"""Building takes a tenth of the time at this pace: after a burst of launches the first tokens that come back matter
more, and the queue is as deep as the burst."""


class Source(Protocol):
    """An endless sequence of requests, as `probes.load.request.RequestSource` makes it."""

    def next(self) -> tuple[int, str, Body]:
        """Index, request id and body of the next request."""
        ...

    def skip(self) -> None:
        """Pass over the next request."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of one load a process carries: every `of`-th request and client, from number `first`."""

    first: int = 0
    of: int = 1


WHOLE = Share()


@dataclass(frozen=True, slots=True)
class ReadyRequest:
    """Bytes to write, and what the answer's reader must know."""

    index: int
    content: bytes
    chat: bool


class ReadyRequests:
    """A queue that keeps up to `depth` requests built and fills itself slowly while it is used."""

    def __init__(self, source: Source, head: RequestHead, depth: int, share: Share = WHOLE) -> None:
        self._source, self._head, self._depth, self._share = source, head, depth, share
        self._queue: deque[ReadyRequest] = deque()
        self._filling: asyncio.TimerHandle | None = None
        for _ in range(share.first):
            source.skip()

    def fill(self) -> None:
        """Build all at once; for the time before the load starts."""
        while len(self._queue) < self._depth:
            self._queue.append(self._build())

    def take(self) -> ReadyRequest:
        """The next request; built on the spot where the queue is empty."""
        if self._filling is None:
            self._filling = asyncio.get_running_loop().call_later(_EVERY_S, self._top_up)
        return self._queue.popleft() if self._queue else self._build()

    def stop(self) -> None:
        """Build no more ahead."""
        if self._filling is not None:
            self._filling.cancel()

    def _top_up(self) -> None:
        for _ in range(min(_AT_ONCE, self._depth - len(self._queue))):
            self._queue.append(self._build())
        full = len(self._queue) >= self._depth
        self._filling = None if full else asyncio.get_running_loop().call_later(_EVERY_S, self._top_up)

    def _build(self) -> ReadyRequest:
        index, request_id, body = self._source.next()
        for _ in range(self._share.of - 1):
            self._source.skip()
        return ReadyRequest(index, self._head.request(body.path, request_id, body.content), body.chat)
