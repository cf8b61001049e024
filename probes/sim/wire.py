"""The least HTTP/1.1 that one simulated server needs: parse a request, answer whole or in chunks; no routes, no engine.

Keep-alive, one request at a time per connection. Bodies need Content-Length. Bytes go out in the call that makes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http.client import responses
from typing import NamedTuple

MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 8 * 1024 * 1024
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


class HttpRequest(NamedTuple):
    """One request, whole."""

    method: str
    path: str
    """Without the query."""
    body: bytes


def chunk(data: bytes) -> bytes:
    """One frame of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection(asyncio.Protocol):
    """One client. The handler answers by `respond`, or by `start_stream`, `write` and `end`."""

    def __init__(self, handle: Callable[[Connection, HttpRequest], None], members: set[Connection]) -> None:
        self._handle = handle
        self._members = members
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._busy = False
        self._close_after = False
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_lost: Callable[[], None] | None = None
        """Called once where the client leaves before its answer ended."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._members.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._members.discard(self)
        self._transport = None
        if not self.closed.done():
            self.closed.set_result(None)
        lost, self.on_lost = self.on_lost, None
        if self._busy and lost is not None:
            lost()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MAX_HEAD_BYTES + MAX_BODY_BYTES:
            self.close()
        elif not self._busy:
            self._advance()

    def close(self) -> None:
        """Drop the client at once."""
        if self._transport is not None:
            self._transport.abort()

    def respond(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        """Answer whole."""
        ending = "connection: close\r\n" if self._close_after else ""
        head = (
            f"HTTP/1.1 {status} {responses.get(status, 'Unknown')}\r\nserver: uvicorn\r\n"
            f"content-length: {len(body)}\r\ncontent-type: {content_type}\r\n{ending}\r\n"
        )
        self.write(head.encode() + body)
        self.end()

    def start_stream(self) -> None:
        """Send the head of a chunked event stream; the body follows by `write`."""
        self.write(STREAM_HEAD)

    def write(self, data: bytes) -> None:
        """Send bytes as they are; nothing where the client has left."""
        if self._transport is not None:
            self._transport.write(data)

    def end(self) -> None:
        """The answer is complete: take the next request."""
        self._busy = False
        self.on_lost = None
        if self._transport is None:
            return
        if self._close_after:
            self._transport.close()
        elif self._buffer:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        if not self._busy and self._transport is not None:
            self._advance()

    def _advance(self) -> None:
        head_end = self._buffer.find(b"\r\n\r\n")
        if head_end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                self._refuse(431)
            return
        lines = bytes(self._buffer[:head_end]).decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length_text = headers.get("content-length", "0")
        if len(parts) != 3 or not length_text.isascii() or not length_text.isdigit():
            self._refuse(400)
            return
        if "transfer-encoding" in headers:
            self._refuse(411)
            return
        length = int(length_text)
        if length > MAX_BODY_BYTES:
            self._refuse(413)
            return
        end = head_end + 4 + length
        if len(self._buffer) < end:
            return
        body = bytes(self._buffer[head_end + 4 : end])
        del self._buffer[:end]
        connection = headers.get("connection", "").lower()
        self._close_after = connection == "close" or (parts[2] == "HTTP/1.0" and connection != "keep-alive")
        self._busy = True
        self._handle(self, HttpRequest(parts[0], parts[1].partition("?")[0], body))

    def _refuse(self, status: int) -> None:
        self._close_after = True
        self._buffer.clear()
        self._busy = True
        self.respond(status, b'{"error": {"message": "malformed HTTP request", "code": %d}}' % status)
