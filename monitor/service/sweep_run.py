"""One sweep from lock to stored answer: the body of the sweep process, whoever started it.

Everything is written as it lands, so that a kill at any instant leaves finished cells and a sweep that the next process
marks as died.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from monitor.config.load import Loaded
from monitor.config.model import ProbeConfig
from monitor.config.targets import probe_of
from monitor.service.died import settle_dead_sweeps
from monitor.service.locks import noprobe_path
from monitor.store.db import Store
from monitor.store.intents import abort_requested, active_pause
from monitor.store.sweeps import add_cell, begin_sweep, end_sweep, record_refusal, set_progress
from monitor.values import SweepProgress
from probes.scrape.fingerprint import fingerprint
from probes.sweep.gate import GateInputs, GateLimits, GateVerdict, decide
from probes.sweep.observe import watch_arms
from probes.sweep.plan import CellSlot, SweepPlan
from probes.sweep.run import SweepHooks, SweepOutcome, run_sweep
from probes.values import Cell

EXIT_REFUSED = 3


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asked for this sweep and how."""

    trigger: str
    who: str
    intent: int | None = None
    now: bool = False
    """Skip the gate's window, load and KV limits; a pause and the noprobe file hold all the same."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the sweep process ended."""

    sweep_id: int
    exit_code: int
    outcome: str
    reason: str


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
    settle_dead_sweeps(store, time.time())
    endpoint, probe = probe_of(loaded.config, plan.endpoint)
    started_s = time.time()
    described = describe_plan(plan, caller)
    show(SweepProgress("gate", 0, 0, None, None, None, probe.quiet_s, "watching the arms for live load"))
    gate = await _gate(loaded, store, plan, probe, caller, interrupted)
    if not gate.allowed:
        reason = "; ".join(r.text for r in gate.reasons)
        sweep_id = record_refusal(
            store,
            pool=plan.pool,
            endpoint=plan.endpoint,
            at_s=started_s,
            trigger=caller.trigger,
            who=caller.who,
            pid=os.getpid(),
            host=socket.gethostname(),
            baseline=plan.baseline,
            live_arm=plan.live_arm,
            plan=described,
            reason=reason,
            exit_code=EXIT_REFUSED,
        )
        return Ended(sweep_id, EXIT_REFUSED, "refused", reason)
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
        plan=described,
    )

    def stop_requested() -> str | None:
        if noprobe_path(store.path).exists():
            return f"the file {noprobe_path(store.path)} forbids probing"
        return interrupted() or abort_requested(store, plan.pool, started_s)

    def progress(done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str) -> None:
        now = SweepProgress(
            phase=phase,
            done_cells=done,
            total_cells=total,
            arm=slot.arm if slot else None,
            rung=slot.rung if slot else None,
            repeat=slot.repeat if slot else None,
            eta_s=eta_s,
            note=note,
        )
        set_progress(store, sweep_id, now)
        show(now)

    def landed(cell: Cell) -> None:
        add_cell(store, sweep_id, cell)
        on_cell(cell)

    try:
        outcome = await run_sweep(plan, SweepHooks(on_cell=landed, on_progress=progress, stop_requested=stop_requested))
    except BaseException as error:
        end_sweep(
            store,
            sweep_id,
            ended_at_s=time.time(),
            outcome="failed",
            reason=f"{type(error).__name__}: {error}",
            exit_code=1,
            fingerprint="",
            result=None,
            arm_k={},
        )
        raise
    end_sweep(
        store,
        sweep_id,
        ended_at_s=time.time(),
        outcome=outcome.outcome,
        reason=outcome.reason,
        exit_code=outcome.exit_code,
        fingerprint=_fingerprint(outcome, plan, endpoint.hardware, endpoint.revision),
        result=outcome.crossover,
        arm_k=dict(outcome.arm_k),
        identities={name: asdict(identity) for name, identity in outcome.identities.items()},
    )
    return Ended(sweep_id, outcome.exit_code, outcome.outcome, outcome.reason)


async def _gate(
    loaded: Loaded,
    store: Store,
    plan: SweepPlan,
    probe: ProbeConfig,
    caller: Caller,
    interrupted: Callable[[], str | None],
) -> GateVerdict:
    paused = active_pause(store, time.time())
    noprobe = noprobe_path(store.path)
    standing = GateInputs(
        arms=(),
        paused_until_s=paused[0] if paused is not None else None,
        pause_reason=paused[1] if paused is not None else "",
        noprobe_file=str(noprobe) if noprobe.exists() else None,
    )
    free = GateLimits(max_live_concurrency=float("inf"), max_kv_usage=1.0, timezone=probe.timezone)
    at_once = decide(standing, free, time.time())
    if caller.now or not at_once.allowed:
        return at_once
    limits = GateLimits(
        max_live_concurrency=probe.max_live_concurrency,
        max_kv_usage=probe.max_kv_usage,
        window=probe.window,
        timezone=probe.timezone,
        quiet_s=probe.quiet_s,
    )
    closed = decide(standing, GateLimits(float("inf"), 1.0, probe.window, probe.timezone), time.time())
    if not closed.allowed:
        return closed
    watched = await watch_arms(plan, quiet_s=probe.quiet_s, limits=limits, stop_requested=interrupted)
    inputs = GateInputs(
        arms=watched.arms,
        watched_s=watched.watched_s,
        paused_until_s=standing.paused_until_s,
        pause_reason=standing.pause_reason,
        noprobe_file=standing.noprobe_file,
    )
    return decide(inputs, limits, time.time())


def describe_plan(plan: SweepPlan, caller: Caller) -> dict[str, object]:
    """What the store keeps of a plan; addresses, never headers."""
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
        "intent": caller.intent,
        "now": caller.now,
    }


def _fingerprint(outcome: SweepOutcome, plan: SweepPlan, hardware: str | None, revision: str | None) -> str:
    """The baseline's: the other arms were checked to be the same but for speculation."""
    identity = outcome.identities.get(plan.baseline)
    if identity is None or identity.model_root is None:
        return ""
    return fingerprint(identity, outcome.cache_configs.get(plan.baseline, {}), hardware, revision)
