"""Waits, after others' requests have shown up, until every arm has been left alone for a while; sends no load.

Counters decide as well as gauges: short requests come and go between two looks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from probes.sweep.totals import finished_between, in_system, moved
from probes.sweep.watch import Reads
from probes.values import Reading, State

LOOK_EVERY_S = 2.0
LOOKS_MIN = 5
"""Looks per quiet stretch at least, where it is a short one."""


class Quiet:
    """Since when one arm has been quiet; the clock is an argument."""

    def __init__(self, max_foreign: float) -> None:
        self._max = max_foreign
        self._last: Reading | None = None
        self._since_s: float | None = None

    def look(self, reading: Reading, now_s: float) -> float:
        """Seconds of quiet so far: nothing above the limit in the system and no request finished or begun."""
        last, self._last = self._last, reading if reading.state is State.OK else None
        if not self._is_quiet(last, reading):
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s
        return 0.0 if self._since_s is None else now_s - self._since_s

    @property
    def now(self) -> bool:
        """Whether the last look found it quiet."""
        return self._since_s is not None

    def _is_quiet(self, last: Reading | None, reading: Reading) -> bool:
        load = in_system(reading) if reading.state is State.OK else None
        if load is None or load > self._max:
            return False
        if last is None:
            return True
        return not moved(last, reading, lambda e: e.prompt_tokens) and not finished_between(last, reading)


async def until_quiet(scrapers: Mapping[str, Reads], *, max_foreign: float, quiet_s: float, until_s: float) -> bool:
    """True once every arm has been quiet for `quiet_s`; False where that cannot be reached by `until_s` (monotonic)."""
    arms = {name: Quiet(max_foreign) for name in scrapers}
    every_s = min(LOOK_EVERY_S, quiet_s / LOOKS_MIN) if quiet_s > 0 else LOOK_EVERY_S
    while True:
        readings = await asyncio.gather(*(scraper.read() for scraper in scrapers.values()))
        now_s = time.monotonic()
        quiet = [arms[name].look(reading, now_s) for name, reading in zip(scrapers, readings, strict=True)]
        if all(arm.now for arm in arms.values()) and min(quiet) >= quiet_s:
            return True
        if now_s + quiet_s - min(quiet) > until_s:
            return False
        await asyncio.sleep(every_s)
