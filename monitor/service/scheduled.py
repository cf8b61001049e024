"""Runs scheduled sweeps in the daemon: at their times, again after a refusal, and late where nobody was there.

When and whether is decided by `scheduling.py` and, in the sweep process, by the gate; here it is only carried out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from monitor import exit_codes
from monitor.config.model import Config, ProbeConfig
from monitor.config.targets import pool_of
from monitor.schedule import SweepScheduler
from monitor.service.died import settle_dead_sweeps
from monitor.service.scheduling import OVER, missed_start, next_try
from monitor.service.sweep_child import SweepChildren
from monitor.store.db import Store
from monitor.store.intents import abort_requested
from monitor.store.sweeps import pool_sweeps
from monitor.values import SweepRecord
from monitor.who import who_am_i
from probes.sweep.hours import in_window

log = logging.getLogger(__name__)

LOOK_BACK = 200
"""Newest sweeps of a pool that can tell of one night: a window of a day with a refusal every ten minutes has 144."""


class ScheduledSweeps:
    """Every pool that has a schedule."""

    def __init__(self, config: Config, store: Store, children: SweepChildren, clock: Callable[[], float]) -> None:
        self._store, self._children, self._clock = store, children, clock
        self._probes: dict[str, ProbeConfig] = {
            pool_of(e): e.probe for e in config.endpoint if e.probe is not None and e.probe.schedule is not None
        }
        self._scheduler = SweepScheduler()
        self._at_it: set[str] = set()

    def start(self, group: asyncio.TaskGroup) -> None:
        """Begin on the running loop; what was missed inside a window that is still open is caught up at once."""
        now_s = self._clock()
        for pool, probe in self._probes.items():
            assert probe.schedule is not None
            self._scheduler.add(pool, probe.schedule, probe.timezone, self.run)
            fired_s = missed_start(probe, pool_sweeps(self._store, pool, LOOK_BACK), now_s)
            if fired_s is not None:
                due = datetime.fromtimestamp(fired_s, UTC)
                log.info("event=sweep_caught_up pool=%s due=%s window=%s", pool, due.isoformat(), probe.window)
                group.create_task(self.run(pool), name=f"catch up {pool}")
        self._scheduler.start()

    def shutdown(self) -> None:
        """Start nothing more. Safe to call twice."""
        self._scheduler.shutdown()

    def next_times(self) -> dict[str, datetime]:
        """When each pool's schedule fires next."""
        return self._scheduler.next_times()

    async def run(self, pool: str) -> None:
        """One scheduled start with all its tries."""
        probe = self._probes[pool]
        if probe.window is not None and not in_window(probe.window, probe.timezone, self._clock()):
            log.warning("event=sweep_missed pool=%s window=%s", pool, probe.window)
            return
        if pool in self._at_it:
            log.warning("event=sweep_skipped pool=%s reason=already_trying", pool)
            return
        self._at_it.add(pool)
        try:
            await self._try(pool, probe)
        except Exception:
            # One pool's fault must not end the daemon, in whose task group a late start runs.
            log.exception("event=scheduled_sweep_failed pool=%s", pool)
        finally:
            self._at_it.discard(pool)

    async def _try(self, pool: str, probe: ProbeConfig) -> None:
        began_s, tries = self._clock(), 0
        while True:
            tries += 1
            tried_s = self._clock()
            code = await self._children.run(pool, trigger="schedule", who="@".join(who_am_i()))
            # A child that was killed has left its sweep open.
            settle_dead_sweeps(self._store, self._clock())
            last = self._newest(pool, tried_s)
            if last is None and code != exit_codes.RUNNING:
                log.error("event=sweep_not_begun pool=%s exit=%s", pool, code)
                return
            at_s = next_try(last, tries, probe, self._clock())
            if at_s is None:
                return
            when = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
            why = last.ended_by or last.outcome if last is not None else "already_running"
            words = last.reason if last is not None else ""
            log.info("event=sweep_retry pool=%s after=%s why=%s at=%s reason=%r", pool, tries, why, when, words)
            await asyncio.sleep(max(0.0, at_s - self._clock()))
            if (stopped := abort_requested(self._store, pool, began_s)) is not None:
                log.info("event=sweep_retry_dropped pool=%s reason=%r", pool, stopped)
                return
            if self._answered(pool, began_s):
                log.info("event=sweep_retry_dropped pool=%s reason=swept_meanwhile", pool)
                return

    def _newest(self, pool: str, since_s: float) -> SweepRecord | None:
        found = pool_sweeps(self._store, pool, 5)
        return next((s for s in found if s.trigger == "schedule" and s.started_at_s >= since_s), None)

    def _answered(self, pool: str, since_s: float) -> bool:
        """Somebody else's sweep of this night has come to an end of its own."""
        return any(s.outcome in OVER and s.started_at_s >= since_s for s in pool_sweeps(self._store, pool, LOOK_BACK))
