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

_AT_ONCE = 4
"""Requests built in one turn of the event loop: well under a millisecond, so that arriving chunks do not wait."""


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
    """A queue that keeps up to `depth` requests built and fills itself while the event loop has nothing to do."""

    def __init__(self, source: Source, head: RequestHead, depth: int, share: Share = WHOLE) -> None:
        self._source, self._head, self._depth, self._share = source, head, depth, share
        self._queue: deque[ReadyRequest] = deque()
        self._filling = False
        for _ in range(share.first):
            source.skip()

    def fill(self) -> None:
        """Build all at once; for the time before the load starts."""
        while len(self._queue) < self._depth:
            self._queue.append(self._build())

    def take(self) -> ReadyRequest:
        """The next request; built on the spot where the queue is empty."""
        request = self._queue.popleft() if self._queue else self._build()
        if not self._filling:
            self._filling = True
            asyncio.get_running_loop().call_soon(self._top_up)
        return request

    def _top_up(self) -> None:
        for _ in range(min(_AT_ONCE, self._depth - len(self._queue))):
            self._queue.append(self._build())
        self._filling = len(self._queue) < self._depth
        if self._filling:
            asyncio.get_running_loop().call_soon(self._top_up)

    def _build(self) -> ReadyRequest:
        index, request_id, body = self._source.next()
        for _ in range(self._share.of - 1):
            self._source.skip()
        return ReadyRequest(index, self._head.request(body.path, request_id, body.content), body.chat)
