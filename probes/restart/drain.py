"""Waits until a server has nothing to do, so that a restart cuts nobody off. Only reads its page."""

from __future__ import annotations

import asyncio
import time

from probes.sweep.totals import counts, in_system
from probes.sweep.watch import Reads
from probes.values import Reading, State

POLL_MAX_S = 1.0
POLL_MIN_S = 0.05
MISSES = 3
"""A busy server may fail one look; one that fails so many in a row has nothing left that could end."""


class NotDrained(Exception):
    """The server is not proven to have nothing to do."""

    def __init__(self, reason: str, requests: float | None) -> None:
        super().__init__(reason)
        self.requests = requests
        """How many were seen last; None where its page cannot tell."""


async def until_drained(scraper: Reads, *, quiet_s: float, bound_s: float) -> Reading:
    """The page once nothing was in the system, and nothing was answered, for `quiet_s` on end.

    Counters are watched too, because gauges miss what is short. A page that cannot be read is no proof of idleness.
    Raises NotDrained where `bound_s` passes first.
    """
    poll_s = min(POLL_MAX_S, max(POLL_MIN_S, quiet_s / 5))
    end_s = time.monotonic() + bound_s
    since_s: float | None = None
    last: Reading | None = None
    while True:
        reading = await scraper.read()
        if not _idle(reading):
            since_s, last = None, None
        elif last is None or counts(last) != counts(reading):
            since_s, last = reading.mono_s, reading
        if since_s is not None and reading.mono_s - since_s >= quiet_s:
            return reading
        if time.monotonic() > end_s:
            raise NotDrained(
                f"it was not without requests for {quiet_s:g} s within {bound_s:g} s ({_seen(reading)}),"
                " so it is not restarted",
                in_system(reading) if reading.state is State.OK else None,
            )
        await asyncio.sleep(poll_s)


async def let_end(scraper: Reads, *, bound_s: float) -> Reading:
    """The last page, once what is in the system has ended, after `bound_s` at the latest, or where nobody answers."""
    end_s = time.monotonic() + bound_s
    missed = 0
    while True:
        reading = await scraper.read()
        missed = 0 if reading.state is State.OK else missed + 1
        if _idle(reading) or missed == MISSES or time.monotonic() >= end_s:
            return reading
        await asyncio.sleep(min(POLL_MAX_S, max(POLL_MIN_S, bound_s / 20)))


def _idle(reading: Reading) -> bool:
    return reading.state is State.OK and in_system(reading) == 0


def _seen(reading: Reading) -> str:
    if reading.state is not State.OK:
        return f"it is {reading.state.words}: {reading.reason}"
    load = in_system(reading)
    if load is None:
        return "its page does not show how many requests are running"
    return f"{load:g} in the system" if load else "requests kept being answered"
