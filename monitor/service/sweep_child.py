"""Sweeps as child processes: started by the daemon, watched, and never run inside it.

The child is `specwatch sweep --direct`: its own loop, its own garbage collector, its own crash.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

log = logging.getLogger(__name__)

STOP_GRACE_S = 15.0
"""How long a child may take to close its streams and write its end before it is killed."""


class SweepChildren:
    """The sweeps this daemon has started, at most one per pool."""

    def __init__(self, config_path: Path) -> None:
        self._config_path = config_path
        self._running: dict[str, asyncio.subprocess.Process] = {}

    def busy(self, pool: str) -> bool:
        """Whether a sweep of this pool was started here and has not ended."""
        return pool in self._running

    async def run(
        self, pool: str, *, trigger: str, who: str, now: bool, arms: tuple[str, ...] = (), intent: int | None = None
    ) -> int:
        """Run one sweep to its end and return its exit code (that of `specwatch sweep`)."""
        command = [sys.executable, "-m", "monitor.cli", "sweep", pool, "--direct", "--config", str(self._config_path)]
        command += ["--trigger", trigger, "--who", who]
        command += ["--now"] if now else []
        command += [part for arm in arms for part in ("--arm", arm)]
        command += ["--intent", str(intent)] if intent is not None else []
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        self._running[pool] = child
        log.info("event=sweep_started pool=%s pid=%s trigger=%s who=%s", pool, child.pid, trigger, who)
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            await _end(child)
            raise
        finally:
            del self._running[pool]
        log.info("event=sweep_ended pool=%s exit=%s", pool, code)
        return code


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is not None:
        return
    child.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_GRACE_S):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
