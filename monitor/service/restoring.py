"""Puts servers back that a dead sweep left in one of its arms, and says which are not back yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from monitor.config.load import Loaded


class Restoring(StrEnum):
    """How one journal stands."""

    RESTORED = "restored"
    FAILED = "failed"
    """Tried and failed; the journal is kept and it will be tried again."""
    IN_HAND = "in_hand"
    """A living sweep, guardian or other process holds it."""
    WAITING = "waiting"
    """It failed before, and the next try is not due yet."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """One journal beside the store."""

    endpoint: str
    journal: Path
    state: Restoring
    reason: str
    """For people; empty where nothing is wrong."""
    attempts: int = 0
    """Tries to restore so far that failed."""

    @property
    def not_restored(self) -> bool:
        """Whether this is the loudest alert: nobody has put the server back, and somebody has tried."""
        return self.state is not Restoring.RESTORED and (self.state is Restoring.FAILED or self.attempts > 0)


async def restore_orphans(loaded: Loaded, now_s: float, *, at_once: bool = False) -> list[RestoreResult]:
    """Restore every journal that no living process holds; one result per journal beside the store.

    After a failed try the next waits longer each time; `at_once` does not wait. May take as long as a server takes to
    start. Cancelling it leaves the restoring to a process of its own, which goes on.
    """
    return []


def journals_left(store_path: Path) -> list[RestoreResult]:
    """Every journal beside the store as it stands; touches nothing, for screens and pages."""
    return []
