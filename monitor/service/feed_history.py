"""Keeps the charts of all endpoints up to date for a viewer: what is finished is read once, and no snapshot waits long.

It holds points, no readings: the newest quarter of an hour of each configured endpoint and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from monitor.store.db import Store
from monitor.store.history import Known, history_on, newest_grid
from monitor.values import Sample

HISTORY_S = 900.0
HISTORY_POINTS = 180
BUDGET_S = 1.0
"""For reading charts, per snapshot. With hundreds of endpoints the first charts come with the next snapshots."""


class Histories:
    """The charts' points by endpoint. Not for two threads at once."""

    def __init__(self, store: Store, endpoints: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, Known] = {}
        self._points: dict[str, tuple[Sample, ...]] = {}
        self._due = list(endpoints)
        """The one that was read longest ago first."""

    def read(self, now_s: float, urgent: Collection[str] = ()) -> dict[str, tuple[Sample, ...]]:
        """As much as the budget allows, one endpoint at least; the others as they were, and absent until read once.

        Of those that were never read, `urgent` ones come first: somebody is about to look at them.
        """
        grid = newest_grid(now_s, HISTORY_S, HISTORY_POINTS)
        until_s = self._clock() + BUDGET_S
        due = sorted(self._due, key=lambda name: name in self._points or name not in urgent)
        read = 0
        for endpoint in due:
            known = self._known.setdefault(endpoint, Known())
            self._points[endpoint] = tuple(history_on(self._store, endpoint, grid, known))
            read += 1
            if self._clock() >= until_s:
                break
        self._due = due[read:] + due[:read]
        return {
            name: tuple(sample for sample in points if sample.at_s >= grid.since_s)
            for name, points in self._points.items()
        }
