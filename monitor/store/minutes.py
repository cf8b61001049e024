"""Condenses a day of stored readings to minutes per engine inside SQLite, for accounts that need means and no pages.

What moved is summed over pairs of neighbouring good scrapes of one server start; what lies across a restart or a hole
in time is in no minute, so that missing time can be told from idle time. It judges nothing.
"""

from __future__ import annotations

from monitor.account_values import EngineMinute
from monitor.store.db import Store
from monitor.store.replaced import BEFORE, REPLACED, SHOWN

_SELECT = f"""
    WITH seen AS (
        SELECT e.engine AS engine, e.at_s AS at_s, e.running + e.waiting AS load, e.waiting AS waiting,
            e.generation_tokens AS tokens, e.drafts AS drafts, e.accepted_tokens AS accepted,
            s.sweep_id AS sweep_id, {SHOWN}
        FROM engine_readings e CROSS JOIN scrapes s ON s.endpoint = e.endpoint AND s.at_s = e.at_s
        WHERE e.endpoint = :endpoint AND e.at_s >= :since AND e.at_s <= :until AND s.state = 'ok'
    ), steps AS (
        SELECT *, at_s - lag(at_s) OVER w AS dt, (load + lag(load) OVER w) / 2 AS mean_load,
            tokens - lag(tokens) OVER w AS made, drafts - lag(drafts) OVER w AS drafted,
            accepted - lag(accepted) OVER w AS taken,
            sweep_id IS NOT NULL OR lag(sweep_id) OVER w IS NOT NULL AS swept, {BEFORE}
        FROM seen WINDOW w AS (PARTITION BY engine ORDER BY at_s)
    )
    SELECT CAST((at_s - :since) / :width AS INTEGER) AS bucket, engine, configured, k, swept, sum(dt) AS seconds,
        sum(mean_load * dt) AS load_s, count(mean_load) AS loads, count(*) AS steps,
        sum(made) AS made, count(made) AS mades, sum(waiting > 0) AS waits, count(waiting) AS looks,
        sum(drafted) AS drafted, sum(taken) AS taken
    FROM steps WHERE dt > 0 AND dt <= :hole AND ifnull(made, 0) >= 0 AND ifnull(drafted, 0) >= 0
        AND configured IS configured_0 AND k IS k_0 AND NOT {REPLACED}
    GROUP BY bucket, engine, configured, k, swept ORDER BY bucket, engine"""
# The order of the join is written out: left to itself, SQLite compares every scrape with every engine's row.


def engine_minutes(
    store: Store, endpoint: str, since_s: float, until_s: float, *, width_s: float = 60.0, hole_s: float = 30.0
) -> list[EngineMinute]:
    """One row per engine, minute and configuration seen in it, oldest first; sweeps' own traffic is marked.

    Good scrapes further apart than `hole_s` have a hole between them. Raises StoreError.
    """
    rows = store.rows(
        _SELECT,
        {"endpoint": endpoint, "since": since_s, "until": until_s, "width": width_s, "hole": hole_s},
    )
    return [
        EngineMinute(
            at_s=since_s + (row["bucket"] + 0.5) * width_s,
            engine=row["engine"],
            seconds=row["seconds"],
            concurrency=row["load_s"] / row["seconds"] if row["loads"] == row["steps"] else None,
            output_tokens=row["made"] if row["mades"] == row["steps"] else None,
            waiting_share=row["waits"] / row["looks"] if row["looks"] else None,
            speculation_configured=bool(row["configured"]) if row["configured"] is not None else None,
            k=row["k"],
            drafts=row["drafted"],
            accepted=row["taken"],
            swept=bool(row["swept"]),
        )
        for row in rows
    ]


def first_reading_s(store: Store, endpoint: str, since_s: float) -> float | None:
    """When the endpoint was first scraped since then, good or failed; None where it was not. Raises StoreError."""
    found: float | None = store.scalar(
        "SELECT min(at_s) FROM scrapes WHERE endpoint = ? AND at_s >= ?", (endpoint, since_s)
    )
    return found
