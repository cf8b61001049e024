"""Finds how fast the baseline was in its newest earlier sweep, so that a slower one shows; reads the store alone.

It compares like with like only: the same server by its fingerprint, the same address, the same load.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from monitor.store.codec import to_text
from monitor.store.db import Store
from monitor.store.identities import load_identity
from monitor.store.sweeps import get_sweep, latest_crossover, load_cells
from monitor.values import SweepRecord
from probes.crossover import cells_to_points
from probes.sweep.plan import LoadSpec, SweepPlan
from probes.values import CurvePoint


def baseline_history(store: Store | None, plan: SweepPlan) -> tuple[CurvePoint, ...]:
    """Baseline points of the pool's newest measured sweep that `plan` can be compared with.

    Empty where there is none, and where nothing is known of what the endpoint serves now. Raises StoreError.
    """
    known = load_identity(store, plan.endpoint) if store is not None else None
    if store is None or known is None or not known[1]:
        return ()
    newest = latest_crossover(store, plan.pool, known[1])
    sweep = get_sweep(store, newest.sweep_id) if newest is not None else None
    if sweep is None or sweep.baseline != plan.baseline or _baseline_url(sweep) != _url(plan):
        return ()
    if not same_load(sweep.plan.get("load"), plan.load):
        return ()
    return tuple(cells_to_points([cell for cell in load_cells(store, sweep.id) if cell.arm == plan.baseline]))


def same_load(stored: object, load: LoadSpec) -> bool:
    """Whether a stored plan's load is the one of now; keys that an older release did not write count as unset."""
    if not isinstance(stored, Mapping):
        return False
    as_stored: dict[str, object] = json.loads(to_text(asdict(load)))
    return {**asdict(LoadSpec()), **stored} == as_stored


def _url(plan: SweepPlan) -> str:
    return next(arm.target.url for arm in plan.arms if arm.name == plan.baseline)


def _baseline_url(sweep: SweepRecord) -> object:
    arms = sweep.plan.get("arms")
    found = (arm.get("url") for arm in arms if arm.get("name") == sweep.baseline) if isinstance(arms, list) else ()
    return next(iter(found), None)
