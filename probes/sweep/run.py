"""Runs one sweep from preflight to crossover; it restarts servers only through the caller's hand and stores nothing.

Everything leaves through the hooks and the outcome. One arm is loaded at a time.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from probes.answer_values import Crossover
from probes.crossover import completed
from probes.load.prompts import PromptSet, load_prompts
from probes.sweep.answer import Refining, answer, finished
from probes.sweep.backoff import until_quiet
from probes.sweep.budget import Budget, cell_tokens, tokens_upper
from probes.sweep.climb import Climb, disturbed
from probes.sweep.guard import Stopped, guarded
from probes.sweep.limits import ttft_note
from probes.sweep.outcome import ABORTED, MEASURED, MISMATCH, BringUp, SweepHooks, SweepOutcome
from probes.sweep.plan import CellSlot, SweepPlan
from probes.sweep.preflight import ArmMismatch
from probes.sweep.refine import cells_left, next_round, refined
from probes.sweep.resume import signature, usable
from probes.sweep.stage import Stage
from probes.sweep.watch import SETTLE_S, ForeignTraffic
from probes.values import Cell

T = TypeVar("T")
SCRAPE_TIMEOUT_S = 4.0
MAX_PAGE_BYTES = 16 * 1024 * 1024
REDO_MAX = 3
"""Times that one cell, or an arm's warm-up, gives way to others; traffic that comes back each time will not pass."""


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
            f"the arms of {plan.endpoint} are brought up by restarts, and nothing was given to restart with"
        )
    prompts = load_prompts(plan.load.prompts)
    stage = Stage(plan, prompts, bring_up, timeout_s=timeout_s, max_bytes=max_bytes)
    return await _Sweep(plan, hooks, prompts, stage, usable(plan, resume)).run()


class _Spent(Stopped):
    """Minutes or tokens are spent; only new minutes come with another night."""

    def __init__(self, reason: str, *, resumable: bool) -> None:
        super().__init__(reason)
        self.resumable = resumable


class _Outage(Stopped):
    """An arm that was measured is away; the sweep can go on once it is back."""


class _Sweep:
    """One sweep's moving parts: the score, the stage and the budget."""

    def __init__(
        self, plan: SweepPlan, hooks: SweepHooks, prompts: PromptSet, stage: Stage, resumed: Sequence[Cell]
    ) -> None:
        self._plan, self._hooks, self._prompts, self._stage = plan, hooks, prompts, stage
        self._climb = Climb(plan, resumed)
        self._budget = Budget(plan, time.monotonic(), resumed)
        self._first_start = 1 + max((cell.start for cell in resumed if cell.start is not None), default=-1)
        self._starts = 0
        self._up: int | None = None
        self._warm: set[str] = set()
        self._phase = "cells"
        self._backoffs = 0
        self._redone: dict[CellSlot | str, int] = {}
        self._ladder_done = False
        self._refining = Refining()

    async def run(self) -> SweepOutcome:
        try:
            return await self._run()
        finally:
            await self._stage.aclose()

    async def _run(self) -> SweepOutcome:
        reason = ""
        try:
            self._progress("preflight")
            await self._guarded(self._stage.open())
            await self._warm_all()
            await self._measure()
            self._ladder_done = True
            await self._refine()
        except (ArmMismatch, Stopped, ForeignTraffic) as end:
            reason = await self._with_rest(end)
            if not self._ladder_done:
                return self._broken_off(end, reason)
            self._refining = replace(self._refining, stopped=str(end))
            reason = f"the ladder is measured, refining it was broken off: {reason}"
        if problem := self._climb.no_answer():
            return self._outcome("failed", problem, MISMATCH)
        self._progress("estimate")
        seen = self._stage.seen
        dynamic = [arm.name for arm in self._plan.arms if arm.dynamic]
        found = completed(self._answer(), self._climb.cells, seen.arm_k if seen else {}, dynamic)
        found = finished(self._plan, found, self._climb.cells, self._refining)
        return self._outcome("measured", reason, MEASURED, found)

    def _broken_off(self, end: Exception, reason: str) -> SweepOutcome:
        if isinstance(end, ArmMismatch):
            return self._outcome("arm_mismatch", reason, MISMATCH)
        outcome = self._outcome("aborted", reason, ABORTED)
        if isinstance(end, _Spent):
            return replace(outcome, cause="budget", resumable=end.resumable)
        known = "outage" if isinstance(end, _Outage) else "stop"
        return replace(outcome, cause="traffic" if isinstance(end, ForeignTraffic) else known, resumable=True)

    async def _with_rest(self, end: Exception) -> str:
        """Why it ended, and whether the server went on running what we had asked of it."""
        foreign = end.foreign if isinstance(end, ForeignTraffic) else 0.0
        left = await self._stage.see_settled(max(foreign, self._plan.max_foreign))
        return str(end) if left is None else f"{end}; {left}"

    async def _warm_all(self) -> None:
        """Arms at addresses of their own are warmed before the first cell; restarted ones after each start."""
        slot = self._climb.next()
        if slot is None or self._plan.restarts:
            return
        self._afford((slot,))
        for arm in self._plan.arms:
            while self._climb.waits_for(arm.name) and arm.name not in self._warm:
                try:
                    await self._make_warm(arm.name)
                except ForeignTraffic as seen:
                    await self._back_off(None, seen)

    async def _make_warm(self, arm: str) -> None:
        if arm in self._warm:
            return
        if self._plan.warmup_s > 0:
            self._progress("warmup", note=f"arm {arm}")
            try:
                await self._guarded(self._stage.warm(self._stage.arms[arm]))
            finally:
                self._budget.spend(self._stage.take_tokens())
        self._warm.add(arm)

    async def _measure(self) -> None:
        while (slot := self._climb.next()) is not None:
            self._afford((slot,))
            try:
                await self._get_ready(slot)
                cell, took_s = await self._cell(slot)
            except ForeignTraffic as seen:
                await self._back_off(slot, seen)
                continue
            self._climb.finish(cell, took_s)
            self._hooks.on_cell(cell)
            if away := self._climb.outage():
                raise _Outage(away)
            if problem := self._climb.hopeless():
                raise ArmMismatch(problem)
            others = disturbed(cell)
            if others is not None and self._plan.backoff_s > 0:
                self._climb.again(slot)
                await self._back_off(slot, ForeignTraffic(f"arm {slot.arm}: {others}", slot.arm, 0.0))

    async def _get_ready(self, slot: CellSlot) -> None:
        """Bring the arm up where its cells need a start of their own, and warm it."""
        if slot.start is not None and slot.start != self._up:
            self._up = None
            self._warm.discard(slot.arm)
            self._progress("restart", slot, f"arm {slot.arm}, start {self._starts + 1} of this sweep")
            began_s = time.monotonic()
            await self._guarded(self._stage.start(self._stage.arms[slot.arm]))
            self._climb.started(time.monotonic() - began_s + self._plan.warmup_s)
            self._starts += 1
            self._up = slot.start
        await self._make_warm(slot.arm)

    def _afford(self, slots: Sequence[CellSlot]) -> None:
        if problem := self._budget.out_of_tokens(self._climb.cells, slots):
            raise _Spent(problem, resumable=False)

    async def _cell(self, slot: CellSlot) -> tuple[Cell, float]:
        self._progress(self._phase, slot)
        began_s = time.monotonic()
        spent = tokens_upper(self._plan, self._climb.cells, slot)
        try:
            request_s = self._climb.request_s(slot.arm, slot.rung)
            cell = await self._guarded(self._stage.measure(slot, request_s))
            spent = cell_tokens(self._plan, cell)
        finally:
            # Nobody counted what a cell that broke off made, so it counts for the most it can have been.
            self._budget.spend(spent)
        start = None if slot.start is None else self._first_start + self._starts - 1
        late = ttft_note(cell, self._plan.max_ttft_s)
        notes = cell.notes if late is None else (*cell.notes, late)
        return replace(cell, start=start, notes=notes), time.monotonic() - began_s

    async def _back_off(self, slot: CellSlot | None, seen: ForeignTraffic) -> None:
        """Give way and wait until every arm has been left alone. Raises ForeignTraffic where that does not come."""
        if self._plan.backoff_s <= 0:
            raise seen
        what = seen.arm if slot is None else slot
        self._redone[what] = self._redone.get(what, 0) + 1
        if self._redone[what] > REDO_MAX:
            raise ForeignTraffic(f"{seen}; it came back each of {REDO_MAX} times", seen.arm, seen.foreign)
        self._backoffs += 1
        now_s = time.monotonic()
        until_s = min(now_s + self._plan.backoff_s, self._budget.end_s)
        clock = datetime.now(UTC).astimezone() + timedelta(seconds=until_s - now_s)
        wait = f"waiting for {self._plan.quiet_s:g} s of quiet, until {clock:%H:%M %Z} at the latest"
        self._progress("backoff", slot, f"{seen}; all streams are closed, {wait}")
        wait_for = until_quiet(
            self._stage.scrapers, max_foreign=self._plan.max_foreign, quiet_s=self._plan.quiet_s, until_s=until_s
        )
        try:
            quiet = await self._guarded(wait_for)
        finally:
            if time.monotonic() - now_s >= SETTLE_S:
                self._stage.let_go()
        if not quiet:
            waited = f"it did not stay quiet for {self._plan.quiet_s:g} s within {(until_s - now_s) / 60:.3g} minutes"
            raise ForeignTraffic(f"{seen}; {waited}", seen.arm, seen.foreign)

    async def _refine(self) -> None:
        if self._plan.refine_octaves <= 0 or self._climb.no_answer():
            return
        self._phase = "refine"
        self._refining = Refining(before=self._answer())
        while True:
            cells, found = self._climb.cells, self._answer()
            round_ = next_round(self._plan, cells, found, self._climb.next_order, self._climb.next_start)
            if round_ is None:
                return
            if stopped := self._no_room_for(round_.slots):
                self._refining = replace(self._refining, stopped=stopped)
                return
            self._climb.add(round_.slots)
            await self._measure()

    def _no_room_for(self, slots: Sequence[CellSlot]) -> str | None:
        left = cells_left(self._plan, self._climb.cells)
        if len(slots) > left:
            return "refinement adds no more cells than the ladder had"
        needed_s = self._climb.seconds_for(slots)
        late = None if needed_s is None else self._budget.too_short_for(needed_s, time.monotonic())
        return late or self._budget.out_of_tokens(self._climb.cells, slots)

    def _answer(self) -> Crossover:
        return answer(self._plan, self._climb.cells, self._climb.tops)

    async def _guarded(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await guarded(work, self._stop_reason)
        except Stopped as stop:
            if self._budget.out_of_time(time.monotonic()):
                raise _Spent(str(stop), resumable=True) from None
            raise

    def _stop_reason(self) -> str | None:
        if late := self._budget.out_of_time(time.monotonic()):
            climb = self._climb
            return f"{late} after {climb.done} of {climb.total} cells"
        return self._hooks.stop_requested()

    def _progress(self, phase: str, slot: CellSlot | None = None, note: str = "") -> None:
        # A round of refinement is known when it begins, how many there will be is not.
        eta_s = self._climb.eta_s if self._refining.before is None else None
        self._hooks.on_progress(self._climb.done, self._climb.total, slot, phase, eta_s, note)

    def _outcome(self, outcome: str, reason: str, code: int, crossover: Crossover | None = None) -> SweepOutcome:
        self._progress("done", note=reason)
        seen = self._stage.seen
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
            tokens=self._budget.tokens,
            backoffs=self._backoffs,
            refined_cells=len(refined(self._plan, self._climb.cells)),
            starts=self._starts,
            signature=signature(self._plan),
        )
