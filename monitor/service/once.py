"""Two scrapes of every endpoint (or the daemon's last minute), joined with the store's crossovers; writes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from monitor.config.load import Loaded
from monitor.config.targets import endpoint_target
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.service.statuses import MemoryReadings, StoredReadings, all_statuses
from monitor.store.db import Store
from monitor.values import EndpointStatus
from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.values import Target

GAP_S = 2.0
"""Between the two scrapes: long enough for counters to move, short enough for somebody who waits."""


async def look_once(loaded: Loaded, store: Store | None, names: Sequence[str]) -> tuple[EndpointStatus, ...]:
    """The status of these endpoints. With a daemon running its stored minute is used and nothing is scraped."""
    if store is not None and holder_of(daemon_lock_path(loaded.store_path)) is not None:
        statuses = _of(names, all_statuses(loaded.config, store, StoredReadings(store), time.time()))
        if all(s.age_s is not None or s.reason != "no scrape yet" for s in statuses):
            return statuses
    readings = MemoryReadings()
    targets = [endpoint_target(e) for e in loaded.config.endpoint if e.name in names]
    await asyncio.gather(*(_twice(t, loaded, readings) for t in targets))
    return _of(names, all_statuses(loaded.config, store, readings, time.time()))


def _of(names: Sequence[str], statuses: tuple[EndpointStatus, ...]) -> tuple[EndpointStatus, ...]:
    return tuple(status for status in statuses if status.name in names)


async def _twice(target: Target, loaded: Loaded, readings: MemoryReadings) -> None:
    scrape = loaded.config.scrape
    scraper = Scraper(target, timeout_s=scrape.timeout_s, max_bytes=scrape.max_page_bytes, gzip=scrape.gzip)
    try:
        readings.add(await scraper.read())
        started = time.monotonic()
        readings.add_identity(target.name, await identify(target, timeout_s=scrape.timeout_s))
        await asyncio.sleep(max(0.0, GAP_S - (time.monotonic() - started)))
        readings.add(await scraper.read())
    finally:
        await scraper.aclose()
