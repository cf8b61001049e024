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
from monitor.config.model import Config
from monitor.config.targets import pool_of
from monitor.service.budget import restore_bound_s

log = logging.getLogger(__name__)

STOP_GRACE_S = 60.0
"""How long a child may take to close its streams, see the server let go of them (SGLang shows that up to 35 s late) and
write its end before it is killed."""
SAY_EVERY_S = 30.0


def grace_s(config: Config, pool: str) -> float:
    """The same for one pool: where its sweep restarts a server, the child first puts that back, which takes minutes."""
    probing = next((e for e in config.endpoint if e.probe is not None and pool_of(e) == pool), None)
    if probing is None or probing.probe is None or not any(arm.restart is not None for arm in probing.arm):
        return STOP_GRACE_S
    return STOP_GRACE_S + restore_bound_s(probing.probe)


class SweepChildren:
    """The sweeps this daemon has started, at most one per pool."""

    def __init__(self, config_path: Path, config: Config) -> None:
        self._config_path = config_path
        self._config = config
        self._pools: set[str] = set()
        self._running: dict[asyncio.subprocess.Process, str] = {}
        self._told: set[asyncio.subprocess.Process] = set()

    def busy(self, pool: str) -> bool:
        """Whether a sweep of this pool was started here and has not ended."""
        return pool in self._pools

    async def run(
        self,
        pool: str,
        *,
        trigger: str,
        who: str,
        now: bool = False,
        fresh: bool = False,
        arms: tuple[str, ...] = (),
        intent: int | None = None,
    ) -> int:
        """Run one sweep to its end and return its exit code (that of `specwatch sweep`); 6 where the pool is busy."""
        if pool in self._pools:
            return exit_codes.RUNNING
        self._pools.add(pool)
        try:
            words = ["--trigger", trigger, "--who", who, "--parent", str(os.getpid())]
            words += [*(["--now"] if now else []), *(["--fresh"] if fresh else [])]
            words += [part for arm in arms for part in ("--arm", arm)]
            words += ["--intent", str(intent)] if intent is not None else []
            return await self._run(pool, words, trigger, who)
        finally:
            self._pools.discard(pool)

    async def end_all(self) -> None:
        """End every sweep that still runs; returns when all have closed their streams, or were killed."""
        await asyncio.gather(*(self._end(child, pool) for child, pool in self._running.items()))

    async def _run(self, pool: str, words: list[str], trigger: str, who: str) -> int:
        command = [sys.executable, "-P", "-m", "monitor.cli", "sweep", pool, "--direct"]
        command += ["--config", str(self._config_path)]
        child = await asyncio.create_subprocess_exec(
            *command,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        self._running[child] = pool
        log.info("event=sweep_started pool=%s pid=%s trigger=%s who=%s", pool, child.pid, trigger, who)
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            await self._end(child, pool)
            raise
        finally:
            self._running.pop(child, None)
            self._told.discard(child)
        log.info("event=sweep_ended pool=%s exit=%s", pool, code)
        return code

    async def _end(self, child: asyncio.subprocess.Process, pool: str) -> None:
        if child.returncode is not None:
            return
        if child not in self._told:
            # Once only: to a sweep a second signal means "at once", without a word to the store.
            self._told.add(child)
            child.send_signal(signal.SIGTERM)
        left_s = grace_s(self._config, pool)
        while left_s > 0:
            step_s = min(left_s, SAY_EVERY_S)
            try:
                async with asyncio.timeout(step_s):
                    await child.wait()
                    return
            except TimeoutError:
                left_s -= step_s
                log.warning("event=sweep_ending pool=%s pid=%s waits_at_most_s=%.0f", pool, child.pid, left_s)
        child.kill()
        await child.wait()
