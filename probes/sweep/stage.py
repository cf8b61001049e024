"""Holds a sweep's arms ready: looks at them, has them brought up, warms them and sees them left alone afterwards.

Measures nothing that counts. One arm is loaded at a time; which one that is, is remembered for the way out.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace

from probes.load.prompts import PromptSet
from probes.load.records import Ending
from probes.load.vocabulary import chars_per_token
from probes.scrape.scrape import Scraper
from probes.sweep.cell import CellJob, make_loop, measure_cell, requests_of, start_spread_s
from probes.sweep.outcome import BringUp
from probes.sweep.plan import ArmPlan, CellSlot, SweepPlan, warmup_rung
from probes.sweep.preflight import ArmMismatch, Preflight, look_up, preflight
from probes.sweep.request_time import grown_s
from probes.sweep.shown import shown_url
from probes.sweep.watch import GaugeWatch, Reads, settled
from probes.values import Cell

WARMUP_ORDER = -1
WARMUP_POLL_S = 1.0


class Stage:
    """The arms of one sweep. `open()` first, `aclose()` in the end, whatever happened.

    `tokens_unseen` counts what was made outside finished cells since `take_tokens`.
    """

    def __init__(
        self, plan: SweepPlan, prompts: PromptSet, bring_up: BringUp | None, *, timeout_s: float, max_bytes: int
    ) -> None:
        self._plan, self._prompts, self._bring_up = plan, prompts, bring_up
        self._load = plan.load
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._nonce = secrets.token_hex(4)
        self._jobs = 0
        self._scrapers: dict[str, Scraper] = {}
        self._loaded: str | None = None
        self._foreign = 0.0
        self._warm_request_s: dict[str, float] = {}
        self._tokens = 0
        self.arms = {arm.name: arm for arm in plan.arms}
        self.seen: Preflight | None = None

    async def open(self) -> None:
        """Look at every arm. Raises ArmMismatch."""
        self.seen = await preflight(self._plan, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
        for arm in self._plan.arms:
            self._scrapers[arm.name] = self._scraper(arm)
        rooms = [one.max_model_len for one in self.seen.identities.values() if one.max_model_len is not None]
        self._load = replace(self._load, max_model_len=min(rooms, default=None))

    @property
    def scrapers(self) -> Mapping[str, Reads]:
        """One per address: restarted arms share theirs."""
        if self._plan.restarts:
            name = self._loaded or self._plan.baseline
            return {name: self._scrapers[name]}
        return self._scrapers

    async def start(self, arm: ArmPlan) -> None:
        """Have the server started anew as this arm and look at it. Raises ArmMismatch and ForeignTraffic."""
        assert self._bring_up is not None
        assert self.seen is not None
        await self._bring_up(arm)
        self.seen = await look_up(self._plan, arm, self.seen, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
        # Connections that were kept to the server before are dead ones.
        await self._scrapers[arm.name].aclose()
        self._scrapers[arm.name] = self._scraper(arm)

    async def warm(self, arm: ArmPlan) -> None:
        """Load that is thrown away; it also shows at once where an arm refuses requests. Raises ArmMismatch."""
        job = self._job(CellSlot(arm.name, warmup_rung(self._plan), 0, WARMUP_ORDER), None)
        # Nothing is measured here but what a whole answer takes.
        loop = make_loop(job, cut=False)
        watch = GaugeWatch(self._scrapers[arm.name], loop, arm.name, self._plan.max_foreign, before=None)
        end_s = time.monotonic() + self._plan.warmup_s
        self._loaded = arm.name
        try:
            await loop.warm()
            loop.start(start_spread_s(job))
            while (left_s := end_s - time.monotonic()) > 0:
                await asyncio.sleep(min(left_s, WARMUP_POLL_S))
                await watch.look()
            times = sorted(r.end_s - r.launched_s for r in loop.records if r.ending is Ending.OK)
            errors = [record.error for record in loop.records if record.ending is Ending.ERROR]
        finally:
            await loop.aclose()
            most = self._plan.load.max_tokens
            cut = sum(most for r in loop.records if r.ending is Ending.CANCELLED and r.output_tokens is None)
            self._tokens += cut + sum(r.output_tokens or 0 for r in loop.records)
        if self._load.chars_per_token is None:
            # Learnt once, so that every arm is sent the same.
            learnt = chars_per_token(requests_of(job)(), loop.records)
            self._load = replace(self._load, chars_per_token=learnt)
        if times:
            self._warm_request_s[arm.name] = times[len(times) // 2]
        if errors and not times:
            raise ArmMismatch(f"arm {arm.name} at {shown_url(arm.target.url)} answers no request: {errors[-1]}")
        self._loaded = None

    async def measure(self, slot: CellSlot, request_s: float | None) -> Cell:
        """One cell, whose requests take about `request_s` where that is known. Raises ForeignTraffic."""
        self._loaded = slot.arm
        warm_s = self._warm_request_s.get(slot.arm)
        if request_s is None and warm_s is not None:
            request_s = grown_s(warm_s, warmup_rung(self._plan), slot.rung)
        cell = await measure_cell(self._job(slot, request_s), self._scrapers[slot.arm])
        self._loaded = None
        return cell

    async def see_settled(self, foreign: float) -> str | None:
        """After a break-off: wait until the loaded server holds others' requests only; the reason in words where not.

        `foreign` is how many of those there were.
        """
        name, self._loaded = self._loaded, None
        return None if name is None else await settled(self._scrapers[name], name, foreign=foreign)

    def let_go(self) -> None:
        """The streams have been closed for so long that what the server holds is others'."""
        self._loaded = None

    def take_tokens(self) -> int:
        """Output tokens that were made outside cells since the last call; cut-off answers count in full."""
        tokens, self._tokens = self._tokens, 0
        return tokens

    async def aclose(self) -> None:
        """Close the scrapers."""
        for scraper in self._scrapers.values():
            await scraper.aclose()

    def _job(self, slot: CellSlot, request_s: float | None) -> CellJob:
        assert self.seen is not None
        self._jobs += 1
        return CellJob(
            slot=slot,
            arm=self.arms[slot.arm],
            model=self.seen.models[slot.arm],
            cell_s=self._plan.cell_s,
            load=self._load,
            prompts=self._prompts,
            # A cell that is measured again must not find its own prefixes in the cache.
            nonce=f"{self._nonce}{self._jobs:x}",
            max_foreign=self._plan.max_foreign,
            request_s=request_s,
            seen=self.seen.of(slot.arm),
            history=self._plan.history if slot.arm == self._plan.baseline else (),
            workers=self._plan.workers,
        )

    def _scraper(self, arm: ArmPlan) -> Scraper:
        return Scraper(arm.target, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
