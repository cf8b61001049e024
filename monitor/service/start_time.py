"""Says how long a restart took the last time, so that plans need not guess; reads the store alone."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import median

from monitor.store.db import Store
from monitor.store.sweeps import load_cells, pool_sweeps
from probes.values import Cell

_LOOK_BACK = 100
"""Newest sweeps of the pool that are looked at."""


def last_start_s(store: Store | None, pool: str) -> float | None:
    """Seconds of one restart in the pool's newest sweep that restarted its server; None where there was none.

    From the last cell before a restart to the first one after it, the warm-up taken out: draining, the hook, the start
    and its proof. Raises StoreError.
    """
    if store is None:
        return None
    for sweep in pool_sweeps(store, pool, _LOOK_BACK):
        between_s = starts_between_s(load_cells(store, sweep.id))
        warmup_s = sweep.plan.get("warmup_s")
        if between_s is not None and isinstance(warmup_s, int | float):
            return max(0.0, between_s - warmup_s)
    return None


def starts_between_s(cells: Iterable[Cell]) -> float | None:
    """Median seconds from the window of one start's last cell to the first cell of the next start; None without any.

    The median, because a sweep that waited for others' traffic or was gone on with later has gaps that are no starts.
    """
    gaps = [
        later.started_at_s - earlier.started_at_s - earlier.window_s
        for earlier, later in pairwise(sorted(cells, key=lambda cell: cell.started_at_s))
        if earlier.start is not None
        and later.start is not None
        and later.start != earlier.start
        and earlier.window_s is not None
    ]
    return median(gaps) if gaps else None
