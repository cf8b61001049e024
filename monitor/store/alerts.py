"""Keeps alert states and events; a transition, its event and its deliveries are one transaction or nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from monitor.store.codec import to_text
from monitor.store.db import Store
from monitor.values import AlertEvent, AlertPhase, AlertState

_UPSERT = "INSERT OR REPLACE INTO alert_states VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def load_alert_states(store: Store) -> dict[tuple[str, str], AlertState]:
    """Every state by (endpoint, rule), as the last evaluation left it. Raises StoreError."""
    rows = store.rows("SELECT * FROM alert_states")
    return {(row["endpoint"], row["rule"]): _state(row) for row in rows}


def save_transition(
    store: Store, state: AlertState, event: AlertEvent | None, channels: Sequence[str], now_s: float
) -> None:
    """Store a state and, where something is to be told, its event with one outbox row for each channel.

    The same transition saved twice is told once. Raises StoreError.
    """
    with store.write() as db:
        _put_state(db.conn, state)
        if event is not None:
            _put_event(db.conn, event, channels, now_s)


def save_not_restored(
    store: Store,
    state: AlertState,
    event: AlertEvent | None,
    first_id: str | None,
    channels: Sequence[str],
    now_s: float,
) -> None:
    """The same for an alert that is repeated: no channel is ever told the older of two words.

    `first_id` is that of the alert's first message. A reminder (`first_id` and a number) or the resolution closes
    reminders that still wait, and a channel that has not got the first message yet is not reminded of it.
    """
    with store.write() as db:
        _put_state(db.conn, state)
        if event is None:
            return
        waiting: set[str] = set()
        if first_id is not None and (event.kind == "resolved" or event.alert_id != first_id):
            db.conn.execute(
                "UPDATE outbox SET outcome = 'superseded', finished_at_s = ?,"
                " last_error = 'superseded: there is newer word of the same alert'"
                " WHERE outcome = 'pending' AND alert_id LIKE ?",
                (now_s, f"{first_id}.%"),
            )
            if event.kind == "firing":
                rows = db.conn.execute(
                    "SELECT channel FROM outbox WHERE outcome = 'pending' AND alert_id = ?", (first_id,)
                )
                waiting = {row[0] for row in rows}
        _put_event(db.conn, event, [name for name in channels if name not in waiting], now_s)


def _put_state(conn: sqlite3.Connection, state: AlertState) -> None:
    conn.execute(_UPSERT, (
        state.endpoint, state.rule, str(state.phase), state.pending_since_s, state.firing_since_s,
        state.clear_since_s, state.alert_id, state.evaluated_at_s, state.no_data_since_s,
    ))  # fmt: skip


def _put_event(conn: sqlite3.Connection, event: AlertEvent, channels: Sequence[str], now_s: float) -> None:
    cursor = conn.execute(
        "INSERT OR IGNORE INTO events"
        " (alert_id, endpoint, pool, rule, kind, at_s, started_at_s, title, text, facts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event.alert_id, event.endpoint, event.pool, event.rule, event.kind, event.at_s, event.started_at_s,
            event.title, event.text, to_text(event.facts),
        ),
    )  # fmt: skip
    if cursor.rowcount == 0:
        return
    conn.executemany(
        "INSERT INTO outbox (event_id, alert_id, kind, channel, created_at_s, next_try_s) VALUES (?, ?, ?, ?, ?, ?)",
        [(cursor.lastrowid, event.alert_id, event.kind, name, now_s, now_s) for name in dict.fromkeys(channels)],
    )


def recent_events(store: Store, limit: int) -> list[AlertEvent]:
    """Newest first. Raises StoreError."""
    return [event_of(row) for row in store.rows("SELECT * FROM events ORDER BY id DESC LIMIT ?", (limit,))]


def events_since(store: Store, endpoint: str, since_s: float) -> list[AlertEvent]:
    """All events, oldest first, of the endpoint's alerts that fired, fire still, or resolved since then (Unix seconds).

    Raises StoreError.
    """
    rows = store.rows(
        "SELECT * FROM events WHERE endpoint = :endpoint AND alert_id IN ("
        " SELECT alert_id FROM events WHERE endpoint = :endpoint AND at_s >= :since"
        " UNION SELECT alert_id FROM alert_states WHERE endpoint = :endpoint AND phase = 'firing') ORDER BY id",
        {"endpoint": endpoint, "since": since_s},
    )
    return [event_of(row) for row in rows]


def event_of(row: sqlite3.Row) -> AlertEvent:
    """The event in a row that has all columns of `events`."""
    return AlertEvent(
        alert_id=row["alert_id"],
        endpoint=row["endpoint"],
        pool=row["pool"],
        rule=row["rule"],
        kind=row["kind"],
        at_s=row["at_s"],
        started_at_s=row["started_at_s"],
        title=row["title"],
        text=row["text"],
        facts=json.loads(row["facts"]),
    )


def _state(row: sqlite3.Row) -> AlertState:
    return AlertState(
        endpoint=row["endpoint"],
        rule=row["rule"],
        phase=AlertPhase(row["phase"]),
        pending_since_s=row["pending_since_s"],
        firing_since_s=row["firing_since_s"],
        clear_since_s=row["clear_since_s"],
        alert_id=row["alert_id"],
        evaluated_at_s=row["evaluated_at_s"],
        no_data_since_s=row["no_data_since_s"],
    )
