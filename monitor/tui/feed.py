"""Where the screens get their snapshot and leave their wishes; the implementations live outside this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from monitor.values import Snapshot


class Feed(Protocol):
    """A source of snapshots: a reader of the store, a local scraper, a replay, or a test's hand-made scene."""

    async def snapshot(self) -> Snapshot:
        """The newest state. May raise: the screens then show a banner and keep what they have."""
        ...

    async def request(self, kind: str, subject: str, reason: str, args: Mapping[str, object]) -> str:
        """Hand over an intent (`sweep` | `abort` | `ack`); returns one sentence for the person, raises with one."""
        ...
