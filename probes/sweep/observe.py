"""Watches every arm for a while before a sweep, so that the gate decides on what is there and not on one instant.

Only reads metrics pages; decides nothing (`gate.py` does).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from probes.scrape.scrape import Scraper
from probes.sweep.gate import ArmLoad
from probes.sweep.guard import guarded
from probes.sweep.plan import ArmPlan
from probes.sweep.shown import shown_url
from probes.sweep.totals import in_system, kv_max
from probes.sweep.watch import Reads
from probes.values import State

OBSERVE_EVERY_S = 2.0


async def observe(
    arms: Sequence[ArmPlan],
    quiet_s: float,
    *,
    timeout_s: float,
    max_bytes: int,
    stop_requested: Callable[[], str | None] = lambda: None,
) -> tuple[ArmLoad, ...]:
    """What each arm's address did over `quiet_s` seconds (one look where it is 0), by arm in the order given.

    Arms at one address are looked at together, so that its page is asked for once at a time. A single failed scrape
    makes an arm unreachable: silence is no proof of idleness. Raises Stopped.
    """
    first_at = {_page(arm): arm for arm in reversed(arms)}
    work = _together(tuple(first_at.values()), quiet_s, timeout_s, max_bytes)
    loads = dict(zip(first_at, await guarded(work, stop_requested), strict=True))
    return tuple(replace(loads[_page(arm)], arm=arm.name) for arm in arms)


def _page(arm: ArmPlan) -> tuple[str, str | None]:
    return arm.target.url, arm.target.metrics_url


async def _together(arms: Sequence[ArmPlan], quiet_s: float, timeout_s: float, max_bytes: int) -> list[ArmLoad]:
    return await asyncio.gather(*(_observe_one(arm, quiet_s, timeout_s, max_bytes) for arm in arms))


async def _observe_one(arm: ArmPlan, quiet_s: float, timeout_s: float, max_bytes: int) -> ArmLoad:
    scraper = Scraper(arm.target, timeout_s=timeout_s, max_bytes=max_bytes)
    try:
        return await _watch(arm, scraper, quiet_s)
    finally:
        await scraper.aclose()


async def _watch(arm: ArmPlan, scraper: Reads, quiet_s: float) -> ArmLoad:
    url = shown_url(arm.target.url)
    end_s = time.monotonic() + quiet_s
    loads: list[float] = []
    kv: list[float] = []
    while True:
        reading = await scraper.read()
        if reading.state is not State.OK:
            return ArmLoad(arm.name, url, reading.state, reading.reason)
        load, usage = in_system(reading), kv_max(reading)
        loads += [] if load is None else [load]
        kv += [] if usage is None else [usage]
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            return ArmLoad(arm.name, url, State.OK, "", max(loads, default=None), max(kv, default=None))
        await asyncio.sleep(min(left_s, OBSERVE_EVERY_S))
