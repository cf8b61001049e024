"""One look at every server that the config names, all at once and in bounded time; sends no prompt, stores nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.config.model import ScrapeConfig
from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.values import Identity, Reading, State, Target

_TIMEOUTS_PER_LOOK = 3
"""A scrape, then the identity requests together, and one to spare."""
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Look:
    """What one server said."""

    target: Target
    state: State
    reason: str
    reading: Reading | None
    identity: Identity

    @property
    def ok(self) -> bool:
        """Whether its metrics page could be read."""
        return self.state is State.OK


async def look_at_all(targets: Sequence[Target], scrape: ScrapeConfig) -> list[Look]:
    """One look per target, in order; a server that fails or dawdles is a named state, never an exception."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(target: Target) -> Look:
        async with turn:
            return await _look(target, scrape)

    return await asyncio.gather(*(one(target) for target in targets))


async def _look(target: Target, scrape: ScrapeConfig) -> Look:
    limit_s = scrape.timeout_s * _TIMEOUTS_PER_LOOK
    try:
        async with asyncio.timeout(limit_s):
            scraper = Scraper(target, timeout_s=scrape.timeout_s, max_bytes=scrape.max_page_bytes, gzip=scrape.gzip)
            try:
                reading = await scraper.read()
            finally:
                await scraper.aclose()
            identity = Identity() if reading.state is State.DOWN else await identify(target, timeout_s=scrape.timeout_s)
    except TimeoutError:
        return Look(target, State.DOWN, f"did not finish answering within {limit_s:g} s", None, Identity())
    return Look(target, reading.state, reading.reason, reading, identity)
