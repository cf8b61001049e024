"""Sweeps as child processes: started by the daemon, watched, and never run inside it.

The child is `specwatch sweep --direct`: its own loop, its own garbage collector, its own crash.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from monitor import exit_codes

log = logging.getLogger(__name__)

STOP_GRACE_S = 15.0
"""How long a child may take to close its streams and write its end before it is killed."""


class SweepChildren:
    """The sweeps this daemon has started, at most one per pool."""

    def __init__(self, config_path: Path) -> None:
        self._config_path = config_path
        self._pools: set[str] = set()
        self._running: set[asyncio.subprocess.Process] = set()
        self._told: set[asyncio.subprocess.Process] = set()

    def busy(self, pool: str) -> bool:
        """Whether a sweep of this pool was started here and has not ended."""
        return pool in self._pools

    async def run(
        self, pool: str, *, trigger: str, who: str, now: bool, arms: tuple[str, ...] = (), intent: int | None = None
    ) -> int:
        """Run one sweep to its end and return its exit code (that of `specwatch sweep`); 6 where the pool is busy."""
        if pool in self._pools:
            return exit_codes.RUNNING
        self._pools.add(pool)
        try:
            return await self._run(pool, trigger=trigger, who=who, now=now, arms=arms, intent=intent)
        finally:
            self._pools.discard(pool)

    async def end_all(self) -> None:
        """End every sweep that still runs; returns when all have closed their streams, or were killed."""
        await asyncio.gather(*(self._end(child) for child in self._running))

    async def _run(
        self, pool: str, *, trigger: str, who: str, now: bool, arms: tuple[str, ...], intent: int | None
    ) -> int:
        command = [sys.executable, "-m", "monitor.cli", "sweep", pool, "--direct", "--config", str(self._config_path)]
        command += ["--trigger", trigger, "--who", who, "--parent", str(os.getpid())]
        command += ["--now"] if now else []
        command += [part for arm in arms for part in ("--arm", arm)]
        command += ["--intent", str(intent)] if intent is not None else []
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        self._running.add(child)
        log.info("event=sweep_started pool=%s pid=%s trigger=%s who=%s", pool, child.pid, trigger, who)
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            await self._end(child)
            raise
        finally:
            self._running.discard(child)
            self._told.discard(child)
        log.info("event=sweep_ended pool=%s exit=%s", pool, code)
        return code

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        if child.returncode is not None:
            return
        if child not in self._told:
            # Once only: to a sweep a second signal means "at once", without a word to the store.
            self._told.add(child)
            child.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_GRACE_S):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()
