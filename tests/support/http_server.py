"""A loopback HTTP server that sends what a test scripts, whole or broken; it knows nothing of metrics or models."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in; header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    """Which connection it came on, from 0."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer. `raw` replaces the whole response, byte for byte."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/plain; charset=utf-8"})
    raw: bytes | None = None
    promised_length: int | None = None
    """Content-Length to state, where it is not the body's."""
    close: bool = False
    """Close the connection after this reply."""
    hang: bool = False
    """Send nothing more after this reply, and keep the connection open until the server stops."""
    silent: bool = False
    """Send nothing at all."""
    dribble_s: float | None = None
    """Send the body one byte at a time, this far apart."""


Handler = Callable[[Request], Reply | Awaitable[Reply]]
CLOSE = Reply(silent=True, close=True)
"""Close without a byte, as a server does with an idle connection."""
HANG = Reply(silent=True, hang=True)


class LoopbackServer:
    """`async with LoopbackServer(handler) as server`: serves `server.url` until the block ends, and keeps what came.

    `script` makes a handler of a list of replies; the last one repeats.
    """

    def __init__(self, handler: Handler, *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self._handler = handler
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> LoopbackServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        number = self.connections
        self.connections += 1
        try:
            while await self._answer(reader, writer, number):
                pass
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        request = await _read_request(reader, number)
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            reply = self._handler(request)
            if not isinstance(reply, Reply):
                reply = await reply
            if not reply.silent:
                await _send(writer, reply)
            if reply.hang:
                await asyncio.Event().wait()
        finally:
            self.in_flight -= 1
        return not (reply.close or reply.raw is not None)


def script(replies: Sequence[Reply]) -> Handler:
    """Answer with these in turn, whatever is asked; the last one repeats."""
    left = list(replies)

    def answer(_: Request) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


def routes(table: Mapping[str, Reply]) -> Handler:
    """Answer by path, 404 for every other one."""
    return lambda request: table.get(request.target.partition("?")[0], Reply(404))


async def _read_request(reader: asyncio.StreamReader, number: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body, number)


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    if reply.raw is not None:
        writer.write(reply.raw)
        await writer.drain()
        writer.write_eof()
        return
    length = len(reply.body) if reply.promised_length is None else reply.promised_length
    head = [f"HTTP/1.1 {reply.status} Scripted", f"Content-Length: {length}"]
    head += [f"{name}: {value}" for name, value in reply.headers.items()]
    writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n")
    if reply.dribble_s is None:
        writer.write(reply.body)
        await writer.drain()
        return
    for byte in reply.body:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(reply.dribble_s)
