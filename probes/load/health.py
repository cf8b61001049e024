"""Watches our own event loop during a cell, so that a cell which the client limited is not taken for a slow server.

Samples cheaply and judges nothing.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from probes.load.tally import Tally

TICK_S = 0.01


@dataclass(frozen=True, slots=True)
class ClientHealth:
    """How the measuring process did over the window."""

    lag_p99_ms: float | None
    """Event-loop lag: how late a 10 ms timer fired. In short windows the second largest sample."""
    cpu_share: float | None
    """CPU time of the loop's thread over wall time; the busiest process's where there are several."""
    dispatch_p99_ms: float | None = None
    """From the instant a request was due (the last answer ended) to its last byte on the wire: our own delay."""


UNKNOWN_HEALTH = ClientHealth(None, None)


class LoopWatch:
    """A ticker on the running loop; `start()` then `stop()` in the same thread."""

    def __init__(self, mono: Callable[[], float] = time.monotonic) -> None:
        self._mono = mono
        self._lags_s: list[float] = []
        self._handle: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._wall_s = 0.0
        self._cpu_s = 0.0

    def start(self) -> None:
        """Begin a new measurement."""
        self._lags_s = []
        self._wall_s, self._cpu_s = self._mono(), time.thread_time()
        self._arm()

    def stop(self) -> ClientHealth:
        """End it; safe to call again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        wall_s = self._mono() - self._wall_s
        return ClientHealth(
            lag_p99_ms=_p99_ms(self._lags_s),
            cpu_share=(time.thread_time() - self._cpu_s) / wall_s if wall_s > 0 else None,
        )

    def _arm(self) -> None:
        # Our own clock, not the loop's: uvloop's stands still inside one turn.
        self._due_s = self._mono() + TICK_S
        self._handle = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._lags_s.append(max(0.0, self._mono() - self._due_s))
        self._arm()


class HealthWatch:
    """Health of one process of the load over a window: its loop, and how promptly it sent what was due."""

    def __init__(self, tally: Tally, mono: Callable[[], float] = time.monotonic) -> None:
        self._tally, self._mono = tally, mono
        self._loop = LoopWatch(mono)
        self._begun_s: float | None = None
        self._health = UNKNOWN_HEALTH

    def begin(self) -> None:
        """A window begins."""
        self._begun_s = self._mono()
        self._loop.start()

    def end(self) -> ClientHealth:
        """The window's health; a second call gives the same."""
        if self._begun_s is not None:
            delays_s = self._tally.delays_since(self._begun_s)
            self._health = replace(self._loop.stop(), dispatch_p99_ms=_p99_ms(delays_s))
            self._begun_s = None
        return self._health


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
