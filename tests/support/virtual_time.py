"""An event loop whose clock jumps to the next timer when nothing is ready: sweeps run as fast as they compute.

Real sockets on loopback, in one process: what is written is readable at once, so "nothing readable" means that only
time can bring news. Call `install()` before importing anything that keeps a reference to `time.monotonic`.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
STUCK_S = 30.0
"""Real seconds without an event or a timer after which the loop gives up."""


class _Clock:
    """Virtual seconds since an arbitrary start."""

    now_s = 1000.0


class _JumpingSelector(selectors.BaseSelector):
    """Asks the real selector without waiting; where nothing is ready it moves the clock by the time asked for."""

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            ready = self._real.select(STUCK_S)
            if not ready:
                raise RuntimeError("nothing is scheduled and nothing arrives")
            return ready
        _Clock.now_s += max(0.0, timeout)
        return []

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        found = self._real.get_map()
        assert found is not None
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on the virtual clock."""

    def __init__(self) -> None:
        super().__init__(_JumpingSelector())

    def time(self) -> float:
        return _Clock.now_s


def install() -> None:
    """Make `time` tell virtual seconds in this process; CPU clocks stand still, for they measure nothing here."""
    started_s = time.time()
    base_s = _Clock.now_s
    time.monotonic = lambda: _Clock.now_s
    time.perf_counter = lambda: _Clock.now_s
    time.time = lambda: started_s + _Clock.now_s - base_s
    time.thread_time = lambda: 0.0
    time.process_time = lambda: 0.0


def stand_still(seconds: float) -> None:
    """The whole process does nothing for so long, as on a machine that is too busy: timers come late."""
    _Clock.now_s += seconds


def run(work: Coroutine[Any, Any, T]) -> T:
    """Like asyncio.run, on a virtual loop."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
