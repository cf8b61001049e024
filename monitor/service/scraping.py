"""One scrape loop per endpoint: its cadence, its phase, its back-off; readings go to a sink and nowhere else.

A scrape must never hurt the server: one in flight, phases spread out, slower after failures or slow pages.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from probes.scrape.identity import identify
from probes.scrape.rates import restarted
from probes.scrape.scrape import Scraper
from probes.values import Identity, Reading, State, Target

log = logging.getLogger(__name__)

MAX_BACKOFF = 6.0
"""Longest wait between two scrapes of a failing endpoint, in intervals (30 s at the default interval)."""
IDENTITY_EVERY_S = 600.0
"""A server's version and model are asked again this often, and at once after a restart."""


class ScrapeLoops:
    """Scrapes every target for ever; `on_reading` and `on_identity` are called in the event loop, and must be quick."""

    def __init__(
        self,
        targets: Mapping[str, Target],
        *,
        interval_s: float,
        timeout_s: float,
        max_bytes: int,
        gzip: bool,
        on_reading: Callable[[Reading], None],
        on_identity: Callable[[str, Identity], None],
    ) -> None:
        self._targets = dict(targets)
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._gzip = gzip
        self._on_reading = on_reading
        self._on_identity = on_identity

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for target in self._targets.values():
                group.create_task(self._loop(target), name=f"scrape {target.name}")

    async def _loop(self, target: Target) -> None:
        scraper = Scraper(target, timeout_s=self._timeout_s, max_bytes=self._max_bytes, gzip=self._gzip)
        identity_due = 0.0
        previous: Reading | None = None
        failures = 0
        try:
            await asyncio.sleep(phase_s(target.name, min(self._interval_s, 5.0)))
            while True:
                started = time.monotonic()
                try:
                    reading = await scraper.read()
                    self._on_reading(reading)
                    failures = 0 if reading.state is State.OK else failures + 1
                    if reading.state is State.OK:
                        if previous is not None and restarted(previous, reading):
                            identity_due = 0.0
                        if started >= identity_due:
                            identity = await identify(target, timeout_s=self._timeout_s)
                            self._on_identity(target.name, identity)
                            known = identity.version is not None and identity.model_root is not None
                            identity_due = started + (IDENTITY_EVERY_S if known else 6 * self._interval_s)
                        previous = reading
                except Exception:
                    # One endpoint's odd page must not end the scraping of all others.
                    failures += 1
                    log.exception("event=scrape_failed endpoint=%s", target.name)
                took = time.monotonic() - started
                await asyncio.sleep(wait_s(self._interval_s, took, failures))
        finally:
            with suppress(Exception):
                await scraper.aclose()


def phase_s(name: str, interval_s: float) -> float:
    """A fixed share of the interval, from the endpoint's name, so that scrapes do not all start together."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 * interval_s * 0.5


def wait_s(interval_s: float, took_s: float, failures: int) -> float:
    """Pause before the next scrape: the rest of the interval, doubled per failure up to MAX_BACKOFF intervals.

    A page that took more than half the interval is followed by a whole interval of rest.
    """
    if failures:
        # Bounded before the power is taken: a server that is down for a night would overflow it.
        return interval_s * min(2.0 ** min(failures - 1, 16), MAX_BACKOFF)
    if took_s > interval_s / 2:
        return interval_s
    return interval_s - took_s
