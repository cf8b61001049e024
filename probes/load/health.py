"""Watches our own event loop during a cell, so that a cell which the client limited is not taken for a slow server.

Samples cheaply and judges nothing.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

TICK_S = 0.01


@dataclass(frozen=True, slots=True)
class ClientHealth:
    """How the measuring process did over the window."""

    lag_p99_ms: float | None
    """Event-loop lag: how late a timer due every 10 ms fired. In short windows the second largest sample."""
    cpu_share: float | None
    """CPU time of the loop's thread over wall time; the busiest process's where there are several."""
    dispatch_p99_ms: float | None = None
    """From the instant a request was due (the last answer ended) to its last byte on the wire: our own delay."""


UNKNOWN_HEALTH = ClientHealth(None, None)


@dataclass(frozen=True, slots=True)
class LoopSample:
    """What one stretch of one event loop gave."""

    start_s: float
    end_s: float
    lags_s: tuple[float, ...]
    """How late a timer due every 10 ms fired, those that a stall swallowed included."""
    cpu_s: float
    """CPU time of the loop's thread."""


class LoopWatch:
    """A ticker on the running loop: `start()`, any number of `take()`, then `stop()`, all in the loop's thread."""

    def __init__(self, mono: Callable[[], float] = time.monotonic) -> None:
        self._mono = mono
        self._lags_s: list[float] = []
        self._handle: asyncio.TimerHandle | None = None
        self._due_s = self._start_s = self._start_cpu_s = 0.0

    def start(self) -> None:
        """Begin a new measurement."""
        self.stop()
        self._restart()
        self._arm()

    def take(self) -> LoopSample:
        """What there was since `start` or the last `take`; goes on."""
        sample = LoopSample(self._start_s, self._mono(), tuple(self._lags_s), time.thread_time() - self._start_cpu_s)
        self._restart()
        return sample

    def stop(self) -> None:
        """No more ticks; safe to call again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _restart(self) -> None:
        self._lags_s = []
        self._start_s, self._start_cpu_s = self._mono(), time.thread_time()

    def _arm(self) -> None:
        # Our own clock, not the loop's: uvloop's stands still inside one turn.
        self._due_s = self._mono() + TICK_S
        self._handle = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._lags_s.extend(ticks_of(self._mono() - self._due_s))
        self._arm()


def ticks_of(lag_s: float) -> list[float]:
    """Lags of a late tick and of those that should have fired meanwhile.

    A stall of a second is one late tick but a hundred missed ones; counted once it would hide below any percentile.
    """
    return [max(0.0, lag_s), *(lag_s - missed * TICK_S for missed in range(1, int(lag_s / TICK_S) + 1))]


class HealthWatch:
    """Health of this process of the load over a window: its loop, and how promptly it sent what was due."""

    def __init__(self, mono: Callable[[], float] = time.monotonic) -> None:
        self._mono = mono
        self._loop = LoopWatch(mono)
        self._begun_s: float | None = None
        self._health = UNKNOWN_HEALTH

    def begin(self) -> None:
        """A window begins."""
        self._begun_s = self._mono()
        self._loop.start()

    def end(self, delays_since: Callable[[float], Sequence[float]]) -> ClientHealth:
        """The window's health; a second call gives the same. `delays_since(instant)` gives dispatch delays."""
        if self._begun_s is not None:
            self._health = health_of([self._loop.take()], delays_since(self._begun_s))
            self._loop.stop()
            self._begun_s = None
        return self._health


def health_of(samples: Sequence[LoopSample], delays_s: Sequence[float]) -> ClientHealth:
    """One process's health from stretches of its loop and its dispatch delays."""
    wall_s = sum(sample.end_s - sample.start_s for sample in samples)
    return ClientHealth(
        lag_p99_ms=_p99_ms([lag_s for sample in samples for lag_s in sample.lags_s]),
        cpu_share=sum(sample.cpu_s for sample in samples) / wall_s if wall_s > 0 else None,
        dispatch_p99_ms=_p99_ms(delays_s),
    )


def worst_of(parts: Sequence[ClientHealth]) -> ClientHealth:
    """One health for several processes: the load is as good as its worst part."""
    return ClientHealth(
        lag_p99_ms=max((p.lag_p99_ms for p in parts if p.lag_p99_ms is not None), default=None),
        cpu_share=max((p.cpu_share for p in parts if p.cpu_share is not None), default=None),
        dispatch_p99_ms=max((p.dispatch_p99_ms for p in parts if p.dispatch_p99_ms is not None), default=None),
    )


def _p99_ms(values_s: Sequence[float]) -> float | None:
    """In short windows the second largest."""
    return 1e3 * sorted(values_s)[int(0.99 * (len(values_s) - 1))] if values_s else None


@contextmanager
def quiet_gc() -> Iterator[None]:
    """No collector pauses inside (at hundreds of streams they are the largest part of loop lag); restored after."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
