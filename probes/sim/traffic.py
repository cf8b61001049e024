"""Background users of a simulated server: closed-loop clients over loopback sockets whose number follows a profile.

Only load, no measurement: it never tells how fast the server was, and it must not be pointed at a real server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from urllib.parse import urlsplit

from probes.sim.wire import LAST_CHUNK

PROFILE_TICK_S = 0.2
MAX_TOKENS = 1024
RETRY_S = 0.5
WORDS = (
    *("river", "window", "market", "answer", "question", "machine", "garden", "letter", "travel", "winter"),
    *("music", "silver", "doctor", "kitchen", "story", "paper", "bridge", "number", "summer", "engine"),
    *("island", "teacher", "morning", "picture", "history", "language", "battery", "harbor", "forest", "weather"),
)


class _Client(asyncio.Protocol):
    """One user: asks, reads the answer to its end, asks again."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._transport: asyncio.Transport | None = None
        self._tail = b""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-len(LAST_CHUNK) - 2 :]
        if self._tail.endswith(b"\n" + LAST_CHUNK):
            self._tail = b""
            self._traffic.answered += 1
            self._ask()
        elif b"HTTP/1.1 200" not in data[:12] and data.startswith(b"HTTP/1.1 "):
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self.closed.done():
            self.closed.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _ask(self) -> None:
        if self._transport is not None:
            self._transport.write(self._traffic.next_request())


class Traffic:
    """Closed-loop clients of one server. Errors make a client wait a little and try again."""

    def __init__(self, url: str, *, seed: int = 0, prompt_tokens: int = 178, max_tokens: int = MAX_TOKENS) -> None:
        parts = urlsplit(url)
        if not parts.hostname or not parts.port:
            raise ValueError(f"{url} names no host and port")
        self._host = parts.hostname
        self._port = parts.port
        self._rng = Random(f"traffic/{seed}")
        self._prompt_chars = 4 * prompt_tokens
        self._max_tokens = max_tokens
        self._clients: list[asyncio.Task[None]] = []
        self._profile: asyncio.Task[None] | None = None
        self.answered = 0
        """Requests answered so far."""

    @property
    def clients(self) -> int:
        """Clients now."""
        return len(self._clients)

    def set_clients(self, count: int) -> None:
        """Have this many clients from now on; those that go leave their answers unfinished. Ends a profile."""
        if self._profile is not None:
            self._profile.cancel()
            self._profile = None
        self._resize(count)

    def follow(self, profile: Sequence[tuple[float, float]]) -> None:
        """Follow (seconds from now, clients) points, linear between them; the last one stays."""
        if not profile or any(b[0] < a[0] for a, b in pairwise(profile)):
            raise ValueError("a traffic profile is a list of (seconds, clients) with rising seconds")
        self.set_clients(round(clients_at(profile, 0.0)))
        self._profile = asyncio.get_running_loop().create_task(self._follow(profile))

    async def close(self) -> None:
        """Stop all clients and wait until their sockets are closed."""
        tasks = list(self._clients)
        if self._profile is not None:
            tasks.append(self._profile)
        self.set_clients(0)
        await asyncio.gather(*tasks, return_exceptions=True)

    def next_request(self) -> bytes:
        """A streaming completion with a prompt that no other request shares."""
        words = [f"#{self._rng.getrandbits(48):x}"]
        size = len(words[0])
        while size < self._prompt_chars:
            word = self._rng.choice(WORDS)
            words.append(word)
            size += len(word) + 1
        body = json.dumps({"prompt": " ".join(words), "max_tokens": self._max_tokens, "stream": True}).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nhost: {self._host}:{self._port}\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

    def _resize(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        while len(self._clients) < count:
            self._clients.append(loop.create_task(self._run_client()))
        while len(self._clients) > count:
            self._clients.pop().cancel()

    async def _run_client(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                _, client = await loop.create_connection(lambda: _Client(self), self._host, self._port)
            except OSError:
                await asyncio.sleep(RETRY_S)
                continue
            try:
                await asyncio.shield(client.closed)
            except asyncio.CancelledError:
                client.close()
                await client.closed
                raise
            await asyncio.sleep(RETRY_S)

    async def _follow(self, profile: Sequence[tuple[float, float]]) -> None:
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        while (at_s := loop.time() - start_s) < profile[-1][0]:
            self._resize(round(clients_at(profile, at_s)))
            await asyncio.sleep(PROFILE_TICK_S)
        self._resize(round(profile[-1][1]))


def clients_at(profile: Sequence[tuple[float, float]], at_s: float) -> float:
    """The profile's value at one instant; flat before its first and after its last point."""
    if at_s <= profile[0][0]:
        return profile[0][1]
    for (start_s, before), (end_s, after) in pairwise(profile):
        if at_s < end_s:
            return before + (after - before) * (at_s - start_s) / (end_s - start_s)
    return profile[-1][1]
