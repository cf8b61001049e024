"""A load carried by several processes, used like a `ClosedLoop`: it spreads the clients and adds up what comes back.

Sends no request itself. What it tells is up to a twentieth of a second old, except after `drain`, when it is whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from probes.load.closed_loop import CLOSE_S, way_to
from probes.load.health import ClientHealth, HealthWatch, health_of, worst_of
from probes.load.ready import Share, Source
from probes.load.records import Ending, RequestRecord
from probes.load.workers.child import REPORT_S
from probes.load.workers.messages import Drain, Job, Start, Stop
from probes.load.workers.process import WorkerProcess
from probes.values import Target

START_MAX_S = 120.0
"""Longest wait for all workers to be warm; interpreters start in under a second, connections may take ten."""


class WorkerLoop:
    """N clients in `processes` worker processes. Raises as `ClosedLoop` does."""

    def __init__(self, target: Target, source: Callable[[], Source], clients: int, processes: int) -> None:
        way_to(target, time.monotonic)  # its faults belong to the caller, not to a child
        self._target, self._source, self._count = target, source, clients
        self.processes = processes
        self.records: list[RequestRecord] = []
        self._workers = [WorkerProcess(self.records.extend, self._lost) for _ in range(processes)]
        self._health = HealthWatch()
        self._merged: ClientHealth | None = None
        self._begun_s = 0.0
        self._started_s: float | None = None
        self._step_s = 0.0

    @property
    def pids(self) -> list[int]:
        """Of the workers that run."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def in_flight(self) -> int:
        """Requests launched and not ended."""
        return sum(worker.in_flight for worker in self._workers)

    @property
    def max_in_flight(self) -> int:
        """Most at once so far, each worker's own most added up."""
        return sum(worker.max_in_flight for worker in self._workers)

    def take_peak(self) -> int:
        """Most in flight at once since the last call; during the start at least those that are due by now."""
        return max(sum(worker.take_peak() for worker in self._workers), self._due_while_starting())

    async def warm(self) -> None:
        """Start the processes and let each open its connections. Raises OSError where none can be started."""
        count, of = self._count, self.processes
        starts = await asyncio.gather(
            *(
                worker.start(Job(self._target, self._source, len(range(first, count, of)), Share(first, of)))
                for first, worker in enumerate(self._workers)
            ),
            return_exceptions=True,  # all are there, or have failed, before anybody can close what is there
        )
        for fault in starts:
            if fault is not None:
                raise fault
        await self._until(lambda worker: worker.warmed, START_MAX_S)

    def start(self, spread_s: float) -> None:
        """Start all clients, evenly spread over `spread_s`."""
        self._started_s, self._step_s = time.monotonic(), spread_s / self._count
        for first, worker in enumerate(self._workers):
            worker.send(Start(spread_s, first * self._step_s))

    def begin_window(self) -> None:
        """Watch our own health from here."""
        self._begun_s, self._merged = time.monotonic(), None
        self._health.begin()
        for worker in self._workers:
            worker.samples.clear()

    def end_window(self) -> ClientHealth:
        """How we did since `begin_window`, this process included; safe to call again."""
        if self._merged is None:
            delays_s = self._delays_since(self._begun_s)
            parts = [health_of([s for s in w.samples if s.start_s >= self._begun_s], delays_s) for w in self._workers]
            self._merged = worst_of([self._health.end(lambda _: delays_s), *parts])
        return self._merged

    def stop_launching(self) -> None:
        """Let running requests end and start no new one."""
        for worker in self._workers:
            worker.send(Stop())

    async def drain(self, timeout_s: float) -> int:
        """Wait for running requests, then cut off the rest; gives how many were cut off."""
        for worker in self._workers:
            worker.send(Drain(timeout_s))
        await self._until(lambda worker: worker.cut_off is not None, timeout_s + 2 * CLOSE_S)
        return sum(w.in_flight if w.cut_off is None else w.cut_off for w in self._workers)

    async def aclose(self) -> None:
        """Close every stream, within about two seconds, and end the processes."""
        self._health.end(self._delays_since)
        for worker in self._workers:
            worker.ask_to_end()
        await asyncio.gather(*(worker.stop(CLOSE_S) for worker in self._workers))

    def _lost(self, how: str, streams: int) -> None:
        """A worker ended by itself: its requests become errors, so that the cell cannot count."""
        now_s = time.monotonic()
        lost = RequestRecord(-1, -1, now_s, None, None, None, now_s, Ending.ERROR, error=how)
        self.records.extend([lost] * max(1, streams))

    async def _until(self, done: Callable[[WorkerProcess], bool], timeout_s: float) -> None:
        end_s = time.monotonic() + timeout_s
        for worker in self._workers:
            while not worker.gone and not done(worker):
                worker.changed.clear()
                try:
                    await asyncio.wait_for(worker.changed.wait(), end_s - time.monotonic())
                except TimeoutError:
                    return

    def _due_while_starting(self) -> int:
        if self._started_s is None or self._step_s <= 0:
            return 0
        since_s = time.monotonic() - self._started_s
        starting = since_s < self._step_s * self._count + 2 * REPORT_S
        return min(self._count, 1 + int(since_s / self._step_s)) if starting else 0

    def _delays_since(self, begun_s: float) -> list[float]:
        return [r.sent_s - r.launched_s for r in self.records if r.sent_s is not None and r.sent_s >= begun_s]
