"""A webhook receiver on a real loopback socket that answers as scripted and remembers every request it got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal


@dataclass(frozen=True)
class Reply:
    """What one request gets: a status with headers, silence until the client gives up, or a closed connection."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    how: Literal["answer", "hang", "drop"] = "answer"


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """Parsed JSON."""


class WebhookSink:
    """`async with WebhookSink([500, 200]) as sink:` the script is used up in order, then everything is a 200."""

    def __init__(self, script: Iterable[int | Reply] = ()) -> None:
        self.script = [Reply(status=item) if isinstance(item, int) else item for item in script]
        self.received: list[Received] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._arrived = asyncio.Condition()
        self._closing = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        """Address with a path that looks like a secret, so that tests can look for it where it must not be."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/hooks/s3cret-t0ken"

    @property
    def bodies(self) -> list[Any]:
        """Parsed JSON of every request."""
        return [one.body for one in self.received]

    async def wait_for(self, count: int, timeout_s: float = 10.0) -> None:
        """Until at least `count` requests have come in."""
        async with asyncio.timeout(timeout_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) >= count)

    async def __aenter__(self) -> WebhookSink:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._closing.set()
        self._server.close()
        for writer in self._writers.values():
            writer.close()
        await asyncio.gather(*self._writers, return_exceptions=True)
        await self._server.wait_closed()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._writers[task] = writer
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.in_flight -= 1
            del self._writers[task]
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request per connection: `Connection: close` keeps the bookkeeping plain."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        reply = self.script.pop(0) if self.script else Reply()
        async with self._arrived:
            self.received.append(Received(method, path, headers, json.loads(raw) if raw else None))
            self._arrived.notify_all()
        if reply.how == "hang":
            await self._closing.wait()
        if reply.how != "answer":
            return
        extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(
            f"HTTP/1.1 {reply.status} Scripted\r\n{extra}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
