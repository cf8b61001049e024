"""What tests of the load share: a tiny source of requests, whole answers as bytes, both event loops to run on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from probes.load.closed_loop import ClosedLoop
from probes.load.records import RequestRecord
from probes.load.request import Body
from probes.values import Target
from tests.support.waiting import until

EVENTS = (
    b'data: {"choices": [{"text": "a"}]}\n\n',
    b'data: {"choices": [{"text": "b", "finish_reason": "stop"}]}\n\n',
    b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n',
    b"data: [DONE]\n\n",
)
STREAM = b"".join(EVENTS)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"

on_both_loops = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])


def run_on(new_loop: Any, work: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine on one kind of event loop."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(work)


class Numbers:
    """Requests that hold nothing but their number, and padding if asked for."""

    def __init__(self, padding: int = 0) -> None:
        self._index = 0
        self._padding = "x" * padding

    def skip(self) -> None:
        """Pass over one."""
        self._index += 1

    def next(self) -> tuple[int, str, Body]:
        """The next one."""
        index, self._index = self._index, self._index + 1
        text = f"{index} {self._padding}".strip()
        body = {"prompt": text, "max_tokens": 1_000_000, "stream": True}
        return index, f"id-{index}", Body("/completions", json.dumps(body).encode(), chat=False)


def chunk(data: bytes) -> bytes:
    """One frame of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunked(events: Sequence[bytes] = EVENTS) -> bytes:
    """A whole chunked answer, one event to a chunk."""
    return HEAD + CHUNKED + b"\r\n" + b"".join(chunk(event) for event in events) + b"0\r\n\r\n"


@asynccontextmanager
async def serving(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """A server that runs `answer` for every connection and closes it after; gives its URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await answer(reader, writer)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(one, host, 0, limit=2**25)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def records_of(loop: ClosedLoop, count: int = 1) -> list[RequestRecord]:
    """Run a load until `count` requests ended, then close it."""
    try:
        await loop.warm()
        loop.start(0.0)
        await until(lambda: len(loop.records) >= count)
    finally:
        await loop.aclose()
    return loop.records[:count]


def one_client(url: str, **target: Any) -> ClosedLoop:
    """A load of one stream."""
    return ClosedLoop(Target("t", url, **target), Numbers(), 1)
