"""What a viewer is told of sweeps: the newest ones with their cells, and which of them only seem to run; no writing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from monitor.service.locks import holder_of, sweep_lock_path
from monitor.store.db import Store
from monitor.store.sweeps import get_sweep, latest_crossover, load_cells, recent_sweeps
from monitor.values import SweepRecord
from probes.values import Cell

RECENT_SWEEPS = 50
DIED = "its process ended without a word, and no daemon has noted it yet"


def told_sweeps(store: Store, pools: Iterable[str]) -> list[SweepRecord]:
    """The newest ones, and of each pool the one in force, however many gave no answer since; newest first."""
    recent = recent_sweeps(store, RECENT_SWEEPS)
    answered = {sweep.pool for sweep in recent if sweep.result is not None}
    for pool in sorted(set(pools) - answered):
        last = latest_crossover(store, pool, None)
        found = get_sweep(store, last.sweep_id) if last is not None else None
        recent += [found] if found is not None else []
    newest_first = sorted(recent, key=lambda sweep: (sweep.started_at_s, sweep.id), reverse=True)
    return [_with_its_end(store, sweep) for sweep in newest_first]


def _with_its_end(store: Store, sweep: SweepRecord) -> SweepRecord:
    """A sweep holds its pool's lock for life: one that seems to run while nobody holds it was killed.

    Its guardian, which puts a restarted server back, holds another lock: that one says nothing of the sweep.
    """
    if sweep.outcome != "running" or not _free(store, sweep.pool):
        return sweep
    # It may have written its end and let go since its row was read.
    newest = get_sweep(store, sweep.id) or sweep
    return newest if newest.outcome != "running" else replace(newest, outcome="died", reason=DIED)


def _free(store: Store, pool: str) -> bool:
    """Whether nobody holds the pool's lock; of one that another user may not look at, nothing is known."""
    path = sweep_lock_path(store.path, pool)
    return holder_of(path) is None and (not path.exists() or os.access(path, os.R_OK))


class ToldCells:
    """Cells of the sweeps that a viewer is told of. Not for two threads at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ended: dict[int, tuple[float, tuple[Cell, ...]]] = {}
        """By sweep, with its end: one that was taken for dead and ends later had more to say."""

    def read(self, sweeps: Sequence[SweepRecord]) -> dict[int, tuple[Cell, ...]]:
        """Of each pool's newest sweep and of all that have not ended always; of older ones what was read so far and
        one more: those do not change.

        Answers first: the one in force is what somebody looks for behind a sweep that gave none.
        """
        sent = [sweep for sweep in sweeps if sweep.outcome != "refused"]
        newest = {sweep.pool: sweep.id for sweep in reversed(sent)}
        older = {s.id: s for s in sent if s.id != newest[s.pool] and s.ended_at_s is not None}
        self._ended = {i: held for i, held in self._ended.items() if i in older and older[i].ended_at_s == held[0]}
        unread = [sweep for sweep in older.values() if sweep.id not in self._ended]
        for sweep in sorted(unread, key=lambda one: one.result is None)[:1]:
            if sweep.ended_at_s is not None:
                self._ended[sweep.id] = (sweep.ended_at_s, self._load(sweep.id))
        ended = {sweep_id: cells for sweep_id, (_, cells) in self._ended.items()}
        return ended | {sweep.id: self._load(sweep.id) for sweep in sent if sweep.id not in older}

    def _load(self, sweep_id: int) -> tuple[Cell, ...]:
        return tuple(load_cells(self._store, sweep_id))
