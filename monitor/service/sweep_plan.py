"""Turns config and the store's history into a sweep's plan; reads secrets and the store, sends nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from monitor.config.errors import ArgumentError, ConfigError, Problem
from monitor.config.ladder import resolve_ladder
from monitor.config.load import Loaded
from monitor.config.model import ArmConfig, EndpointConfig, ProbeConfig
from monitor.config.targets import arm_target, parse_duration, pool_of, probe_of
from monitor.service.baseline_history import with_history
from monitor.service.live_shape import UNKNOWN_TRAFFIC, live_traffic, settled_traffic
from monitor.service.start_time import last_start_s
from monitor.store.db import Store
from monitor.store.readings import live_loads
from monitor.store.sweeps import pool_sweeps
from probes.load.prompts import BUILTIN, PromptFileError, load_prompts
from probes.sweep.plan import ArmPlan, LoadSpec, SweepPlan

PEAK_QUANTILE = 0.999


def plan_for(loaded: Loaded, subject: str, only: Sequence[str], store: Store | None) -> SweepPlan:
    """The plan of one pool's sweep; `only` names arms to keep, the baseline always stays. Raises ConfigError."""
    endpoint, probe = probe_of(loaded.config, subject)
    arms = _chosen(loaded.path, endpoint, probe, only)
    peak = peak_concurrency(loaded, endpoint, store) if probe.ladder == "auto" else None
    try:
        plan = SweepPlan(
            pool=pool_of(endpoint),
            endpoint=endpoint.name,
            baseline=probe.baseline,
            live_arm=probe.live_arm,
            arms=tuple(_arm(endpoint, probe.baseline, arm) for arm in arms),
            ladder=resolve_ladder(probe, peak, None),
            repeats=probe.repeats,
            cell_s=probe.cell_s,
            warmup_s=probe.warmup_s,
            load=_load(loaded, endpoint, probe, store),
            max_foreign=probe.max_live_concurrency,
            max_minutes=probe.max_minutes,
            refine_octaves=probe.refine_octaves,
            max_ttft_s=probe.max_ttft_s,
            max_total_tokens=probe.max_total_tokens,
            backoff_s=60 * probe.backoff_minutes,
            quiet_s=probe.quiet_s,
            workers=None if probe.workers == "auto" else probe.workers,
        )
    except ValueError as error:
        raise _error(
            loaded.path, f'endpoint "{endpoint.name}".probe', str(error), "mend the plan in the config"
        ) from None
    start_s = last_start_s(store, plan.pool) if plan.restarts else None
    return replace(with_history(store, plan), start_s=start_s)


def _arm(endpoint: EndpointConfig, baseline: str, arm: ArmConfig) -> ArmPlan:
    return ArmPlan(
        name=arm.name,
        target=arm_target(endpoint, arm),
        speculative=arm.speculation if arm.speculation is not None else arm.name != baseline,
        hardware=arm.hardware or endpoint.hardware,
        restart=arm.restart,
        dynamic=arm.dynamic,
    )


def _load(loaded: Loaded, endpoint: EndpointConfig, probe: ProbeConfig, store: Store | None) -> LoadSpec:
    """Lengths and shared prefixes follow the endpoint's own traffic where the config lets them and history shows it."""
    imitates = probe.shape == "live" or (probe.shape == "auto" and probe.prompts == BUILTIN)
    traffic = UNKNOWN_TRAFFIC
    if store is not None and (imitates or probe.prefix_hit_ratio == "live"):
        now = live_traffic(store, endpoint.name, _since_s(loaded))
        traffic = settled_traffic(now, _last_load(store, pool_of(endpoint)))
    ratio = traffic.prefix_hit_ratio if probe.prefix_hit_ratio == "live" else probe.prefix_hit_ratio
    return LoadSpec(
        prompts=probe.prompts,
        max_tokens=probe.max_tokens,
        temperature=probe.temperature,
        top_p=probe.top_p,
        seed=probe.seed,
        shape=traffic.shape if imitates else None,
        prefix_hit_target=ratio or 0.0,
        prompts_sha256=_sha256(probe.prompts),
    )


def _sha256(prompts: str) -> str:
    """Empty where they cannot be read, which the sweep says itself."""
    try:
        return load_prompts(prompts).sha256
    except PromptFileError:
        return ""


def _last_load(store: Store, pool: str) -> object:
    """The load of the pool's newest sweep that ran here, whatever came of it."""
    return next((sweep.plan.get("load") for sweep in pool_sweeps(store, pool, 1)), None)


def _chosen(path: Path, endpoint: EndpointConfig, probe: ProbeConfig, only: Sequence[str]) -> list[ArmConfig]:
    known = [arm.name for arm in endpoint.arm]
    for name in only:
        if name not in known:
            raise _asked(path, f"--arm {name}", f"is no arm of {endpoint.name}", f"known: {', '.join(known)}")
    chosen = [arm for arm in endpoint.arm if not only or arm.name in only or arm.name == probe.baseline]
    if only and len(chosen) < 2 <= len(known):
        others = ", ".join(name for name in known if name != probe.baseline)
        raise _asked(
            path, f"--arm {probe.baseline}", "leaves nothing to compare the baseline with", f"add one of {others}"
        )
    return chosen


def peak_concurrency(loaded: Loaded, endpoint: EndpointConfig, store: Store | None) -> float | None:
    """p99.9 of the endpoint's stored requests in the system (whole endpoint, sweeps excluded); None without history."""
    if store is None:
        return None
    loads = sorted(live_loads(store, endpoint.name, _since_s(loaded)))
    if not loads:
        return None
    return loads[min(len(loads) - 1, math.floor(PEAK_QUANTILE * len(loads)))]


def _since_s(loaded: Loaded) -> float:
    """Where the kept history begins."""
    return time.time() - parse_duration(loaded.config.store.keep_readings)


def _error(path: Path, key: str, message: str, cure: str) -> ConfigError:
    return ConfigError((Problem(file=str(path), key=key, message=message, suggestion=cure, line=None),))


def _asked(path: Path, key: str, message: str, cure: str) -> ConfigError:
    return ArgumentError((Problem(file=str(path), key=key, message=message, suggestion=cure, line=None),))
