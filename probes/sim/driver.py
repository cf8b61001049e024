"""Moves one engine along real time with one timer per step; knows the loop's clock, no sockets and no HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from probes.sim.engine import Engine, Output
from probes.sim.request import Request

CATCH_UP_S = 0.25
"""A step may begin this much in the past, so that timer rounding (up to 1 ms) does not slow the engine down."""
RETRY_S = 0.05
"""How often an engine that cannot schedule anything looks again."""


class Driver:
    """Runs an engine's steps. Everything happens in the loop's thread."""

    def __init__(
        self, engine: Engine, loop: asyncio.AbstractEventLoop, deliver: Callable[[list[Output]], None]
    ) -> None:
        self.engine = engine
        self.steps = 0
        self.behind_s = 0.0
        """Time the simulator lost because Python could not keep up: not 0 means its numbers are not the model's."""
        self._loop = loop
        self._deliver = deliver
        self._timer: asyncio.TimerHandle | None = None
        self._asleep = False

    def add(self, request: Request) -> None:
        """Queue a request and start stepping if the engine was idle."""
        self.engine.add(request)
        self._wake()

    def sleep(self, asleep: bool) -> None:
        """A sleeping engine takes no step; what is in it waits."""
        self._asleep = asleep
        if not asleep:
            self._wake()

    def close(self) -> None:
        """No further step."""
        self._asleep = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        if self._timer is None:
            self._begin(self._loop.time())

    def _begin(self, start_s: float) -> None:
        self._timer = None
        if self._asleep or self.engine.idle:
            return
        end_s = self.engine.begin_step(start_s)
        if end_s is None:
            self._timer = self._loop.call_later(RETRY_S, self._retry)
        else:
            self._timer = self._loop.call_at(end_s, self._end, end_s)

    def _retry(self) -> None:
        self._begin(self._loop.time())

    def _end(self, end_s: float) -> None:
        self.steps += 1
        outputs = self.engine.end_step(end_s)
        # The next step begins before the answers are written, as a GPU does; replies to them join the one after it.
        now_s = self._loop.time()
        if now_s - end_s > CATCH_UP_S:
            self.behind_s += now_s - end_s
            end_s = now_s
        self._begin(end_s)
        self._deliver(outputs)
