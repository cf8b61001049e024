"""Asks the gate for one sweep: gathers what stands against it, watches every arm, and decides twice.

Only reads. The second decision is there because somebody may have paused sweeps while the arms were watched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from monitor.config.load import Loaded
from monitor.config.model import Config, ProbeConfig
from monitor.config.targets import pool_of
from monitor.service.budget import limits_of
from monitor.service.locks import noprobe_path
from monitor.service.restoring import Restoring, journals_left
from monitor.store.alerts import load_alert_states
from monitor.store.db import Store
from monitor.store.intents import active_pause
from monitor.values import AlertPhase
from probes.sweep.gate import ArmLoad, GateInputs, GateVerdict, Need, decide
from probes.sweep.observe import observe
from probes.sweep.plan import ArmPlan, SweepPlan


def standing(loaded: Loaded, store: Store, plan: SweepPlan, probe: ProbeConfig, *, now: bool) -> GateVerdict:
    """What stands against a sweep whatever it needs and whoever uses the servers: pause, file, alert, hour."""
    return decide(_inputs(loaded.config, store, plan, now=now), limits_of(probe, now=now), time.time())


async def ask_gate(
    loaded: Loaded,
    store: Store,
    plan: SweepPlan,
    probe: ProbeConfig,
    need: Need,
    stop_requested: Callable[[], str | None],
    *,
    now: bool,
) -> GateVerdict:
    """The gate's answer after `quiet_s` of watching; at once with `now`, and where the budget is too small anyhow.

    Raises Stopped.
    """
    limits = limits_of(probe, now=now)
    watch_s = 0.0 if now else probe.quiet_s
    whole = replace(need, seconds=need.seconds + watch_s)
    at_once = decide(replace(_inputs(loaded.config, store, plan, now=now), need=whole), limits, time.time())
    if now or not at_once.allowed:
        return at_once
    scrape = loaded.config.scrape
    arms = await observe(
        servers_of(plan),
        probe.quiet_s,
        timeout_s=scrape.timeout_s,
        max_bytes=scrape.max_page_bytes,
        stop_requested=stop_requested,
    )
    inputs = _inputs(loaded.config, store, plan, now=now, arms=arms)
    return decide(replace(inputs, need=need), limits, time.time())


def servers_of(plan: SweepPlan) -> tuple[ArmPlan, ...]:
    """One arm for each address; of arms that share one server by restarts, the live arm, which runs there now."""
    first: dict[tuple[str, str | None], ArmPlan] = {}
    for arm in plan.arms:
        key = (arm.target.url, arm.target.metrics_url)
        if key not in first or (arm.restart is not None and arm.name == plan.live_arm):
            first[key] = arm
    return tuple(first.values())


def firing_in(config: Config, store: Store, pool: str) -> tuple[str, ...]:
    """Endpoints of the pool on which an alert fires."""
    names = {e.name for e in config.endpoint if pool_of(e) == pool}
    states = load_alert_states(store).values()
    return tuple(sorted({s.endpoint for s in states if s.phase is AlertPhase.FIRING and s.endpoint in names}))


def left_in(config: Config, store: Store, pool: str) -> tuple[str, ...]:
    """Endpoints of the pool whose restart journal is still there, whoever holds it."""
    names = {e.name for e in config.endpoint if pool_of(e) == pool}
    left = [one for one in journals_left(store.path) if one.state is not Restoring.RESTORED]
    return tuple(sorted({one.endpoint for one in left if one.endpoint in names}))


def _inputs(config: Config, store: Store, plan: SweepPlan, *, now: bool, arms: tuple[ArmLoad, ...] = ()) -> GateInputs:
    paused = active_pause(store, time.time())
    noprobe = noprobe_path(store.path)
    return GateInputs(
        arms=arms,
        paused_until_s=paused[0] if paused is not None else None,
        pause_reason=paused[1] if paused is not None else "",
        noprobe_file=str(noprobe) if noprobe.exists() else None,
        firing=() if now else firing_in(config, store, plan.pool),
        not_restored=left_in(config, store, plan.pool),
    )
