"""Keeps N streams in flight against one server without ever draining between requests: a rung of the ladder.

One HTTP client per stream (a shared pool slows down quadratically). Decides nothing about what is measured.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from probes.http import PROBE_USER_AGENT, AsyncClient, HTTPError, make_client, make_ssl_context
from probes.load.records import Ending, RequestRecord
from probes.load.request import RequestSource
from probes.load.stream import Flight, send
from probes.values import Target

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0
"""Longest silence inside one stream; a deep queue answers late but does answer."""
BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 2.0
CLOSE_S = 1.5
_WARM_AT_ONCE = 16


class ClosedLoop:
    """N clients on one target: `await warm()`, `start()`, ... `await drain()`, and always `await aclose()`.

    `records` fills as requests end; `aclose` cuts off what still runs and is safe to call at any point.
    """

    def __init__(
        self, target: Target, source: RequestSource, clients: int, mono: Callable[[], float] = time.monotonic
    ) -> None:
        self._target = target
        self._source = source
        self._mono = mono
        self._base = f"{target.url}{target.api_path}"
        secure = target.url.lower().startswith("https:")
        # Loading the system's certificates takes tens of milliseconds and is of no use for plain http.
        context = make_ssl_context(target) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._clients = [
            make_client(
                timeout_s=CONNECT_TIMEOUT_S,
                read_timeout_s=READ_TIMEOUT_S,
                ssl_context=context,
                user_agent=PROBE_USER_AGENT,
                max_connections=1,
            )
            for _ in range(clients)
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self._peak = 0
        self.records: list[RequestRecord] = []
        self.in_flight = 0
        self.max_in_flight = 0

    def take_peak(self) -> int:
        """Most requests in flight at once since the last call."""
        peak, self._peak = max(self._peak, self.in_flight), self.in_flight
        return peak

    async def warm(self) -> None:
        """Open every connection, so that the first request's TTFT holds no handshake. Faults show up in requests."""
        gate = asyncio.Semaphore(_WARM_AT_ONCE)

        async def open_one(client: AsyncClient) -> None:
            async with gate:
                with suppress(HTTPError):
                    await client.get(f"{self._base}/models", headers=self._target.headers)

        await asyncio.gather(*(open_one(client) for client in self._clients))

    def start(self, spread_s: float) -> None:
        """Start all clients, evenly spread over `spread_s` (about one request's time), so that no waves form."""
        step_s = spread_s / len(self._clients)
        self._tasks = [
            asyncio.create_task(self._run(number, client, number * step_s))
            for number, client in enumerate(self._clients)
        ]

    def stop_launching(self) -> None:
        """Let running requests end and start no new one."""
        self._stopping.set()

    async def drain(self, timeout_s: float) -> int:
        """Wait for running requests, then cut off the rest; gives how many were cut off."""
        self.stop_launching()
        if self._tasks:
            done, _ = await asyncio.wait(self._tasks, timeout=timeout_s)
            for task in done:
                task.result()
        cut_off = self.in_flight
        await self._cancel()
        return cut_off

    async def aclose(self) -> None:
        """Close every stream and connection, within about two seconds."""
        await self._cancel()
        closing = [client.aclose() for client in self._clients]
        self._clients = []
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*closing, return_exceptions=True), CLOSE_S)

    async def _cancel(self) -> None:
        self._stopping.set()
        running = [task for task in self._tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=CLOSE_S)
        self._tasks = []

    async def _run(self, number: int, client: AsyncClient, delay_s: float) -> None:
        backoff_s = BACKOFF_FIRST_S
        if await self._wait_or_stop(delay_s):
            return
        while not self._stopping.is_set():
            record = await self._one(number, client)
            if record.ending is Ending.OK:
                backoff_s = BACKOFF_FIRST_S
                continue
            if await self._wait_or_stop(backoff_s):
                return
            backoff_s = min(2 * backoff_s, BACKOFF_MAX_S)

    async def _one(self, number: int, client: AsyncClient) -> RequestRecord:
        index, request_id, body = self._source.next()
        flight = Flight(index, number, self._mono(), chat=body.chat)
        self.in_flight += 1
        self._peak = max(self._peak, self.in_flight)
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            record = await send(client, f"{self._base}{body.path}", body, self._headers(request_id), flight, self._mono)
        except asyncio.CancelledError:
            self.records.append(flight.record(Ending.CANCELLED, self._mono()))
            raise
        finally:
            self.in_flight -= 1
        self.records.append(record)
        return record

    def _headers(self, request_id: str) -> Mapping[str, str]:
        return {
            **self._target.headers,
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "X-Request-Id": request_id,
        }

    async def _wait_or_stop(self, delay_s: float) -> bool:
        """Sleep, but wake at once on a stop; True where it stopped."""
        if delay_s > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay_s)
        return self._stopping.is_set()
