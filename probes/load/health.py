"""Watches our own event loop during a cell, so that a cell which the client limited is not taken for a slow server.

Samples cheaply and judges nothing.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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

    def __init__(self) -> None:
        self._lags_s: list[float] = []
        self._handle: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._wall_s = 0.0
        self._cpu_s = 0.0

    def start(self) -> None:
        """Begin a new measurement."""
        self._lags_s = []
        self._wall_s, self._cpu_s = time.monotonic(), time.thread_time()
        self._arm()

    def stop(self) -> ClientHealth:
        """End it; safe to call again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        wall_s = time.monotonic() - self._wall_s
        lags = sorted(self._lags_s)
        return ClientHealth(
            lag_p99_ms=1e3 * lags[int(0.99 * (len(lags) - 1))] if lags else None,
            cpu_share=(time.thread_time() - self._cpu_s) / wall_s if wall_s > 0 else None,
        )

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._due_s = loop.time() + TICK_S
        self._handle = loop.call_at(self._due_s, self._tick)

    def _tick(self) -> None:
        self._lags_s.append(max(0.0, asyncio.get_running_loop().time() - self._due_s))
        self._arm()


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
