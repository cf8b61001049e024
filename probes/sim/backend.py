"""The engines behind one simulated address as if one vLLM process ran them: submit, abort, restart, faults; no HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from probes.sim.driver import Driver
from probes.sim.engine import Engine, Output
from probes.sim.faults import Faults
from probes.sim.model import OUTPUT_TOKENS, PROMPT_TOKENS
from probes.sim.request import Request, prefix_hashes
from probes.sim.spec import BLOCK_TOKENS, SimSpec

Sink = Callable[[Request, int, str | None], None]


class Backend:
    """One (simulated) server process; `restart` makes it a new one with counters from zero."""

    def __init__(self, spec: SimSpec, loop: asyncio.AbstractEventLoop) -> None:
        self.spec = spec
        self.faults = Faults()
        self.started_at_s = time.time()
        self.starts = 0
        self._drifts_from_s = loop.time()
        self._arm_k = spec.k
        self._loop = loop
        self._homes: dict[Request, Driver] = {}
        self._foreign: set[Request] = set()
        self.drivers: list[Driver] = []
        self._boot()

    @property
    def engines(self) -> list[Engine]:
        """Engines by index."""
        return [driver.engine for driver in self.drivers]

    @property
    def behind_s(self) -> float:
        """Seconds lost since the start because Python did not keep up."""
        return sum(driver.behind_s for driver in self.drivers)

    @property
    def steps(self) -> int:
        """Engine steps since the start."""
        return sum(driver.steps for driver in self.drivers)

    def submit(
        self,
        prompt: str | Sequence[int],
        prompt_tokens: int,
        max_tokens: int,
        *,
        min_tokens: int,
        ignore_eos: bool,
        sink: Sink,
    ) -> Request:
        """Queue a request on the engine with the least to do; `sink` hears of every step."""
        driver = self.drivers[0]
        if not self.faults.uneven:
            driver = min(self.drivers, key=lambda d: 4 * len(d.engine.waiting) + len(d.engine.running))
        stop_at = max_tokens if ignore_eos else max(driver.engine.natural_stop(), min_tokens)
        prefixes = prefix_hashes(prompt[self.faults.prefix_skip :]) if self.spec.prefix_caching else ()
        request = Request(prompt_tokens, max_tokens, stop_at, self._loop.time(), prefixes=prefixes, sink=sink)
        self._homes[request] = driver
        driver.add(request)
        return request

    def abort(self, request: Request) -> None:
        """The client of a request left."""
        driver = self._homes.pop(request, None)
        if driver is not None:
            driver.engine.abort(request, self._loop.time())

    def set_faults(self, changes: dict[str, Any]) -> Faults:
        """Change some faults now. Raises ValueError for unknown names or values that make no server."""
        faults = self.faults.merged(changes)
        k = self._arm_k if faults.arm_k is None else faults.arm_k
        spec = replace(self.spec, k=k)
        if faults.drift_per_s != self.faults.drift_per_s:
            self._drifts_from_s = self._loop.time()
        self.faults = faults
        if spec != self.spec:
            self.spec = spec
            self.restart()
        self._apply()
        return faults

    def restart(self) -> None:
        """As after a crash: in-flight requests are lost, counters start at zero, and there is a new start bias."""
        lost = list(self._homes)
        self.close()
        self.starts += 1
        self.started_at_s = time.time()
        self._boot()
        for request in lost:
            if callable(request.sink):
                request.sink(request, 0, "abort")

    def close(self) -> None:
        """Stop stepping; nothing in flight is answered."""
        for driver in self.drivers:
            driver.close()
        self._homes.clear()
        self._foreign.clear()

    def _boot(self) -> None:
        self.drivers = [
            Driver(Engine(self.spec, index=index, start=self.starts), self._loop, self._deliver)
            for index in range(self.spec.engines)
        ]
        self._apply()

    def _apply(self) -> None:
        for driver in self.drivers:
            engine = driver.engine
            engine.drafting = not self.faults.not_drafting
            engine.reserved_blocks = int(self.faults.kv_reserved * self.spec.kv_blocks)
            engine.gauge_factor = self.faults.gauge_factor
            engine.slow = self.faults.slow
            engine.drift_per_s, engine.drifts_from_s = self.faults.drift_per_s, self._drifts_from_s
            driver.sleep(self.faults.sleep_level > 0 or self.faults.hang)
        self._fill_foreign()

    def _deliver(self, outputs: list[Output]) -> None:
        for request, tokens, reason in outputs:
            if reason is not None:
                self._homes.pop(request, None)
            if callable(request.sink):
                request.sink(request, tokens, reason)
            if reason is not None and request.sink not in (self._foreign_step, _nobody):
                self._pass_by(self.faults.foreign_per_request)

    def _pass_by(self, requests: int) -> None:
        for _ in range(requests):
            self.submit("", BLOCK_TOKENS, 1, min_tokens=1, ignore_eos=True, sink=_nobody)

    def _fill_foreign(self) -> None:
        wanted = self.faults.foreign_clients * self.spec.engines
        while len(self._foreign) < wanted:
            request = self.submit(
                "", PROMPT_TOKENS, 4 * OUTPUT_TOKENS, min_tokens=1, ignore_eos=False, sink=self._foreign_step
            )
            self._foreign.add(request)
        while len(self._foreign) > wanted:
            self.abort(self._foreign.pop())

    def _foreign_step(self, request: Request, tokens: int, reason: str | None) -> None:
        if reason is not None and request in self._foreign:
            self._foreign.discard(request)
            self._fill_foreign()


def _nobody(request: Request, tokens: int, reason: str | None) -> None:
    """Nobody reads the answer."""
