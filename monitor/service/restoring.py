"""Puts servers back that a dead sweep left in one of its arms, and says which are not back yet."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from monitor.config.load import Loaded
from monitor.service.guardian_process import POLL_S, NoGuardian, part_from, start_guardian
from monitor.service.locks import LOOK_S, LOOKS, holder_of
from probes.restart.journal import JournalError
from probes.restart.journal_file import JournalFile
from probes.restart.paths import RestartPaths, journals_beside
from probes.restart.steps import next_try_s, what_is_owed

log = logging.getLogger(__name__)

IN_UNIT = "INVOCATION_ID"
"""Set by systemd in a unit: when its main process ends, all others of the unit are killed."""


class Restoring(StrEnum):
    """How one journal stands."""

    RESTORED = "restored"
    FAILED = "failed"
    """Tried and failed; the journal is kept and it will be tried again."""
    ORPHAN = "orphan"
    """Nobody holds it; the next `restore_orphans` takes it."""
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
    start. Cancelling it leaves the restoring to a process of its own, which goes on; under systemd, where that process
    would be ended with this one, the cancellation waits for it.
    """
    found = journals_beside(loaded.store_path)
    return list(await asyncio.gather(*(_restore(paths, now_s, at_once=at_once) for paths in found)))


def journals_left(store_path: Path) -> list[RestoreResult]:
    """Every journal beside the store as it stands; touches nothing, for screens and pages."""
    return [_look(paths) for paths in journals_beside(store_path)]


async def _restore(paths: RestartPaths, now_s: float, *, at_once: bool) -> RestoreResult:
    seen = await _look_patiently(paths)
    if seen.state is not Restoring.ORPHAN:
        return seen
    try:
        if not at_once and next_try_s(JournalFile(paths.journal).read(), now_s) > now_s:
            return replace(seen, state=Restoring.WAITING)
        guardian = start_guardian(paths, once=True)
    except (JournalError, NoGuardian) as error:
        return replace(seen, state=Restoring.FAILED, reason=str(error))
    try:
        await _end_of(guardian)
    except asyncio.CancelledError:
        try:
            if IN_UNIT in os.environ:
                log.warning("event=stop_waits endpoint=%s reason=its server is being put back", paths.endpoint)
                await _end_of(guardian)
        finally:
            part_from(guardian)
        raise
    if not JournalFile(paths.journal).exists():
        return RestoreResult(paths.endpoint, paths.journal, Restoring.RESTORED, "")
    after = await _look_patiently(paths)
    if after.state is Restoring.IN_HAND:
        return after
    reason = after.reason or f"the guardian ended with exit {guardian.returncode}; see {paths.log}"
    return replace(after, state=Restoring.FAILED, reason=reason)


async def _end_of(guardian: subprocess.Popen[bytes]) -> None:
    while guardian.poll() is None:  # noqa: ASYNC110 - it is a process, and tells nobody
        await asyncio.sleep(POLL_S)


async def _look_patiently(paths: RestartPaths) -> RestoreResult:
    # A process that is killed keeps its locks until the kernel has freed its memory: some milliseconds in which it is
    # no longer to be seen and seems to hold on. A guardian that wakes up to see what is due holds it for a moment, too.
    for _ in range(LOOKS - 1):
        seen = _look(paths)
        if seen.state is not Restoring.IN_HAND:
            return seen
        await asyncio.sleep(LOOK_S)
    return _look(paths)


def _look(paths: RestartPaths) -> RestoreResult:
    held = holder_of(paths.lock) is not None
    try:
        journal = JournalFile(paths.journal).read()
    except JournalError as error:
        if not JournalFile(paths.journal).exists():
            return RestoreResult(paths.endpoint, paths.journal, Restoring.RESTORED, "")
        # Whoever may not read it (a screen of another user) cannot tell more than that somebody is at it.
        state = Restoring.IN_HAND if held else Restoring.FAILED
        return RestoreResult(paths.endpoint, paths.journal, state, str(error))
    reason = f"{journal.error}. Still to do: {what_is_owed(journal)}" if journal.error else ""
    return RestoreResult(
        endpoint=journal.orders.endpoint,
        journal=paths.journal,
        state=Restoring.IN_HAND if held else Restoring.ORPHAN,
        reason=reason,
        attempts=journal.attempts,
    )
