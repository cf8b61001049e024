"""Tells whether a process that a dead sweep started still runs, and ends it with its whole group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from probes.restart.journal import Proc

TERM_GRACE_S = 5.0
KILL_GRACE_S = 5.0
POLL_S = 0.05


def identify_process(pid: int) -> Proc:
    """What tells this process from any later one with its pid."""
    seen = _stat(pid)
    return Proc(pid, None if seen is None else seen[1], _boot_id())


def still_runs(proc: Proc) -> bool:
    """Whether it is that very process and not dead; False where the system does not tell."""
    if proc.start_ticks is None or proc.boot_id != _boot_id():
        return False
    seen = _stat(proc.pid)
    return seen is not None and seen[1] == proc.start_ticks and seen[0] not in "ZX"


async def end_group(leader: int, ended: Callable[[], bool]) -> bool:
    """SIGTERM, then SIGKILL to the group of `leader`; whether `ended` came true.

    A second cancellation does not wait for the grace.
    """
    try:
        for number, grace_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, KILL_GRACE_S)):
            _signal(leader, number)
            end_s = time.monotonic() + grace_s
            while not ended() and time.monotonic() < end_s:  # noqa: ASYNC110 - a process of others tells nobody
                await asyncio.sleep(POLL_S)
            if ended():
                break
    finally:
        # What ignored SIGTERM while its leader obeyed must not go on either.
        _signal(leader, signal.SIGKILL)
    return ended()


def _signal(leader: int, number: signal.Signals) -> None:
    # PermissionError: a command under sudo cannot be signalled; whoever waits for its end sees that it goes on.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _stat(pid: int) -> tuple[str, int] | None:
    """State letter and start time in ticks."""
    try:
        # The name in brackets may hold spaces and brackets itself.
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return words[0], int(words[19])
    except (OSError, ValueError, IndexError):
        return None


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
