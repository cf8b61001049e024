"""Finds sweeps that died without saying so, and writes their end into the store.

A sweep holds its pool's lock for life, so one that is `running` in the store while nobody holds the lock is dead.
"""

from __future__ import annotations

from monitor.service.locks import holder_of, sweep_lock_path
from monitor.store.db import Store
from monitor.store.sweeps import mark_died, running_sweeps


def settle_dead_sweeps(store: Store, now_s: float, besides: str | None = None) -> list[int]:
    """Mark dead sweeps as died and return their ids; their finished cells stay readable.

    `besides` names a pool whose lock the caller itself holds: a sweep that runs there in the store is a dead one.
    """
    dead = [
        s.id
        for s in running_sweeps(store)
        if s.pool == besides or holder_of(sweep_lock_path(store.path, s.pool)) is None
    ]
    for sweep_id in dead:
        mark_died(store, sweep_id, now_s)
    return dead
