"""Finds how fast the arms were in their newest earlier sweep, so that a slower baseline shows and tokens are known.

It reads the store alone, and compares like with like only: the same server by its fingerprint, the same address, the
same load.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace

from monitor.store.codec import to_text
from monitor.store.db import Store
from monitor.store.identities import load_identity
from monitor.store.sweeps import get_sweep, latest_crossover, load_cells
from monitor.values import SweepRecord
from probes.answer_values import CurvePoint
from probes.crossover import cells_to_points
from probes.sweep.budget import stream_rates
from probes.sweep.plan import LoadSpec, SweepPlan
from probes.values import Cell


def with_history(store: Store | None, plan: SweepPlan) -> SweepPlan:
    """The plan with what the pool's newest measured sweep that it can be compared with says of its speed.

    As it is where there is none. Where no daemon has seen what the endpoint serves now, the newest sweep of whatever
    server still bounds the tokens, but no baseline is called slower by it. Raises StoreError.
    """
    if store is None:
        return plan
    known = load_identity(store, plan.endpoint)
    print_ = known[1] if known is not None and known[1] else None
    sweep = _last(store, plan, print_)
    if sweep is None:
        return plan
    cells = [cell for cell in load_cells(store, sweep.id) if cell.valid]
    history = [point for cell in cells if cell.arm == plan.baseline for point in _per_engine(cell)]
    cell_s = sweep.plan.get("cell_s")
    seen = stream_rates(cells, cell_s, plan.load.max_tokens) if isinstance(cell_s, float | int) else ()
    return replace(plan, history=tuple(history) if print_ is not None else (), seen=seen)


def _last(store: Store, plan: SweepPlan, print_: str | None) -> SweepRecord | None:
    newest = latest_crossover(store, plan.pool, print_, ran_here=True)
    sweep = get_sweep(store, newest.sweep_id) if newest is not None else None
    if sweep is None or sweep.baseline != plan.baseline or _baseline_url(sweep) != _url(plan):
        return None
    return sweep if same_load(sweep.plan.get("load"), plan.load) else None


def _per_engine(cell: Cell) -> list[CurvePoint]:
    """A fingerprint does not tell how many engines share the load, and concurrency is one engine's."""
    engines = cell.engine_count or 1
    return [replace(point, output_tok_s=point.output_tok_s / engines) for point in cells_to_points([cell])]


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
