"""Keeps sweeps, their cells and their answers; the sweep process writes them, everybody reads. It decides nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache

from monitor.store.codec import from_text, to_text
from monitor.store.db import Store, StoreError
from monitor.values import StoredCrossover, SweepProgress, SweepRecord
from probes.answer_values import Crossover
from probes.values import Cell

_SELECT = "SELECT s.*, c.result FROM sweeps s LEFT JOIN crossovers c ON c.sweep_id = s.id"
_ANSWER = 'SELECT c.*, s."trigger" FROM crossovers c JOIN sweeps s ON s.id = c.sweep_id'
IMPORTED = "import"
"""The trigger of results that were measured elsewhere."""
_RAN_HERE = f"s.\"trigger\" <> '{IMPORTED}'"


class SweepRunning(StoreError):
    """The pool has a running sweep already."""

    def __init__(self, store: Store, running: sqlite3.Row) -> None:
        super().__init__(
            store.path,
            f"sweep {running['id']} of pool {running['pool']} is already running "
            f"(pid {running['pid']} on {running['host']})",
        )


def begin_sweep(
    store: Store,
    *,
    pool: str,
    endpoint: str,
    started_at_s: float,
    trigger: str,
    who: str,
    pid: int,
    host: str,
    baseline: str,
    live_arm: str | None,
    plan: Mapping[str, object],
) -> int:
    """Record a sweep as running and return its id.

    Raises SweepRunning where the pool has one (a dead one must be marked with `mark_died` first), else StoreError.
    """
    with store.write() as db:
        running = store.row("SELECT * FROM sweeps WHERE pool = ? AND outcome = 'running'", (pool,))
        if running is not None:
            raise SweepRunning(store, running)
        row = {
            "pool": pool,
            "endpoint": endpoint,
            "started_at_s": started_at_s,
            "outcome": "running",
            "reason": "",
            "trigger": trigger,
            "who": who,
            "pid": pid,
            "host": host,
            "fingerprint": "",
            "baseline": baseline,
            "live_arm": live_arm,
            "plan": to_text(plan),
        }
        return int(str(db.table("sweeps").insert(row).last_pk))


def set_fingerprint(store: Store, sweep_id: int, fingerprint: str) -> None:
    """Say which servers a sweep is about to load, so that one that dies can be gone on with."""
    with store.write() as db:
        db.execute("UPDATE sweeps SET fingerprint = ? WHERE id = ?", (fingerprint, sweep_id))


def set_resumes(store: Store, sweep_id: int, resumes: int, cells: Sequence[Cell]) -> None:
    """Let a sweep go on with a broken-off one: it gets copies of the cells that still count, in one transaction."""
    with store.write() as db:
        db.execute("UPDATE sweeps SET resumes = ? WHERE id = ?", (resumes, sweep_id))
        for cell in cells:
            add_cell(store, sweep_id, cell)


def add_cell(store: Store, sweep_id: int, cell: Cell) -> None:
    """Store one measurement, void ones with their reasons included."""
    with store.write() as db:
        db.table("cells").insert(
            {
                "sweep_id": sweep_id,
                "arm": cell.arm,
                "rung": cell.rung,
                "repeat": cell.repeat,
                "position": cell.order,
                "started_at_s": cell.started_at_s,
                "concurrency": cell.concurrency,
                "output_tok_s": cell.output_tok_s,
                "void": not cell.valid,
                "body": to_text(cell),
            }
        )


def set_progress(store: Store, sweep_id: int, progress: SweepProgress) -> None:
    """Say how far a running sweep is."""
    with store.write() as db:
        db.execute("UPDATE sweeps SET progress = ? WHERE id = ?", (to_text(progress), sweep_id))


def end_sweep(
    store: Store,
    sweep_id: int,
    *,
    ended_at_s: float,
    outcome: str,
    reason: str,
    exit_code: int,
    fingerprint: str,
    result: Crossover | None,
    arm_k: Mapping[str, int | None],
    identities: Mapping[str, Mapping[str, object]] | None = None,
    ended_by: str = "",
    tally: Mapping[str, object] | None = None,
) -> None:
    """Record how a sweep ended, and its answer where it has one, in one transaction.

    An empty `fingerprint` leaves the one that was said at its beginning.

    It overrules an earlier `mark_died`: the sweep itself knows better.
    """
    with store.write() as db:
        db.execute(
            "UPDATE sweeps SET ended_at_s = ?, outcome = ?, reason = ?, exit_code = ?,"
            " fingerprint = coalesce(nullif(?, ''), fingerprint), arm_k = ?, identities = ?, ended_by = ?, tally = ?"
            " WHERE id = ?",
            (
                ended_at_s,
                outcome,
                reason,
                exit_code,
                fingerprint,
                to_text(arm_k),
                to_text(identities or {}),
                ended_by,
                to_text(tally or {}),
                sweep_id,
            ),
        )
        if result is None:
            return
        db.execute(
            "INSERT INTO crossovers (sweep_id, pool, fingerprint, measured_at_s, live_arm, arm_k, result)"
            " SELECT id, pool, ?, ?, live_arm, ?, ? FROM sweeps WHERE id = ?",
            (fingerprint, ended_at_s, to_text(arm_k), to_text(result), sweep_id),
        )


def mark_died(store: Store, sweep_id: int, at_s: float) -> None:
    """Record that a running sweep's process is gone; a sweep that has ended is left alone."""
    with store.write() as db:
        db.execute(
            "UPDATE sweeps SET outcome = 'died', ended_at_s = ?, reason = ? WHERE id = ? AND outcome = 'running'",
            (at_s, "its process ended without a word (killed, out of memory, or the machine went down)", sweep_id),
        )


def get_sweep(store: Store, sweep_id: int) -> SweepRecord | None:
    """One sweep by its id."""
    row = store.row(f"{_SELECT} WHERE s.id = ?", (sweep_id,))
    return _record(row) if row is not None else None


def recent_sweeps(store: Store, limit: int) -> list[SweepRecord]:
    """Newest first, running and refused ones included."""
    return [_record(r) for r in store.rows(f"{_SELECT} ORDER BY s.started_at_s DESC, s.id DESC LIMIT ?", (limit,))]


def pool_sweeps(store: Store, pool: str, limit: int) -> list[SweepRecord]:
    """One pool's newest first, running and refused ones included; imported results are none that ran here."""
    sql = f"{_SELECT} WHERE s.pool = ? AND {_RAN_HERE} ORDER BY s.started_at_s DESC, s.id DESC LIMIT ?"
    return [_record(r) for r in store.rows(sql, (pool, limit))]


def running_sweeps(store: Store) -> list[SweepRecord]:
    """Sweeps that have not said how they ended, dead ones included."""
    return [_record(r) for r in store.rows(f"{_SELECT} WHERE s.outcome = 'running' ORDER BY s.id")]


def sweeps_since(store: Store, ended_since_s: float) -> list[SweepRecord]:
    """Newest first, those that ended since then or have not; however many others were refused meanwhile.

    Imported results loaded no server here and are left out.
    """
    since = f"(s.outcome = 'running' OR s.ended_at_s >= ?) AND {_RAN_HERE}"
    sql = f"{_SELECT} WHERE {since} ORDER BY s.started_at_s DESC, s.id DESC"
    return [_record(r) for r in store.rows(sql, (ended_since_s,))]


def load_cells(store: Store, sweep_id: int) -> list[Cell]:
    """The cells of one sweep in the order they were measured."""
    rows = store.rows("SELECT body FROM cells WHERE sweep_id = ? ORDER BY position, id", (sweep_id,))
    return [from_text(Cell, row["body"]) for row in rows]


def crossover_of(store: Store, sweep_id: int) -> StoredCrossover | None:
    """The answer of one sweep, where it has one."""
    row = store.row(f"{_ANSWER} WHERE c.sweep_id = ?", (sweep_id,))
    return _stored(row) if row is not None else None


def latest_crossover(
    store: Store, pool: str, fingerprint: str | None, *, ran_here: bool = False
) -> StoredCrossover | None:
    """The newest answer for a pool; `fingerprint` None takes whatever server it was measured on.

    With `ran_here`, of the sweeps that this store's own hosts ran: imported ones used another client.
    """
    row = store.row(
        f"{_ANSWER} WHERE c.pool = ? AND (? IS NULL OR c.fingerprint = ?)"
        f" AND (NOT ? OR {_RAN_HERE})"
        " ORDER BY c.measured_at_s DESC, c.sweep_id DESC LIMIT 1",
        (pool, fingerprint, fingerprint, ran_here),
    )
    return _stored(row) if row is not None else None


def _stored(row: sqlite3.Row) -> StoredCrossover:
    return StoredCrossover(
        sweep_id=row["sweep_id"],
        pool=row["pool"],
        fingerprint=row["fingerprint"],
        measured_at_s=row["measured_at_s"],
        result=_crossover(row["result"]),
        arm_k=json.loads(row["arm_k"]),
        live_arm=row["live_arm"],
        imported=row["trigger"] == IMPORTED,
    )


@lru_cache(maxsize=128)
def _crossover(text: str) -> Crossover:
    """Answers never change once written, and screens ask for the same few every second."""
    return from_text(Crossover, text)


def _record(row: sqlite3.Row) -> SweepRecord:
    return SweepRecord(
        id=row["id"],
        pool=row["pool"],
        endpoint=row["endpoint"],
        started_at_s=row["started_at_s"],
        ended_at_s=row["ended_at_s"],
        outcome=row["outcome"],
        reason=row["reason"],
        trigger=row["trigger"],
        who=row["who"],
        pid=row["pid"],
        host=row["host"],
        fingerprint=row["fingerprint"],
        baseline=row["baseline"],
        live_arm=row["live_arm"],
        plan=json.loads(row["plan"]),
        progress=from_text(SweepProgress, row["progress"]) if row["progress"] is not None else None,
        result=_crossover(row["result"]) if row["result"] is not None else None,
        exit_code=row["exit_code"],
        arm_k=json.loads(row["arm_k"]),
        identities=json.loads(row["identities"]),
        resumes=row["resumes"],
        ended_by=row["ended_by"],
        tally=json.loads(row["tally"]),
    )
