"""Stores results that were measured elsewhere as a sweep that has ended, so that everything compares with it.

Its rows are written in one transaction; no server and no file is touched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.store.codec import from_text, to_text
from monitor.store.db import Store, StoreError
from monitor.store.sweeps import IMPORTED, add_cell, end_sweep
from probes.answer_values import Crossover
from probes.values import Cell


class AlreadyImported(StoreError):
    """The pool has these very results."""

    def __init__(self, store: Store, sweep_id: int, pool: str) -> None:
        super().__init__(store.path, f"pool {pool} has these results already, as sweep {sweep_id}; nothing was stored")
        self.sweep_id = sweep_id


class NotImported(StoreError):
    """Nothing that may be forgotten: no such sweep, or one that was measured here."""

    def __init__(self, store: Store, why: str) -> None:
        super().__init__(store.path, f"{why}; nothing was removed")


@dataclass(frozen=True, slots=True)
class ImportedSweep:
    """What goes into the store."""

    pool: str
    endpoint: str
    started_at_s: float
    ended_at_s: float
    """When the last run ended, which is how old the answer is."""
    reason: str
    who: str
    pid: int
    host: str
    fingerprint: str
    baseline: str
    live_arm: str | None
    files: Mapping[str, str]
    """SHA-256 of every file's content -> its name."""
    plan: Mapping[str, object]
    """Where the files say how they were measured."""
    result: Crossover
    arm_k: Mapping[str, int | None]
    identities: Mapping[str, Mapping[str, object]]
    cells: Sequence[Cell]
    is_whole_sweep: bool
    """It was one sweep of specwatch, which its times identify however its file was written."""


def insert_imported(store: Store, sweep: ImportedSweep) -> int:
    """Store it and return its id; AlreadyImported where the store has this answer of these files, else StoreError."""
    with store.write() as db:
        earlier = _holding(store, sweep)
        if earlier is not None:
            raise AlreadyImported(store, earlier, sweep.pool)
        row = {
            "pool": sweep.pool,
            "endpoint": sweep.endpoint,
            "started_at_s": sweep.started_at_s,
            "outcome": "measured",
            "reason": "",
            "trigger": IMPORTED,
            "who": sweep.who,
            "pid": sweep.pid,
            "host": sweep.host,
            "fingerprint": sweep.fingerprint,
            "baseline": sweep.baseline,
            "live_arm": sweep.live_arm,
            "plan": to_text({"files": dict(sweep.files), "measured_with": dict(sweep.plan)}),
        }
        sweep_id = int(str(db.table("sweeps").insert(row).last_pk))
        for cell in sweep.cells:
            add_cell(store, sweep_id, cell)
        end_sweep(
            store,
            sweep_id,
            ended_at_s=sweep.ended_at_s,
            outcome="measured",
            reason=sweep.reason,
            exit_code=0,
            fingerprint=sweep.fingerprint,
            result=sweep.result,
            arm_k=sweep.arm_k,
            identities=sweep.identities,
        )
    return sweep_id


def forget_imported(store: Store, sweep_id: int) -> str:
    """Remove an imported answer with its cells, so that the one before counts again; returns its pool.

    NotImported for anything else: what a sweep measured here is never removed by hand.
    """
    with store.write() as db:
        row = store.row('SELECT pool, "trigger" FROM sweeps WHERE id = ?', (sweep_id,))
        if row is None:
            raise NotImported(store, f"there is no sweep {sweep_id}")
        if row["trigger"] != IMPORTED:
            raise NotImported(store, f"sweep {sweep_id} of pool {row['pool']} was measured here, not imported")
        for table, key in (("cells", "sweep_id"), ("crossovers", "sweep_id"), ("sweeps", "id")):
            db.execute(f"DELETE FROM {table} WHERE {key} = ?", (sweep_id,))
    return str(row["pool"])


def _holding(store: Store, sweep: ImportedSweep) -> int | None:
    """An earlier import of all these files, or the very sweep that a file was written from.

    Only where it says the same of the same server: other arm names, engines or `--assume-same` are another answer.
    """
    rows = store.rows(
        "SELECT s.id, s.plan, c.result FROM sweeps s JOIN crossovers c ON c.sweep_id = s.id"
        ' WHERE s.pool = ? AND s."trigger" = ? AND s.fingerprint = ?',
        (sweep.pool, IMPORTED, sweep.fingerprint),
    )
    for row in rows:
        files = json.loads(row["plan"]).get("files")
        if isinstance(files, dict) and set(sweep.files) <= set(files) and _same(row["result"], sweep.result):
            return int(row["id"])
    if not sweep.is_whole_sweep:
        return None
    own = store.row(
        "SELECT id FROM sweeps WHERE pool = ? AND started_at_s = ? AND ended_at_s = ? AND fingerprint = ?",
        (sweep.pool, sweep.started_at_s, sweep.ended_at_s, sweep.fingerprint),
    )
    return int(own["id"]) if own is not None else None


def _same(stored: str, result: Crossover) -> bool:
    """Whether two answers differ in no more than the notes on who stored them when."""
    return replace(from_text(Crossover, stored), notes=()) == replace(result, notes=())
