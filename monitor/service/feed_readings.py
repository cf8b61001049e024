"""Readings for the statuses that a viewer draws; of a large fleet the stretches of own traffic are looked up in turns.

A stretch is up to a quarter of an hour long and the dearest thing to find; what it says hardly changes in seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from monitor.config.model import EndpointConfig
from monitor.service.statuses import StoredReadings
from monitor.store.db import Store
from monitor.values import StoredReading
from probes.values import Identity, Reading

KEEP_S_PER_ENDPOINT = 0.04
"""Two dozen endpoints are looked up at every look of a viewer, which comes once a second."""
KEEP_S = 10.0
_Stretch = tuple[Reading, Reading, Reading] | None


class ViewedReadings:
    """A store's readings. Not for two threads at once."""

    def __init__(self, store: Store, endpoints: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._stored = StoredReadings(store)
        self._keep_s = min(KEEP_S, KEEP_S_PER_ENDPOINT * endpoints)
        self._clock = clock
        self._stretches: dict[str, tuple[float, float, _Stretch]] = {}
        """When it was looked up, since when it was asked for, and what was found."""

    def window(self, endpoint: str, since_s: float) -> Sequence[StoredReading]:
        return self._stored.window(endpoint, since_s)

    def stretch(self, endpoint: str, since_s: float, newest_s: float) -> _Stretch:
        """Up to some seconds old; a new one where it is asked for since a later instant, as after a sweep."""
        now_s = self._clock()
        held = self._stretches.get(endpoint)
        if held is not None and now_s - held[0] < self._keep_s and abs(since_s - held[1]) <= self._keep_s:
            return held[2]
        found = self._stored.stretch(endpoint, since_s, newest_s)
        self._stretches[endpoint] = now_s, since_s, found
        return found

    def identity(self, endpoint: EndpointConfig) -> tuple[Identity | None, str | None]:
        return self._stored.identity(endpoint)
