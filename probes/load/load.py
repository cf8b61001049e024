"""Decides whether a load runs in the caller's process or in several, and names what both can do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol

from probes.load.closed_loop import ClosedLoop
from probes.load.health import ClientHealth
from probes.load.ready import Source
from probes.load.records import RequestRecord
from probes.load.workers.loop import WorkerLoop
from probes.values import Target

STREAMS_PER_PROCESS = 512
"""Above this many streams on one core a step of the server, which answers all of them at once, is read so slowly
that the last stream's stamps are several milliseconds late."""


class Load(Protocol):
    """N clients on one target; see `probes.load` for the order of calls."""

    @property
    def records(self) -> list[RequestRecord]:
        """Requests that ended."""
        ...

    @property
    def in_flight(self) -> int:
        """Requests launched and not ended."""
        ...

    @property
    def max_in_flight(self) -> int:
        """Most at once so far."""
        ...

    @property
    def processes(self) -> int:
        """Processes that carry it."""
        ...

    def take_peak(self) -> int:
        """Most in flight at once since the last call."""
        ...

    async def warm(self) -> None:
        """Open every connection and build the first requests."""
        ...

    def start(self, spread_s: float) -> None:
        """Start all clients, evenly spread over `spread_s`."""
        ...

    def begin_window(self) -> None:
        """Watch our own health from here."""
        ...

    def end_window(self) -> ClientHealth:
        """How we did since `begin_window`; safe to call again."""
        ...

    def stop_launching(self) -> None:
        """Let running requests end and start no new one."""
        ...

    async def drain(self, timeout_s: float) -> int:
        """Wait for running requests, then cut off the rest; gives how many were cut off."""
        ...

    async def aclose(self) -> None:
        """Close everything within two seconds; safe to call at any point."""
        ...


def make_load(
    target: Target,
    source: Callable[[], Source],
    clients: int,
    workers: int | None = None,
    mono: Callable[[], float] = time.monotonic,
) -> Load:
    """A load of `clients` streams, not started. `workers` is the number of processes, None decides by the streams.

    `source` makes the sequence of requests and must be picklable (a `functools.partial` of a class is): every process
    makes its own and takes its share of the one sequence. Raises as `ClosedLoop` does.
    """
    processes = process_count(clients, workers, _cores())
    if processes == 1:
        return ClosedLoop(target, source(), clients, mono)
    return WorkerLoop(target, source, clients, processes)


def process_count(clients: int, asked: int | None, cores: int) -> int:
    """As many as asked for; else one for each 512 streams, leaving a core for whoever reads the server's metrics."""
    if asked is not None:
        return max(1, min(asked, clients))
    return max(1, min(-(-clients // STREAMS_PER_PROCESS), cores - 1))


def _cores() -> int:
    """That this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1
