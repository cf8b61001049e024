"""Runs one sweep from preflight to crossover over arms that are already up; it starts, restarts and stores nothing.

Everything leaves through the hooks and the outcome. One arm is loaded at a time.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from probes.crossover import cells_to_points, estimate
from probes.load.prompts import PromptSet, load_prompts
from probes.load.records import Ending
from probes.scrape.scrape import Scraper
from probes.sweep.cell import SPREAD_GUESS_S, CellJob, make_loop, measure_cell
from probes.sweep.climb import Climb
from probes.sweep.guard import Stopped, guarded
from probes.sweep.outcome import ABORTED, MEASURED, MISMATCH, BringUp, SweepHooks, SweepOutcome
from probes.sweep.plan import ArmPlan, CellSlot, SweepPlan, warmup_rung
from probes.sweep.preflight import ArmMismatch, Preflight, preflight
from probes.sweep.shown import shown_url
from probes.sweep.watch import ForeignTraffic, GaugeWatch, Reads
from probes.values import Axis, Cell, Crossover

T = TypeVar("T")
WARMUP_ORDER = -1
WARMUP_POLL_S = 1.0
SCRAPE_TIMEOUT_S = 4.0
MAX_PAGE_BYTES = 16 * 1024 * 1024


async def run_sweep(
    plan: SweepPlan,
    hooks: SweepHooks,
    *,
    timeout_s: float = SCRAPE_TIMEOUT_S,
    max_bytes: int = MAX_PAGE_BYTES,
    bring_up: BringUp | None = None,
    resume: Sequence[Cell] = (),
) -> SweepOutcome:
    """Measure every arm of the plan against its baseline.

    `bring_up` starts each arm of a restart plan. `resume` holds the cells of an interrupted sweep of the same
    `signature`; those that are `usable` are gone on after and lead the outcome's cells, `hooks.on_cell` gets only new
    ones. `timeout_s` and `max_bytes` bound each scrape.
    Raises PromptFileError and ValueError (a restart plan without `bring_up`) before anything is touched; every other
    way to end is an outcome with its exit code.
    """
    if plan.restarts and bring_up is None:
        raise ValueError(
            f"the arms of {plan.endpoint} are brought up by restarts, and there is nothing to restart with"
        )
    prompts = load_prompts(plan.load.prompts)
    return await _Sweep(plan, hooks, prompts, timeout_s, max_bytes).run()


class _Sweep:
    """One sweep's moving parts: the score, the scrapers and the clock of its budget."""

    def __init__(self, plan: SweepPlan, hooks: SweepHooks, prompts: PromptSet, timeout_s: float, max_bytes: int):
        self._plan = plan
        self._hooks = hooks
        self._prompts = prompts
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._nonce = secrets.token_hex(4)
        self._climb = Climb(plan)
        self._arms = {arm.name: arm for arm in plan.arms}
        self._seen: Preflight | None = None
        self._request_s: dict[str, float | None] = {}
        self._end_s = time.monotonic() + 60 * plan.max_minutes

    async def run(self) -> SweepOutcome:
        try:
            self._progress("preflight")
            look = preflight(self._plan, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
            self._seen = await self._guarded(look)
            async with AsyncExitStack() as stack:
                scrapers: dict[str, Reads] = {}
                for arm in self._plan.arms:
                    scraper = Scraper(arm.target, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
                    stack.push_async_callback(scraper.aclose)
                    scrapers[arm.name] = scraper
                await self._warm_up(scrapers, self._seen)
                await self._measure(scrapers, self._seen)
        except ArmMismatch as mismatch:
            return self._outcome("arm_mismatch", str(mismatch), MISMATCH)
        except (Stopped, ForeignTraffic) as stop:
            return self._outcome("aborted", str(stop), ABORTED)
        if problem := self._climb.no_answer():
            return self._outcome("failed", problem, MISMATCH)
        self._progress("estimate")
        return self._outcome("measured", "", MEASURED, self._estimate())

    def _estimate(self) -> Crossover:
        points = cells_to_points(self._climb.cells)
        return estimate(points, baseline=self._plan.baseline, axis=Axis.CONCURRENCY_PER_ENGINE)

    async def _warm_up(self, scrapers: dict[str, Reads], seen: Preflight) -> None:
        for arm in self._plan.arms if self._plan.warmup_s > 0 else ():
            self._progress("warmup", note=f"arm {arm.name}")
            slot = CellSlot(arm.name, warmup_rung(self._plan), 0, WARMUP_ORDER)
            await self._guarded(self._warm_arm(self._job(slot, arm, seen), scrapers[arm.name]))

    async def _warm_arm(self, job: CellJob, scraper: Reads) -> None:
        """Load that is thrown away; it also shows at once where an arm refuses requests."""
        loop = make_loop(job)
        watch = GaugeWatch(scraper, loop, job.arm.name, job.max_foreign)
        end_s = time.monotonic() + self._plan.warmup_s
        try:
            await loop.warm()
            loop.start(SPREAD_GUESS_S)
            while (left_s := end_s - time.monotonic()) > 0:
                await asyncio.sleep(min(left_s, WARMUP_POLL_S))
                await watch.look()
            times = sorted(r.end_s - r.launched_s for r in loop.records if r.ending is Ending.OK)
            self._request_s[job.arm.name] = times[len(times) // 2] if times else None
            errors = [record.error for record in loop.records if record.ending is Ending.ERROR]
        finally:
            await loop.aclose()
        if errors and not times:
            raise ArmMismatch(f"arm {job.arm.name} at {shown_url(job.arm.target.url)} answers no request: {errors[-1]}")

    async def _measure(self, scrapers: dict[str, Reads], seen: Preflight) -> None:
        while (slot := self._climb.next()) is not None:
            self._progress("cells", slot)
            job = self._job(slot, self._arms[slot.arm], seen)
            started_s = time.monotonic()
            cell = await self._guarded(measure_cell(job, scrapers[slot.arm]))
            self._climb.finish(cell, time.monotonic() - started_s)
            self._hooks.on_cell(cell)
            if problem := self._climb.hopeless():
                raise ArmMismatch(problem)

    def _job(self, slot: CellSlot, arm: ArmPlan, seen: Preflight) -> CellJob:
        return CellJob(
            slot=slot,
            arm=arm,
            model=seen.models[arm.name],
            cell_s=self._plan.cell_s,
            load=self._plan.load,
            prompts=self._prompts,
            nonce=self._nonce,
            max_foreign=self._plan.max_foreign,
            request_s=self._climb.request_s(arm.name) or self._request_s.get(arm.name),
        )

    async def _guarded(self, work: Coroutine[Any, Any, T]) -> T:
        return await guarded(work, self._stop_reason)

    def _stop_reason(self) -> str | None:
        if time.monotonic() > self._end_s:
            climb = self._climb
            return f"the budget of {self._plan.max_minutes:g} minutes ran out after {climb.done} of {climb.total} cells"
        return self._hooks.stop_requested()

    def _progress(self, phase: str, slot: CellSlot | None = None, note: str = "") -> None:
        self._hooks.on_progress(self._climb.done, self._climb.total, slot, phase, self._climb.eta_s, note)

    def _outcome(self, outcome: str, reason: str, code: int, crossover: Crossover | None = None) -> SweepOutcome:
        self._progress("done", note=reason)
        seen = self._seen
        return SweepOutcome(
            outcome=outcome,
            reason=reason,
            exit_code=code,
            cells=tuple(self._climb.cells),
            crossover=crossover,
            identities=seen.identities if seen else {},
            arm_k=seen.arm_k if seen else {},
            cache_config=seen.cache_config if seen else {},
            prompts_sha256=self._prompts.sha256,
        )
