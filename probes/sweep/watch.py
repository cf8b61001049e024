"""Reads an arm's gauges while it is under our load, and breaks off when somebody else's requests arrive.

Keeps one scrape in flight. Judges no cell.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from probes.sweep.totals import counts, in_system, live_counter
from probes.values import EngineKind, Reading, State

EDGE_TRIES = 3
IDLE_POLL_S = 0.15
IDLE_BOUND_S = 3.0
IDLE_BOUND_SGLANG_S = 35.0
"""SGLang republishes an idle gauge only every 30 s up to 0.5.15."""
STILL_SGLANG_S = 3.0
"""Its counters of prefill and decode move with every step: standing still for longer than any step, nothing runs,
whatever the gauge of the last report says."""
SETTLE_S = 10.0
"""Within this a server should have noticed that our streams are closed."""


class Reads(Protocol):
    """What this room needs of `probes.scrape.scrape.Scraper`."""

    async def read(self) -> Reading:
        """One scrape; a failed one is a Reading too."""
        ...


class InFlight(Protocol):
    """Our own requests, as `probes.load.closed_loop.ClosedLoop` counts them."""

    def take_peak(self) -> int:
        """Most in flight since the last call."""
        ...


class ForeignTraffic(Exception):
    """Requests that are not ours are in the system; the sweep gives way."""

    def __init__(self, message: str, arm: str, foreign: float) -> None:
        super().__init__(message)
        self.arm = arm
        self.foreign = foreign
        """How many were seen."""


class GaugeWatch:
    """Polls of one cell. `samples` holds the readings since the last `restart()`."""

    def __init__(self, scraper: Reads, ours: InFlight, arm: str, max_foreign: float, before: Reading | None) -> None:
        """`before` is the idle reading before the first of our requests, None where there is none."""
        self._scraper = scraper
        self._ours = ours
        self._guard = ForeignGuard(arm, max_foreign)
        self._before = before
        self.samples: list[Reading] = []

    def restart(self) -> None:
        """Forget earlier samples: a steady window begins."""
        self.samples = []

    async def look(self) -> Reading:
        """One poll. Raises ForeignTraffic on the second one in a row that shows too many foreign requests.

        Our share is the most we had in flight since the last poll: the server's gauge may be one step old.
        """
        reading = await self._scraper.read()
        if reading.state is State.OK:
            self.samples.append(reading)
            peak = self._ours.take_peak()
            if not self._is_old(reading):
                self._guard.check(reading, peak)
        return reading

    def _is_old(self, reading: Reading) -> bool:
        """SGLang's gauges are of an earlier load until the first report after it."""
        return (
            reading.engine_kind is EngineKind.SGLANG
            and self._before is not None
            and counts(reading) == counts(self._before)
        )

    async def edge(self) -> Reading | None:
        """A poll that must succeed, for the window's edge: a few tries, then None."""
        for _ in range(EDGE_TRIES):
            reading = await self.look()
            if reading.state is State.OK:
                return reading
            await asyncio.sleep(IDLE_POLL_S)
        return None


class ForeignGuard:
    """Counts polls in a row above the limit."""

    def __init__(self, arm: str, max_foreign: float) -> None:
        self._arm, self._max = arm, max_foreign
        self._seen = 0

    def check(self, reading: Reading, ours: int) -> None:
        """Raises ForeignTraffic on the second reading in a row with more than the allowed foreign requests."""
        load = in_system(reading)
        if load is None:
            return
        foreign = load - ours
        self._seen = self._seen + 1 if foreign > self._max else 0
        if self._seen >= 2:
            raise ForeignTraffic(
                f"arm {self._arm} has {foreign:g} requests in the system that are not ours,"
                f" max_live_concurrency allows {self._max:g}",
                self._arm,
                foreign,
            )


async def idle_reading(scraper: Reads, arm: str, max_foreign: float | None) -> tuple[Reading | None, bool]:
    """Poll until nothing is in the system and the counters stand still (they may lag the last answer by a step); on
    SGLang, whose gauges stand at the last report's, counters that stand still for a while are enough.

    Gives the last good reading, or None, and whether it was idle. With `max_foreign` it raises ForeignTraffic where
    the bound passes and more than that is still there.
    """
    started_s = still_from_s = time.monotonic()
    good: Reading | None = None
    while True:
        reading = await scraper.read()
        if reading.state is State.OK:
            quiet = good is not None and counts(good) == counts(reading)
            still_from_s = still_from_s if quiet else time.monotonic()
            good = reading
            if quiet and (not in_system(reading) or _long_still(reading, time.monotonic() - still_from_s)):
                return good, True
        slow = good is not None and good.engine_kind is EngineKind.SGLANG
        if time.monotonic() - started_s > (IDLE_BOUND_SGLANG_S if slow else IDLE_BOUND_S):
            break
        await asyncio.sleep(IDLE_POLL_S)
    if good is not None and max_foreign is not None:
        guard = ForeignGuard(arm, max_foreign)
        guard.check(good, 0)
        guard.check(good, 0)
    return good, False


def _long_still(reading: Reading, still_s: float) -> bool:
    return reading.engine_kind is EngineKind.SGLANG and live_counter(reading) and still_s >= STILL_SGLANG_S


async def settled(scraper: Reads, arm: str, bound_s: float = SETTLE_S, foreign: float = 0.0) -> str | None:
    """After our streams were closed: poll until the server holds no more requests than `foreign`, those of others.

    None once that is so. Where it is not within `bound_s` (35 s on SGLang, whose idle gauge is slow), or the page
    cannot be read, the reason in words, for the sweep's outcome.
    """
    started_s = time.monotonic()
    load: float | None = None
    while True:
        reading = await scraper.read()
        if reading.state is State.OK:
            load = in_system(reading)
            if load is not None and load <= foreign:
                return None
            if reading.engine_kind is EngineKind.SGLANG:
                bound_s = max(bound_s, IDLE_BOUND_SGLANG_S)
        if time.monotonic() - started_s >= bound_s:
            break
        await asyncio.sleep(IDLE_POLL_S)
    if load is None:
        why = reading.reason or reading.state.words
        return f"whether arm {arm} still runs our requests is not known: its page tells no load ({why})"
    return (
        f"arm {arm} still had {load:g} requests in the system {bound_s:.0f} s after our streams were closed"
        f" ({foreign:g} were not ours before): a proxy between may not pass on disconnects, or others' traffic grew"
    )
