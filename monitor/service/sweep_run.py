"""One sweep from lock to stored answer: the body of the sweep process, whoever started it.

Everything is written as it lands, so that a kill at any instant leaves finished cells and a sweep that the next process
marks as died and the next sweep goes on with.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace

from monitor import exit_codes
from monitor.config.load import Loaded
from monitor.config.model import EndpointConfig, ProbeConfig
from monitor.config.targets import probe_of
from monitor.service.budget import bounded, need_of
from monitor.service.died import settle_dead_sweeps
from monitor.service.refit import refitted
from monitor.service.restart_sweep import NotRestored, restart_arms
from monitor.service.restoring import restore_orphans
from monitor.service.resuming import Resumable, k_changed, resumable
from monitor.service.statuses import fingerprint_of
from monitor.service.sweep_gate import ask_gate, left_in, servers_of, standing
from monitor.service.sweep_hooks import StoreHooks
from monitor.store.db import Store
from monitor.store.intents import get_intent
from monitor.store.sweeps import (
    begin_sweep,
    end_sweep,
    load_cells,
    pool_sweeps,
    set_fingerprint,
    set_resumes,
)
from monitor.units import outcome_words
from monitor.values import GATE_PHASE, SweepProgress
from probes.answer_values import Crossover
from probes.scrape.fingerprint import fingerprint
from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.sweep.gate import GateVerdict
from probes.sweep.guard import Stopped, guarded
from probes.sweep.outcome import SweepOutcome
from probes.sweep.plan import ArmPlan, SweepPlan
from probes.sweep.resume import signature, usable
from probes.sweep.run import run_sweep
from probes.values import Cell, Reading, State

log = logging.getLogger(__name__)

LOOK_BACK = 50
"""Newest sweeps of the pool among which a broken-off one is looked for; refused tries of a night are among them."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asked for this sweep and how."""

    trigger: str
    who: str
    intent: int | None = None
    now: bool = False
    """Skip the gate's window, load and KV limits; a pause and the noprobe file hold all the same."""
    fresh: bool = False
    """Measure everything anew, even where a broken-off sweep could go on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the sweep process ended."""

    sweep_id: int
    exit_code: int


async def run_stored_sweep(
    loaded: Loaded,
    store: Store,
    plan: SweepPlan,
    caller: Caller,
    *,
    interrupted: Callable[[], str | None],
    show: Callable[[SweepProgress], None],
    on_cell: Callable[[Cell], None],
) -> Ended:
    """Gate, measure, estimate and store. The caller holds the pool's lock. `interrupted` gives a reason to stop."""
    settle_dead_sweeps(store, time.time(), besides=plan.pool)
    started_s = time.time()
    sweep_id = begin_sweep(
        store,
        pool=plan.pool,
        endpoint=plan.endpoint,
        started_at_s=started_s,
        trigger=caller.trigger,
        who=caller.who,
        pid=os.getpid(),
        host=socket.gethostname(),
        baseline=plan.baseline,
        live_arm=plan.live_arm,
        plan=describe_plan(plan, caller),
    )
    hooks = StoreHooks(
        store=store,
        sweep_id=sweep_id,
        pool=plan.pool,
        asked_s=_asked_at_s(store, caller, started_s),
        interrupted=interrupted,
        owned=caller.trigger != "command",
        show=show,
        show_cell=on_cell,
    )
    sweep = _Sweep(loaded, store, plan, caller, sweep_id, hooks)
    try:
        outcome, ended_by = await sweep.run()
    except Stopped as stop:
        outcome, ended_by = SweepOutcome("aborted", str(stop), exit_codes.ABORTED, cause="stop"), hooks.stopped_by
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
        # A second Ctrl-C or SIGTERM: what is measured can be gone on with all the same.
        why = interrupted() or "its process was told to end"
        cut = SweepOutcome("aborted", f"{why}, at once", exit_codes.ABORTED, cause="stop", resumable=True)
        sweep.end(cut, hooks.stopped_by or "stop")
        raise
    except BaseException as error:
        sweep.end(SweepOutcome("failed", f"{type(error).__name__}: {error}", exit_codes.FAILED), "")
        raise
    sweep.end(outcome, ended_by)
    return Ended(sweep_id, outcome.exit_code)


class _Sweep:
    """One sweep on its way from the gate to its stored end."""

    def __init__(
        self, loaded: Loaded, store: Store, plan: SweepPlan, caller: Caller, sweep_id: int, hooks: StoreHooks
    ) -> None:
        self._loaded, self._store, self._plan, self._caller = loaded, store, plan, caller
        self._id, self._hooks = sweep_id, hooks
        self._endpoint: EndpointConfig
        self._probe: ProbeConfig
        self._endpoint, self._probe = probe_of(loaded.config, plan.endpoint)

    async def run(self) -> tuple[SweepOutcome, str]:
        """The outcome, and in a word why it ended. Raises Stopped while the gate watches."""
        now = self._caller.now
        if left_in(self._loaded.config, self._store, self._plan.pool):
            self._hooks.tell("restore", "an earlier sweep left a server in one of its arms; that is put back first")
            await guarded(restore_orphans(self._loaded, time.time()), self._hooks.stop_requested)
        verdict = standing(self._loaded, self._store, self._plan, self._probe, now=now)
        if not verdict.allowed:
            return _refused(verdict)
        self._hooks.tell(GATE_PHASE, "looking at the servers; none of our load is on them yet")
        broken = await guarded(self._broken_off(), self._hooks.stop_requested)
        self._say_gate(broken)
        used = broken.sweep.tally.get("tokens") if broken is not None else None
        need = need_of(
            self._plan,
            self._probe,
            broken.cells if broken is not None else (),
            used if isinstance(used, int) else 0,
        )
        verdict = await ask_gate(
            self._loaded, self._store, self._plan, self._probe, need, self._hooks.stop_requested, now=now
        )
        if not verdict.allowed:
            return _refused(verdict)
        if broken is not None:
            set_resumes(self._store, self._id, broken.sweep.id, broken.cells)
        outcome = await self._measure(broken.cells if broken is not None else ())
        return outcome, self._hooks.stopped_by if outcome.cause == "stop" else outcome.cause

    async def _measure(self, cells: tuple[Cell, ...]) -> SweepOutcome:
        """Between bringing arms up and putting the server back, where arms are restarted."""
        plan = bounded(self._plan, self._probe, time.time(), now=self._caller.now)
        scrape = self._loaded.config.scrape
        timeout_s, max_bytes = scrape.timeout_s, scrape.max_page_bytes
        if not plan.restarts:
            return await run_sweep(plan, self._hooks, timeout_s=timeout_s, max_bytes=max_bytes, resume=cells)
        outcome: SweepOutcome | None = None
        try:
            async with restart_arms(
                self._loaded, self._store, plan, self._probe, self._id, self._hooks.tell
            ) as bring_up:
                outcome = await run_sweep(
                    plan, self._hooks, timeout_s=timeout_s, max_bytes=max_bytes, bring_up=bring_up, resume=cells
                )
        except NotRestored as left:
            return not_restored(outcome, str(left))
        return outcome

    async def _broken_off(self) -> Resumable | None:
        """What can be gone on with; also says which servers this sweep is about to load."""
        print_ = await self._served()
        if print_ is None:
            return None
        set_fingerprint(self._store, self._id, print_)
        within_s = 3600 * self._probe.resume_hours
        if self._caller.fresh or within_s <= 0:
            return None
        found = resumable(
            pool_sweeps(self._store, self._plan.pool, LOOK_BACK),
            lambda sweep_id: usable(self._plan, load_cells(self._store, sweep_id)),
            signature=signature(self._plan),
            fingerprint=print_,
            now_s=time.time(),
            within_s=within_s,
        )
        return None if found is None or k_changed(found.cells, await self._k_now()) else found

    async def _k_now(self) -> dict[str, int | None]:
        """K of every arm that runs now; what a restart will bring up is said by the plan."""
        if self._plan.restarts:
            return {}
        readings = await asyncio.gather(*(self._read(arm) for arm in self._plan.arms))
        return {arm.name: reading.k for arm, reading in zip(self._plan.arms, readings, strict=True)}

    async def _read(self, arm: ArmPlan) -> Reading:
        scrape = self._loaded.config.scrape
        async with aclosing(
            Scraper(arm.target, timeout_s=scrape.timeout_s, max_bytes=scrape.max_page_bytes)
        ) as scraper:
            return await scraper.read()

    async def _served(self) -> str | None:
        """The fingerprint of the baseline's server as it is now; None where it does not say enough."""
        arms = servers_of(self._plan)
        arm = next((a for a in arms if a.name == self._plan.baseline), arms[0])
        reading = await self._read(arm)
        if reading.state is not State.OK:
            return None
        identity = await identify(arm.target, timeout_s=self._loaded.config.scrape.timeout_s)
        return fingerprint_of(self._endpoint, identity, reading)

    def _say_gate(self, broken: Resumable | None) -> None:
        note = "watching every arm for live load before any of ours"
        if broken is not None:
            note += f"; goes on with sweep {broken.sweep.id}, {len(broken.cells)} cells of which still count"
        self._hooks.on_progress(0, 0, None, GATE_PHASE, self._probe.quiet_s, note)

    def end(self, outcome: SweepOutcome, ended_by: str) -> None:
        """Write the end, the answer where there is one, and what was used up."""
        tally: dict[str, object] = {
            "tokens": outcome.tokens,
            "backoffs": outcome.backoffs,
            "refined_cells": outcome.refined_cells,
            "starts": outcome.starts,
            "resumable": outcome.resumable,
        }
        print_ = self._fingerprint(outcome)
        end_sweep(
            self._store,
            self._id,
            ended_at_s=time.time(),
            outcome=outcome.outcome,
            reason=outcome.reason,
            exit_code=outcome.exit_code,
            fingerprint=print_,
            result=self._result(outcome, print_),
            arm_k=outcome.arm_k,
            identities={name: asdict(identity) for name, identity in outcome.identities.items()},
            ended_by=ended_by,
            tally=tally,
        )

    def _result(self, outcome: SweepOutcome, print_: str) -> Crossover | None:
        """The answer, its step-time model fitted over earlier sweeps of other mixes too."""
        if outcome.crossover is None:
            return None
        try:
            return refitted(self._store, self._plan.pool, print_, outcome.crossover, outcome.cells)
        except Exception:
            # What was measured is not lost to a better model of it.
            log.exception("event=refit_failed pool=%s", self._plan.pool)
            return outcome.crossover

    def _fingerprint(self, outcome: SweepOutcome) -> str:
        """The baseline's: the other arms were checked to be the same but for speculation."""
        baseline = self._plan.baseline
        identity = outcome.identities.get(baseline)
        if identity is None or identity.model_root is None:
            return ""
        cache = outcome.cache_config.get(baseline, {})
        return fingerprint(identity, cache, self._endpoint.hardware, self._endpoint.revision)


def not_restored(outcome: SweepOutcome | None, reason: str) -> SweepOutcome:
    """What a sweep measured stays measured, but the server that it left behind is what matters."""
    if outcome is None:
        return SweepOutcome("not_restored", reason, exit_codes.NOT_RESTORED)
    before = outcome_words(outcome.outcome) + (f": {outcome.reason}" if outcome.reason else "")
    return replace(
        outcome,
        outcome="not_restored",
        reason=f"{reason}. The sweep itself ended as {before}",
        exit_code=exit_codes.NOT_RESTORED,
        cause="",
    )


def _refused(verdict: GateVerdict) -> tuple[SweepOutcome, str]:
    reason = "; ".join(r.text for r in verdict.reasons)
    return SweepOutcome("refused", reason, exit_codes.REFUSED), ",".join(r.code for r in verdict.reasons)


def _asked_at_s(store: Store, caller: Caller, started_s: float) -> float:
    """A sweep that was handed over may be called off before its process has begun."""
    intent = get_intent(store, caller.intent) if caller.intent is not None else None
    return started_s if intent is None else min(intent.created_at_s, started_s)


def describe_plan(plan: SweepPlan, caller: Caller) -> dict[str, object]:
    """What the store keeps of a plan; addresses, never headers and never commands."""
    return {
        "arms": [
            {"name": a.name, "url": a.target.url, "speculative": a.speculative, "hardware": a.hardware}
            for a in plan.arms
        ],
        "ladder": list(plan.ladder),
        "repeats": plan.repeats,
        "cell_s": plan.cell_s,
        "warmup_s": plan.warmup_s,
        "load": asdict(plan.load),
        "restarts": plan.restarts,
        "signature": signature(plan),
        "intent": caller.intent,
        "now": caller.now,
    }
