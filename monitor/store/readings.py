"""Writes scrapes as wide rows and reads them back as the readings they were; it must not judge or average them.

A failed scrape is a row too: that nothing was there is a fact, and a gap must be tellable from silence.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from monitor.store.db import Store
from monitor.store.pages import pack_counts, pack_edges, pack_facts, unpack_facts, unpack_histograms
from monitor.store.replaced import BEFORE, REPLACED, SHOWN
from monitor.values import StoredReading
from probes.values import EngineKind, EngineReading, Reading, State

_GAUGES = (
    "running", "waiting", "kv_usage", "generation_tokens", "generation_tokens_live", "prompt_tokens", "finished",
    "preemptions", "prefix_queries", "prefix_hits", "drafts", "draft_tokens", "accepted_tokens",
    "acceptance_length_gauge", "spec_verify_calls",
)  # fmt: skip
"""Fields of `EngineReading` that are columns of the same name."""

_INSERT_SCRAPE = "INSERT OR IGNORE INTO scrapes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ENGINE_COLUMNS = ("endpoint", "at_s", "position", "engine", *_GAUGES, "accepted_per_pos", "edges_id", "histograms")
_INSERT_ENGINE = (
    f"INSERT INTO engine_readings ({', '.join(_ENGINE_COLUMNS)}) VALUES ({', '.join('?' * len(_ENGINE_COLUMNS))})"
)
_SELECT_SCRAPE = (
    "SELECT s.*, f.body AS facts FROM scrapes s JOIN page_facts f ON f.id = s.facts_id WHERE s.endpoint = ?"
)
_SELECT_ENGINES = (
    "SELECT e.*, f.body AS edges FROM engine_readings e LEFT JOIN page_facts f ON f.id = e.edges_id"
    " WHERE e.endpoint = ?"
)
_SELECT_SPANS = f"""
    WITH seen AS (
        SELECT e.at_s AS at_s, s.sweep_id AS sweep_id, count(*) AS engines, sum(e.finished) AS finished, {SHOWN}
        FROM engine_readings e CROSS JOIN scrapes s ON s.endpoint = e.endpoint AND s.at_s = e.at_s
        WHERE e.endpoint = ? AND e.at_s >= ? AND s.state = 'ok' GROUP BY e.at_s
    ), before AS (
        SELECT *, lag(at_s) OVER w AS at_s_0, lag(sweep_id) OVER w AS sweep_id_0, lag(engines) OVER w AS engines_0,
            lag(finished) OVER w AS finished_0, {BEFORE}
        FROM seen WINDOW w AS (ORDER BY at_s)
    ), spans AS (
        SELECT *, sum(
            finished_0 IS NULL OR finished < finished_0 OR {REPLACED} OR engines <> engines_0
            OR sweep_id IS NOT sweep_id_0
            OR (at_s - at_s_0 > 30 AND EXISTS (
                SELECT 1 FROM sweeps x WHERE x.outcome <> 'refused' AND x.started_at_s < at_s
                AND (x.ended_at_s IS NULL OR x.ended_at_s > at_s_0)))
        ) OVER (ORDER BY at_s ROWS UNBOUNDED PRECEDING) AS span
        FROM before
    )
    SELECT min(at_s) AS first_s, max(at_s) AS last_s FROM spans WHERE sweep_id IS NULL
    GROUP BY span HAVING max(finished) > min(finished) ORDER BY first_s DESC LIMIT ?"""
# The order of the join is written out: left to itself, SQLite compares every scrape with every engine's row.


def append_readings(store: Store, readings: Sequence[Reading], sweep_ids: Mapping[str, int | None]) -> None:
    """Store readings in one transaction; `sweep_ids` names the sweep that loads each endpoint now.

    A reading that is already stored (same endpoint, same instant) is left as it is, so a failed call can be repeated.
    NaN has no place in SQLite and comes back as None. Raises StoreError.
    """
    with store.write() as db:
        conn = db.conn
        known: dict[str, int] = {}
        for reading in readings:
            facts_id = _fact(conn, pack_facts(reading), known)
            cursor = conn.execute(_INSERT_SCRAPE, _scrape_row(reading, facts_id, sweep_ids.get(reading.endpoint)))
            if cursor.rowcount == 0:
                continue
            conn.executemany(
                _INSERT_ENGINE,
                [_engine_row(conn, reading, position, known) for position in range(len(reading.engines))],
            )


def load_readings(
    store: Store, endpoint: str, since_s: float, until_s: float | None = None, *, histograms: bool = True
) -> list[StoredReading]:
    """Readings of one endpoint with since_s <= at_s <= until_s, oldest first; without histograms it is several times
    cheaper. Raises StoreError."""
    scrapes, engines = _rows(store, endpoint, since_s, until_s)
    return _join(scrapes, engines, histograms=histograms)


def load_pages(
    store: Store, endpoint: str, since_s: float, until_s: float
) -> tuple[list[StoredReading], dict[float, list[tuple[str | None, bytes]]]]:
    """The same without histograms, and these still packed: by time, in the order of the engines. Raises StoreError."""
    scrapes, engines = _rows(store, endpoint, since_s, until_s)
    packed: dict[float, list[tuple[str | None, bytes]]] = {}
    for row in engines:
        packed.setdefault(row["at_s"], []).append((row["edges"], row["histograms"]))
    return _join(scrapes, engines, histograms=False), packed


def scrape_times(store: Store, endpoint: str, since_s: float, until_s: float) -> list[float]:
    """When one endpoint was scraped, failed scrapes included, oldest first. Raises StoreError."""
    sql = "SELECT at_s FROM scrapes WHERE endpoint = ? AND at_s >= ? AND at_s <= ? ORDER BY at_s"
    return [row[0] for row in store.rows(sql, (endpoint, since_s, until_s))]


def latest_reading(store: Store, endpoint: str) -> StoredReading | None:
    """The newest reading of one endpoint, good or failed. Raises StoreError."""
    newest = store.scalar("SELECT max(at_s) FROM scrapes WHERE endpoint = ?", (endpoint,))
    found = load_readings(store, endpoint, newest, newest) if newest is not None else []
    return found[-1] if found else None


def live_loads(store: Store, endpoint: str, since_s: float) -> list[float]:
    """Requests in the system, all engines summed, of every good scrape since then that no sweep was loading."""
    rows = store.rows(
        "SELECT sum(e.running + e.waiting) AS load FROM engine_readings e"
        " JOIN scrapes s ON s.endpoint = e.endpoint AND s.at_s = e.at_s"
        " WHERE e.endpoint = ? AND e.at_s >= ? AND s.state = 'ok' AND s.sweep_id IS NULL"
        " GROUP BY e.at_s HAVING count(e.running + e.waiting) = count(*)",
        (endpoint, since_s),
    )
    return [row["load"] for row in rows]


def live_spans(store: Store, endpoint: str, since_s: float, limit: int) -> list[tuple[float, float]]:
    """First and last instant of stretches in which requests finished, no sweep ran and no server started, newest first.

    What counters gained from one end of a stretch to the other was real traffic. Raises StoreError.
    """
    rows = store.rows(_SELECT_SPANS, (endpoint, since_s, limit))
    return [(row["first_s"], row["last_s"]) for row in rows]


def endpoint_names(store: Store) -> list[str]:
    """Endpoints that have readings, by hopping from name to name in the key instead of walking every row."""
    return [
        row[0]
        for row in store.rows(
            "WITH RECURSIVE hop(name) AS (SELECT min(endpoint) FROM scrapes UNION ALL"
            " SELECT (SELECT min(endpoint) FROM scrapes WHERE endpoint > name) FROM hop WHERE name IS NOT NULL)"
            " SELECT name FROM hop WHERE name IS NOT NULL"
        )
    ]


def _rows(
    store: Store, endpoint: str, since_s: float, until_s: float | None
) -> tuple[list[sqlite3.Row], list[sqlite3.Row]]:
    bound = " AND {0}.at_s >= ? AND {0}.at_s <= ? ORDER BY {0}.at_s"
    values = (endpoint, since_s, until_s if until_s is not None else float("inf"))
    scrapes = store.rows(_SELECT_SCRAPE + bound.format("s"), values)
    return scrapes, store.rows(_SELECT_ENGINES + bound.format("e") + ", e.position", values)


def _fact(conn: sqlite3.Connection, body: str, known: dict[str, int]) -> int:
    """The id of a shared text, stored on first sight."""
    if body not in known:
        digest = hashlib.sha256(body.encode()).hexdigest()[:32]
        conn.execute("INSERT OR IGNORE INTO page_facts (digest, body) VALUES (?, ?)", (digest, body))
        known[body] = conn.execute("SELECT id FROM page_facts WHERE digest = ?", (digest,)).fetchone()[0]
    return known[body]


def _scrape_row(reading: Reading, facts_id: int, sweep_id: int | None) -> tuple[object, ...]:
    kind = str(reading.engine_kind) if reading.engine_kind is not None else None
    return (
        reading.endpoint, reading.at_s, reading.mono_s, str(reading.state), reading.reason, kind,
        reading.speculation_configured, reading.k, reading.process_start_s, reading.scrape_s, reading.page_bytes,
        len(reading.engines), facts_id, sweep_id,
    )  # fmt: skip


def _engine_row(conn: sqlite3.Connection, reading: Reading, position: int, known: dict[str, int]) -> tuple[object, ...]:
    engine = reading.engines[position]
    per_pos = json.dumps(engine.accepted_per_pos, separators=(",", ":")) if engine.accepted_per_pos else None
    edges_id = _fact(conn, pack_edges(engine.histograms), known) if engine.histograms else None
    counts = pack_counts(engine.histograms) if engine.histograms else None
    gauges = (getattr(engine, name) for name in _GAUGES)
    return (reading.endpoint, reading.at_s, position, engine.engine, *gauges, per_pos, edges_id, counts)


def _join(scrapes: Iterable[sqlite3.Row], engines: Iterable[sqlite3.Row], *, histograms: bool) -> list[StoredReading]:
    by_time: dict[float, list[EngineReading]] = {}
    for row in engines:
        by_time.setdefault(row["at_s"], []).append(_engine(row, histograms=histograms))
    # The two queries are two looks: a scrape written between them has no engine rows here yet, or the reverse.
    return [
        StoredReading(_reading(row, tuple(by_time.get(row["at_s"], ()))), row["sweep_id"])
        for row in scrapes
        if len(by_time.get(row["at_s"], ())) == row["engine_count"]
    ]


def _engine(row: sqlite3.Row, *, histograms: bool) -> EngineReading:
    fields = {name: row[name] for name in _GAUGES}
    fields["generation_tokens_live"] = bool(row["generation_tokens_live"])
    per_pos = row["accepted_per_pos"]
    return EngineReading(
        engine=row["engine"],
        accepted_per_pos=tuple(json.loads(per_pos)) if per_pos else (),
        histograms=unpack_histograms(row["edges"], row["histograms"]) if histograms and row["edges"] else {},
        **fields,
    )


def _reading(row: sqlite3.Row, engines: tuple[EngineReading, ...]) -> Reading:
    names, cache_config, matched = unpack_facts(row["facts"])
    configured = row["speculation_configured"]
    return Reading(
        endpoint=row["endpoint"],
        at_s=row["at_s"],
        mono_s=row["mono_s"],
        state=State(row["state"]),
        reason=row["reason"],
        engine_kind=EngineKind(row["engine_kind"]) if row["engine_kind"] is not None else None,
        engines=engines,
        model_names=names,
        speculation_configured=bool(configured) if configured is not None else None,
        k=row["k"],
        process_start_s=row["process_start_s"],
        cache_config=cache_config,
        matched_names=matched,
        scrape_s=row["scrape_s"],
        page_bytes=row["page_bytes"],
    )
