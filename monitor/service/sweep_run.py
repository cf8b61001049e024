"""One sweep from lock to stored answer: the body of the sweep process, whoever started it.

Everything is written as it lands, so that a kill at any instant leaves finished cells and a sweep that the next process
marks as died.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from monitor import exit_codes
from monitor.config.load import Loaded
from monitor.config.model import Config, ProbeConfig
from monitor.config.targets import pool_of, probe_of
from monitor.service.died import settle_dead_sweeps
from monitor.service.locks import noprobe_path
from monitor.store.alerts import load_alert_states
from monitor.store.db import Store
from monitor.store.intents import abort_requested, active_pause, get_intent
from monitor.store.sweeps import add_cell, begin_sweep, end_sweep, set_progress
from monitor.values import GATE_PHASE, AlertPhase, SweepProgress
from probes.scrape.fingerprint import fingerprint
from probes.sweep.gate import GateInputs, GateLimits, GateVerdict, decide
from probes.sweep.guard import Stopped
from probes.sweep.hours import window_left_s
from probes.sweep.observe import observe
from probes.sweep.outcome import SweepOutcome
from probes.sweep.plan import CellSlot, SweepPlan
from probes.sweep.run import run_sweep
from probes.values import Cell


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
    endpoint, probe = probe_of(loaded.config, plan.endpoint)
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
    hooks = _Hooks(store, sweep_id, plan.pool, _asked_at_s(store, caller, started_s), interrupted, show, on_cell)
    try:
        hooks.on_progress(0, 0, None, GATE_PHASE, probe.quiet_s, "watching every arm for live load before any of ours")
        gate = await _gate(loaded, store, plan, probe, caller, hooks.stop_requested)
        if not gate.allowed:
            reason = "; ".join(r.text for r in gate.reasons)
            outcome = SweepOutcome("refused", reason, exit_codes.REFUSED)
        else:
            scrape = loaded.config.scrape
            max_bytes = scrape.max_page_bytes
            bounded = within_window(plan, probe, caller, time.time())
            outcome = await run_sweep(bounded, hooks, timeout_s=scrape.timeout_s, max_bytes=max_bytes)
    except Stopped as stop:
        outcome = SweepOutcome("aborted", str(stop), exit_codes.ABORTED)
    except BaseException as error:
        _end(store, sweep_id, SweepOutcome("failed", f"{type(error).__name__}: {error}", exit_codes.FAILED), "")
        raise
    _end(store, sweep_id, outcome, _fingerprint(outcome, plan, endpoint.hardware, endpoint.revision))
    return Ended(sweep_id, outcome.exit_code)


def _end(store: Store, sweep_id: int, outcome: SweepOutcome, print_: str) -> None:
    end_sweep(
        store,
        sweep_id,
        ended_at_s=time.time(),
        outcome=outcome.outcome,
        reason=outcome.reason,
        exit_code=outcome.exit_code,
        fingerprint=print_,
        result=outcome.crossover,
        arm_k=outcome.arm_k,
        identities={name: asdict(identity) for name, identity in outcome.identities.items()},
    )


@dataclass(frozen=True, slots=True)
class _Hooks:
    """Writes what the sweep tells, and passes on who wants it to stop."""

    store: Store
    sweep_id: int
    pool: str
    asked_s: float
    """An abort from then on is meant for this sweep."""
    interrupted: Callable[[], str | None]
    show: Callable[[SweepProgress], None]
    show_cell: Callable[[Cell], None]

    def on_cell(self, cell: Cell) -> None:
        add_cell(self.store, self.sweep_id, cell)
        self.show_cell(cell)

    def on_progress(
        self, done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str
    ) -> None:
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
        set_progress(self.store, self.sweep_id, now)
        self.show(now)

    def stop_requested(self) -> str | None:
        noprobe = noprobe_path(self.store.path)
        if noprobe.exists():
            return f"the file {noprobe} forbids probing"
        return self.interrupted() or abort_requested(self.store, self.pool, self.asked_s)


def _asked_at_s(store: Store, caller: Caller, started_s: float) -> float:
    """A sweep that was handed over may be called off before its process has begun."""
    intent = get_intent(store, caller.intent) if caller.intent is not None else None
    return started_s if intent is None else min(intent.created_at_s, started_s)


async def _gate(
    loaded: Loaded,
    store: Store,
    plan: SweepPlan,
    probe: ProbeConfig,
    caller: Caller,
    stop_requested: Callable[[], str | None],
) -> GateVerdict:
    """What stands against it at once (pause, file, window) is not worth watching the arms for."""
    standing = _standing(loaded.config, store, plan, caller)
    limits = GateLimits(
        max_live_concurrency=probe.max_live_concurrency,
        max_kv_usage=probe.max_kv_usage,
        window=None if caller.now else probe.window,
        timezone=probe.timezone,
    )
    at_once = decide(standing, limits, time.time())
    if caller.now or not at_once.allowed:
        return at_once
    scrape = loaded.config.scrape
    arms = await observe(
        plan.arms,
        probe.quiet_s,
        timeout_s=scrape.timeout_s,
        max_bytes=scrape.max_page_bytes,
        stop_requested=stop_requested,
    )
    # Looked at again: somebody may have paused sweeps while the arms were watched.
    return decide(replace(_standing(loaded.config, store, plan, caller), arms=arms), limits, time.time())


def _standing(config: Config, store: Store, plan: SweepPlan, caller: Caller) -> GateInputs:
    paused = active_pause(store, time.time())
    noprobe = noprobe_path(store.path)
    return GateInputs(
        arms=(),
        paused_until_s=paused[0] if paused is not None else None,
        pause_reason=paused[1] if paused is not None else "",
        noprobe_file=str(noprobe) if noprobe.exists() else None,
        firing=() if caller.now else firing_in(config, store, plan.pool),
    )


def within_window(plan: SweepPlan, probe: ProbeConfig, caller: Caller, now_s: float) -> SweepPlan:
    """The same plan, its budget cut to what is left of the window; `--now` knows no window."""
    if caller.now or probe.window is None:
        return plan
    left_minutes = window_left_s(probe.window, probe.timezone, now_s) / 60
    return replace(plan, max_minutes=min(plan.max_minutes, left_minutes))


def firing_in(config: Config, store: Store, pool: str) -> tuple[str, ...]:
    """Endpoints of the pool on which an alert fires."""
    names = {e.name for e in config.endpoint if pool_of(e) == pool}
    states = load_alert_states(store).values()
    return tuple(sorted(s.endpoint for s in states if s.phase is AlertPhase.FIRING and s.endpoint in names))


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
    return fingerprint(identity, outcome.cache_config.get(plan.baseline, {}), hardware, revision)
