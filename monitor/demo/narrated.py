"""The demo's snapshots: those of its store, with a line on what the story does to the servers meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from monitor.service.feed import StoreFeed
from monitor.values import Snapshot


class NarratedFeed:
    """A feed that says what happens; wishes go on to the store's."""

    def __init__(self, feed: StoreFeed, note: Callable[[], str]) -> None:
        self._feed, self._note = feed, note

    async def snapshot(self) -> Snapshot:
        """The newest state and the newest word."""
        return replace(await self._feed.snapshot(), note=self._note())

    async def request(self, kind: str, subject: str, reason: str, args: Mapping[str, object]) -> str:
        """As the store's own."""
        return await self._feed.request(kind, subject, reason, args)
