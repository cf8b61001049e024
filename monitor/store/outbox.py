"""The queue of messages to channels, persisted so that a crash loses none; it never talks to a channel itself.

A row is pending until it is delivered, dead (refused for good), or superseded (not worth sending any more).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from monitor.store.alerts import event_of
from monitor.store.db import Store
from monitor.values import Delivery

FAR_S = 2 * 3600.0
"""No wait of ours is longer, so a time further ahead than this means that the clock was set back: it is due."""

_EVENT = "e.alert_id, e.endpoint, e.pool, e.rule, e.kind, e.at_s, e.started_at_s, e.title, e.text, e.facts"
_SELECT = f"SELECT o.*, {_EVENT} FROM outbox o JOIN events e ON e.id = o.event_id"
_PASSED = "({0} IS NULL OR {0} <= :now OR {0} > :far)"
_DUE = (
    f"{_SELECT} LEFT JOIN channel_health h ON h.channel = o.channel WHERE o.outcome = 'pending'"
    f" AND {_PASSED.format('o.next_try_s')} AND {_PASSED.format('o.claimed_until_s')}"
    f" AND {_PASSED.format('h.hold_until_s')}"
    " AND NOT EXISTS (SELECT 1 FROM outbox p WHERE p.alert_id = o.alert_id AND p.channel = o.channel"
    " AND p.id < o.id AND p.outcome = 'pending')"
    " ORDER BY o.attempts, o.id LIMIT :limit"
)


def due(store: Store, now_s: float, limit: int) -> list[Delivery]:
    """What may be tried now, least tried first.

    Left out: a row whose time has not come, one that is being sent, one on a channel that is held after a failure, and
    one whose alert has an earlier message to the same channel still waiting. Raises StoreError.
    """
    rows = store.rows(_DUE, {"now": now_s, "far": now_s + FAR_S, "limit": limit})
    return [_delivery(row) for row in rows]


def supersede(store: Store, now_s: float) -> int:
    """Close the rows that nobody needs any more; returns how many.

    A firing that reached no one and has resolved meanwhile tells nothing, and neither does a resolution whose firing
    never reached its channel. Where an attempt went unanswered the firing may have arrived, so both still go out.
    """
    if store.row("SELECT 1 FROM outbox WHERE outcome = 'pending' LIMIT 1") is None:
        return 0
    with store.write() as db:
        firing = db.conn.execute(
            "UPDATE outbox SET outcome = 'superseded', finished_at_s = ?,"
            " last_error = 'superseded: it resolved before it could be delivered' || "
            " CASE last_error WHEN '' THEN '' ELSE ' (' || last_error || ')' END"
            " WHERE outcome = 'pending' AND kind = 'firing' AND in_doubt = 0"
            " AND EXISTS (SELECT 1 FROM events e WHERE e.alert_id = outbox.alert_id AND e.kind = 'resolved')",
            (now_s,),
        )
        resolved = db.conn.execute(
            "UPDATE outbox SET outcome = 'superseded', finished_at_s = ?,"
            " last_error = 'superseded: its firing never reached this channel'"
            " WHERE outcome = 'pending' AND kind = 'resolved' AND NOT EXISTS ("
            "  SELECT 1 FROM outbox f WHERE f.alert_id = outbox.alert_id AND f.channel = outbox.channel"
            "  AND f.kind = 'firing' AND (f.outcome IN ('pending', 'delivered') OR f.in_doubt > 0))",
            (now_s,),
        )
        return firing.rowcount + resolved.rowcount


def claim(store: Store, ids: Sequence[int], now_s: float, until_s: float) -> bool:
    """Take rows for one attempt that ends before `until_s`; False where any of them is no longer free."""
    marks: dict[str, object] = {"now": now_s, "far": now_s + FAR_S}
    free = f"FROM outbox WHERE id = :id AND outcome = 'pending' AND {_PASSED.format('claimed_until_s')}"
    with store.write() as db:
        if any(store.row(f"SELECT 1 {free}", {**marks, "id": key}) is None for key in ids):
            return False
        db.conn.executemany(
            "UPDATE outbox SET claimed_until_s = ?, attempts = attempts + 1, in_doubt = in_doubt + 1 WHERE id = ?",
            [(until_s, key) for key in ids],
        )
        return True


def mark_delivered(store: Store, delivery_id: int, now_s: float, message: str) -> None:
    """The channel took it, as part of the message with this idempotency key; the channel is well again."""
    with store.write() as db:
        channel = _finish(db.conn, delivery_id, "delivered", now_s, "", message)
        db.execute("DELETE FROM channel_health WHERE channel = ?", (channel,))


def mark_dead(store: Store, delivery_id: int, now_s: float, error: str, *, in_doubt: bool = False) -> None:
    """Given up for good, with the reason that people will see; `in_doubt` where the last attempt had no answer."""
    with store.write() as db:
        _finish(db.conn, delivery_id, "dead", now_s, error, None)
        if not in_doubt:
            db.execute("UPDATE outbox SET in_doubt = max(in_doubt - 1, 0) WHERE id = ?", (delivery_id,))


def mark_retry(store: Store, delivery_id: int, next_try_s: float, error: str, *, in_doubt: bool = False) -> None:
    """Not delivered this time; `in_doubt` where no answer came, so that it may have arrived after all."""
    with store.write() as db:
        db.execute(
            "UPDATE outbox SET claimed_until_s = NULL, next_try_s = ?, last_error = ?,"
            " in_doubt = CASE WHEN ? THEN in_doubt ELSE max(in_doubt - 1, 0) END WHERE id = ?",
            (next_try_s, error, in_doubt, delivery_id),
        )


def hold_back(store: Store, ids: Sequence[int], until_s: float, reason: str) -> None:
    """Make rows wait for the rate cap; they then go out together."""
    with store.write() as db:
        db.conn.executemany(
            "UPDATE outbox SET held = 1, next_try_s = ?, last_error = ? WHERE id = ?",
            [(until_s, reason, key) for key in ids],
        )


def held_ids(store: Store, ids: Sequence[int]) -> set[int]:
    """Which of these rows the rate cap has made wait."""
    marks = ",".join("?" * len(ids))
    return {row[0] for row in store.rows(f"SELECT id FROM outbox WHERE held = 1 AND id IN ({marks})", tuple(ids))}


def channel_failures(store: Store, channel: str) -> int:
    """Failed attempts in a row on one channel."""
    found: int | None = store.scalar("SELECT failures FROM channel_health WHERE channel = ?", (channel,))
    return found or 0


def hold_channel(store: Store, channel: str, now_s: float, until_s: float, error: str) -> None:
    """Count one more failure of a channel and let nothing go to it before `until_s`."""
    with store.write() as db:
        db.execute(
            "INSERT INTO channel_health (channel, failures, failing_since_s, hold_until_s, last_error)"
            " VALUES (:channel, 1, :now, :until, :error) ON CONFLICT (channel) DO UPDATE SET"
            " failures = failures + 1, hold_until_s = :until, last_error = :error",
            {"channel": channel, "now": now_s, "until": until_s, "error": error},
        )


def sent_since(store: Store, channel: str, since_s: float) -> list[float]:
    """When each message to a channel went out, oldest first; several rows in one message count once."""
    rows = store.rows(
        "SELECT min(finished_at_s) AS at_s FROM outbox WHERE channel = ? AND outcome = 'delivered'"
        " AND finished_at_s > ? GROUP BY message ORDER BY at_s",
        (channel, since_s),
    )
    return [row[0] for row in rows]


def recent_deliveries(store: Store, limit: int) -> list[Delivery]:
    """Newest first, whatever became of them. Raises StoreError."""
    return [_delivery(row) for row in store.rows(f"{_SELECT} ORDER BY o.id DESC LIMIT ?", (limit,))]


def _finish(
    conn: sqlite3.Connection, delivery_id: int, outcome: str, now_s: float, error: str, message: str | None
) -> str:
    conn.execute(
        "UPDATE outbox SET outcome = ?, finished_at_s = ?, last_error = ?, message = ?, claimed_until_s = NULL"
        " WHERE id = ?",
        (outcome, now_s, error, message, delivery_id),
    )
    channel: str = conn.execute("SELECT channel FROM outbox WHERE id = ?", (delivery_id,)).fetchone()[0]
    return channel


def _delivery(row: sqlite3.Row) -> Delivery:
    outcome, finished_s = row["outcome"], row["finished_at_s"]
    return Delivery(
        id=row["id"],
        event=event_of(row),
        channel=row["channel"],
        created_at_s=row["created_at_s"],
        attempts=row["attempts"],
        next_try_s=row["next_try_s"],
        delivered_at_s=finished_s if outcome == "delivered" else None,
        dead_at_s=finished_s if outcome in ("dead", "superseded") else None,
        last_error=row["last_error"],
        superseded=outcome == "superseded",
    )
