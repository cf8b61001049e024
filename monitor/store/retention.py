"""Forgets old scrapes in small transactions; sweeps, crossovers, alerts and deliveries are kept for ever.

The file does not shrink: freed pages are used again, so it stays at its largest size.
"""

from __future__ import annotations

from monitor.store.db import Store
from monitor.store.readings import endpoint_names

BATCH = 2000
"""Scrapes per transaction: some ten milliseconds of write lock."""


def prune(store: Store, now_s: float, keep_s: float) -> int:
    """Delete readings older than `keep_s`; returns how many scrapes went. Raises StoreError."""
    horizon_s = now_s - keep_s
    return sum(_prune_endpoint(store, endpoint, horizon_s) for endpoint in endpoint_names(store))


def _prune_endpoint(store: Store, endpoint: str, horizon_s: float) -> int:
    gone = 0
    while True:
        batch = store.rows(
            "SELECT at_s FROM scrapes WHERE endpoint = ? AND at_s < ? ORDER BY at_s LIMIT ?",
            (endpoint, horizon_s, BATCH),
        )
        if not batch:
            return gone
        with store.write() as db:
            for table in ("engine_readings", "scrapes"):
                db.conn.execute(f"DELETE FROM {table} WHERE endpoint = ? AND at_s <= ?", (endpoint, batch[-1][0]))
        gone += len(batch)
