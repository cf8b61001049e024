"""A model server that does nothing but pace, send and remember when: what the load client is calibrated against.

Runs as a child (`python -m probes.load.stamping_server`), is steered by lines on stdin and ends when stdin does, so it
never outlives its parent. Loopback only. Chunks are built beforehand; nothing of a client's request is kept but its id.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from probes.load.loop import run

TICK_S = 0.001
"""Chunks leave in small groups, as an engine's steps send them."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"\r\nx-request-id: *([^\r]+)", re.IGNORECASE)
_TOKENS = re.compile(rb'"max_tokens": *(\d+)')
_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def _chunk(event: str) -> bytes:
    data = f"data: {event}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def _content(finish_reason: str | None) -> str:
    choice = {"index": 0, "text": " word", "logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
    event = {"id": "cmpl-0123456789abcdef0123456789abcdef", "object": "text_completion", "created": 1764471600}
    return json.dumps({**event, "model": "stamps", "choices": [choice], "usage": None})


_MIDDLE = _chunk(_content(None))
_LAST = _chunk(_content("length"))


def _end(tokens: int) -> bytes:
    usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
    event = {"object": "text_completion", "choices": [], "usage": usage}
    return _chunk(json.dumps(event)) + _chunk("[DONE]") + b"0\r\n\r\n"


class Pace:
    """When chunks are due, and what was sent when. All answers have the same pace, so two queues are always sorted."""

    def __init__(self) -> None:
        self.ttft_s = 0.05
        self.itl_s = 0.05
        self.sent = 0
        self.stamps: dict[str, tuple[float, float, float]] = {}
        """By request id: arrival, first chunk, last chunk."""
        self._first: deque[tuple[float, Stream]] = deque()
        self._next: deque[tuple[float, Stream]] = deque()

    def set(self, ttft_s: float, itl_s: float) -> None:
        """Begin anew with this pace; streams still open get no more."""
        self.ttft_s, self.itl_s, self.sent, self.stamps = ttft_s, itl_s, 0, {}
        self._first.clear()
        self._next.clear()

    def add(self, stream: Stream) -> None:
        """A request has arrived."""
        self._first.append((stream.arrived_s + self.ttft_s, stream))

    def tick(self) -> None:
        """Send everything that is due."""
        now_s = time.monotonic()
        for queue in (self._first, self._next):
            while queue and queue[0][0] <= now_s:
                due_s, stream = queue.popleft()
                if stream.send():
                    self._next.append((due_s + self.itl_s, stream))


class Stream(asyncio.Protocol):
    """One connection; answers one request at a time."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._input = b""
        self._write: Callable[[bytes], None] = _nowhere
        self._id, self._tokens, self._sent, self._first_s = "", 0, 0, 0.0
        self.arrived_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.WriteTransport, transport).write  # uvloop's are no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._write = _nowhere

    def data_received(self, data: bytes) -> None:
        self._input += data
        head, found, body = self._input.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not found or (length and len(body) < int(length[1])):
            return
        self._input = b""
        self.arrived_s = time.monotonic()
        request_id, tokens = _REQUEST_ID.search(head), _TOKENS.search(body)
        self._id = request_id[1].decode() if request_id else ""
        self._tokens, self._sent = max(2, int(tokens[1]) if tokens else 2), 0
        self._write(_HEAD)
        self._pace.add(self)

    def send(self) -> bool:
        """The next chunk; False when it was the last or nobody listens."""
        if self._write is _nowhere:
            return False
        self._sent += 1
        last = self._sent == self._tokens
        now_s = time.monotonic()
        self._pace.sent += 1
        if self._sent == 1:
            self._first_s = now_s
        self._write(_LAST if last else _MIDDLE)
        if last:
            self._write(_end(self._tokens))
            self._pace.stamps[self._id] = (self.arrived_s, self._first_s, now_s)
        return not last


def _nowhere(_data: bytes) -> None:
    """Where the chunks of a closed connection go."""


async def serve() -> None:
    """Serve until stdin ends. Tells its port, then answers `set TTFT ITL`, `count` and `stamps` with a line each."""
    loop = asyncio.get_running_loop()
    pace = Pace()
    server = await loop.create_server(lambda: Stream(pace), "127.0.0.1", 0, backlog=4096)
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    _tell(server.sockets[0].getsockname()[1])
    ticking = asyncio.create_task(_tick(pace))
    while order := (await orders.readline()).split():
        if order[0] == b"set":
            pace.set(float(order[1]), float(order[2]))
            _tell(None)
        elif order[0] == b"count":
            _tell([time.monotonic(), pace.sent])
        else:
            _tell(pace.stamps)
    ticking.cancel()
    server.close()


async def _tick(pace: Pace) -> None:
    while True:
        pace.tick()
        await asyncio.sleep(TICK_S)


def _tell(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # Ctrl-C reaches the whole process group; this one ends when its parent does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    run(serve())
