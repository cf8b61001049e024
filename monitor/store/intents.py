"""Carries requests from anybody to whoever acts on them, with who asked, where, when and why; it never acts itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from monitor.store.codec import to_text
from monitor.store.db import Store
from monitor.values import Intent

KINDS = ("sweep", "abort", "pause", "resume", "ack")


def add_intent(
    store: Store,
    *,
    kind: str,
    subject: str,
    who: str,
    host: str,
    created_at_s: float,
    reason: str,
    args: Mapping[str, object],
) -> int:
    """Ask for something; returns the id to follow it by. A pause carries `until_s` in `args`.

    Raises ValueError for a kind that nobody would take or a pause without an end, StoreError for the file.
    """
    if kind not in KINDS:
        raise ValueError(f"no such intent: {kind!r} (one of {', '.join(KINDS)})")
    if kind == "pause" and not isinstance(args.get("until_s"), int | float):
        raise ValueError("a pause needs until_s, the Unix time at which it ends")
    with store.write() as db:
        row = {
            "kind": kind,
            "subject": subject,
            "who": who,
            "host": host,
            "created_at_s": created_at_s,
            "reason": reason,
            "args": to_text(args),
        }
        return int(str(db.table("intents").insert(row).last_pk))


def claim_next(store: Store, kind: str, now_s: float) -> Intent | None:
    """Take the oldest request of a kind for oneself; two takers never get the same one. Raises StoreError."""
    sql = "SELECT * FROM intents WHERE kind = ? AND done_at_s IS NULL AND claimed_at_s IS NULL ORDER BY id LIMIT 1"
    if store.row(sql, (kind,)) is None:
        return None
    with store.write() as db:
        found = store.row(sql, (kind,))
        if found is None:
            return None
        db.execute("UPDATE intents SET claimed_at_s = ? WHERE id = ?", (now_s, found["id"]))
        return get_intent(store, found["id"])


def finish_intent(store: Store, intent_id: int, now_s: float, result: str) -> None:
    """Say what came of it."""
    with store.write() as db:
        db.execute("UPDATE intents SET done_at_s = ?, result = ? WHERE id = ?", (now_s, result, intent_id))


def get_intent(store: Store, intent_id: int) -> Intent | None:
    """One request by its id."""
    row = store.row("SELECT * FROM intents WHERE id = ?", (intent_id,))
    return _intent(row) if row is not None else None


def pending(store: Store, kind: str) -> list[Intent]:
    """Requests of a kind that are not done, claimed ones included, oldest first."""
    rows = store.rows("SELECT * FROM intents WHERE kind = ? AND done_at_s IS NULL ORDER BY id", (kind,))
    return [_intent(row) for row in rows]


def finished_since(store: Store, kind: str, since_s: float) -> list[Intent]:
    """Requests of a kind that were done since then, newest first."""
    rows = store.rows("SELECT * FROM intents WHERE kind = ? AND done_at_s >= ? ORDER BY id DESC", (kind, since_s))
    return [_intent(row) for row in rows]


def acknowledged(store: Store, alert_ids: Sequence[str]) -> dict[str, Intent]:
    """The newest acknowledgement of each of these alerts that has one."""
    marks = ", ".join("?" * len(alert_ids))
    rows = store.rows(f"SELECT * FROM intents WHERE kind = 'ack' AND subject IN ({marks}) ORDER BY id", alert_ids)
    return {row["subject"]: _intent(row) for row in rows}


def active_pause(store: Store, now_s: float) -> tuple[float, str] | None:
    """Until when and why no sweep may start; None where none is in force. The newest pause or resume counts."""
    row = store.row("SELECT * FROM intents WHERE kind IN ('pause', 'resume') ORDER BY id DESC LIMIT 1")
    if row is None or row["kind"] == "resume":
        return None
    until_s = float(json.loads(row["args"])["until_s"])
    return (until_s, f"{row['reason']} ({row['who']} on {row['host']})".strip()) if until_s > now_s else None


def abort_requested(store: Store, pool: str, since_s: float) -> str | None:
    """Who wants the pool's sweep to stop and why, if anybody asked at or after `since_s`; no subject means all."""
    row = store.row(
        "SELECT * FROM intents WHERE kind = 'abort' AND subject IN ('', ?) AND created_at_s >= ?"
        " ORDER BY id DESC LIMIT 1",
        (pool, since_s),
    )
    if row is None:
        return None
    why = f": {row['reason']}" if row["reason"] else ""
    return f"stopped by {row['who']} on {row['host']}{why}"


def _intent(row: sqlite3.Row) -> Intent:
    return Intent(
        id=row["id"],
        kind=row["kind"],
        subject=row["subject"],
        who=row["who"],
        host=row["host"],
        created_at_s=row["created_at_s"],
        reason=row["reason"],
        args=json.loads(row["args"]),
        claimed_at_s=row["claimed_at_s"],
        done_at_s=row["done_at_s"],
        result=row["result"],
    )
