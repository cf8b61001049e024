"""One client of the closed loop: sends a request, waits for its answer, sends the next, on one kept connection.

Counts nothing and judges nothing; a fault ends in a record and a pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from probes.load.ready import ReadyRequest, ReadyRequests
from probes.load.records import Ending, RequestRecord
from probes.load.stream import Flight
from probes.load.tally import Tally
from probes.load.wire.connect import ConnectFault, Connector
from probes.load.wire.connection import Wire

BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 2.0


class Client:
    """`await open()` ahead of time (optional), then `await run(first, delay_s)`: until `stopping`, or cancelled."""

    def __init__(
        self,
        number: int,
        connector: Connector,
        requests: ReadyRequests,
        tally: Tally,
        stopping: asyncio.Event,
        mono: Callable[[], float],
    ) -> None:
        self.number = number
        self.wire: Wire | None = None
        self._connector, self._requests, self._tally = connector, requests, tally
        self._stopping, self._mono = stopping, mono

    async def open(self) -> None:
        """Connect now. Raises ConnectFault."""
        self.wire = await self._connector.open()

    async def run(self, first: ReadyRequest, delay_s: float) -> None:
        """Launch requests one after the other, `first` after `delay_s`."""
        pause_s = BACKOFF_FIRST_S
        if await self._stopped_within(delay_s):
            return
        due_s, request = self._mono(), first
        while True:
            record = await self._one(request, due_s)
            if record.ending is Ending.OK:
                pause_s, due_s = BACKOFF_FIRST_S, record.end_s
            elif not await self._stopped_within(pause_s):
                pause_s, due_s = min(2 * pause_s, BACKOFF_MAX_S), self._mono()
            if self._stopping.is_set():
                return
            request = self._requests.take()

    def abort(self) -> None:
        """Close the connection now."""
        if self.wire is not None:
            self.wire.abort()

    async def _one(self, request: ReadyRequest, due_s: float) -> RequestRecord:
        flight = Flight(request.index, self.number, due_s, chat=request.chat)
        self._tally.launch(flight)
        try:
            error = await self._exchange(request.content, flight)
        except asyncio.CancelledError:
            self.abort()
            self._tally.end(flight, flight.record(Ending.CANCELLED, self._mono()))
            raise
        if error is None:
            record = flight.record(Ending.OK, flight.seen_s or self._mono())
        else:
            record = flight.record(Ending.ERROR, self._mono(), error)
        self._tally.end(flight, record)
        return record

    async def _exchange(self, content: bytes, flight: Flight) -> str | None:
        """None for a whole answer, else what went wrong. A stale connection is replaced once, and counted."""
        try:
            wire, kept = self.wire, True
            if wire is None or not wire.usable:
                wire, kept = await self._connect(flight), False
            fault = await wire.send(content, flight)
            if fault is not None and fault.untouched and kept:
                flight.retried, flight.sent_s = True, None
                wire = await self._connect(flight)
                fault = await wire.send(content, flight)
        except ConnectFault as refusal:
            return str(refusal)
        return None if fault is None else fault.text

    async def _connect(self, flight: Flight) -> Wire:
        """A new connection; the request counts as due only once it is there, so that no stamp holds the set-up."""
        self.wire = wire = await self._connector.open()
        flight.launched_s = self._mono()
        return wire

    async def _stopped_within(self, delay_s: float) -> bool:
        """Wait, but wake at once on a stop; True where it stopped."""
        if delay_s > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay_s)
        return self._stopping.is_set()
