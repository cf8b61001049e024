"""Keeps N streams in flight against one server without ever draining between requests: a rung of the ladder.

All in the caller's event loop. Decides nothing about what is measured.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from probes.load.client import Client
from probes.load.health import ClientHealth, HealthWatch
from probes.load.ready import WHOLE, ReadyRequests, Share, Source
from probes.load.records import RequestRecord
from probes.load.sockets import allow_sockets
from probes.load.tally import Tally
from probes.load.wire.address import parse_address
from probes.load.wire.connect import ConnectFault, Connector, tls_context
from probes.load.wire.connection import Wire
from probes.load.wire.head import RequestHead
from probes.values import Target

SILENCE_MAX_S = 300.0
"""Longest silence inside one stream; a deep queue answers late but does answer."""
SILENCE_LOOK_S = 5.0
"""One timer for all connections looks this often: a timer for each read would cost more than the read."""
CLOSE_S = 1.5
_CONNECT_AT_ONCE = 32
"""Below the backlog of any server, so that no connection request is dropped and repeated a second later."""


def way_to(target: Target, mono: Callable[[], float]) -> tuple[RequestHead, Connector]:
    """How to ask `target`, and how to reach it.

    Raises ValueError for a URL or header that cannot be sent, OSError or ssl.SSLError where a certificate file cannot
    be read.
    """
    address = parse_address(target.url)
    head = RequestHead(address, target.api_path, target.headers)
    return head, Connector(address, tls_context(target) if address.tls else None, mono)


class ClosedLoop:
    """N clients on one target: `await warm()`, `start()`, ... `await drain()`, and always `await aclose()`.

    `records` fills as requests end; `aclose` cuts off what still runs and is safe to call at any point. With a
    `share` it is one of several processes that carry the load together. Raises as `way_to` does.
    """

    processes = 1

    def __init__(
        self,
        target: Target,
        source: Source,
        clients: int,
        mono: Callable[[], float] = time.monotonic,
        share: Share = WHOLE,
    ) -> None:
        head, connector = way_to(target, mono)
        allow_sockets(clients)
        self._mono = mono
        self._tally = Tally()
        self._health = HealthWatch(mono)
        self._requests = ReadyRequests(source, head, clients, share)
        self._stopping = asyncio.Event()
        self._clients = [
            Client(share.first + place * share.of, connector, self._requests, self._tally, self._stopping, mono)
            for place in range(clients)
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._silence: asyncio.TimerHandle | None = None

    @property
    def records(self) -> list[RequestRecord]:
        """Requests that ended, in the order of their ends."""
        return self._tally.records

    @property
    def in_flight(self) -> int:
        """Requests launched and not ended."""
        return self._tally.in_flight

    @property
    def max_in_flight(self) -> int:
        """Most at once so far."""
        return self._tally.max_in_flight

    def take_peak(self) -> int:
        """Most requests in flight at once since the last call."""
        return self._tally.take_peak()

    async def warm(self) -> None:
        """Open every connection and build the first requests, so that the first TTFT holds none of it.

        Sends nothing: servers drop connections that idle after an answer, not new ones. Faults show up in requests.
        """
        gate = asyncio.Semaphore(_CONNECT_AT_ONCE)
        refused = False

        async def open_one(client: Client) -> None:
            nonlocal refused
            async with gate:
                if refused:
                    return
                try:
                    await client.open()
                except ConnectFault:
                    refused = True

        self._requests.fill()
        await asyncio.gather(*(open_one(client) for client in self._clients))

    def start(self, spread_s: float, offset_s: float = 0.0) -> None:
        """Start all clients, evenly spread over `spread_s`.

        Each gets its first request here: one that ends early must not take that of a client which has yet to start.
        """
        step_s = spread_s / len(self._clients)
        self._tasks = [
            asyncio.create_task(client.run(self._requests.take(), offset_s + place * step_s))
            for place, client in enumerate(self._clients)
        ]
        self._listen_for_silence()

    def begin_window(self) -> None:
        """Watch our own health from here."""
        self._health.begin()

    def end_window(self) -> ClientHealth:
        """How we did since `begin_window`; safe to call again."""
        return self._health.end(self._tally.delays_since)

    def stop_launching(self) -> None:
        """Let running requests end and start no new one."""
        self._stopping.set()
        self._requests.stop()

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
        """Close every stream and connection: at once, and waits up to about two seconds for the sockets to go."""
        self.end_window()
        if self._silence is not None:
            self._silence.cancel()
        await self._cancel()
        wires = [client.wire for client in self._clients if client.wire is not None]
        for wire in wires:
            wire.abort()
        if wires:
            await asyncio.wait([wire.lost for wire in wires], timeout=CLOSE_S)

    async def _cancel(self) -> None:
        self.stop_launching()
        running = [task for task in self._tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=CLOSE_S)
        self._tasks = []

    def _listen_for_silence(self) -> None:
        now_s = self._mono()
        for client in self._clients:
            if client.wire is not None and _is_silent(client.wire, now_s):
                client.wire.give_up(f"no answer in time: nothing came for {SILENCE_MAX_S:g} s")
        self._silence = asyncio.get_running_loop().call_later(SILENCE_LOOK_S, self._listen_for_silence)


def _is_silent(wire: Wire, now_s: float) -> bool:
    since_s = wire.silent_since()
    return since_s is not None and now_s - since_s > SILENCE_MAX_S
