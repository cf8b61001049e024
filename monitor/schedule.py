"""Starts callbacks at their crontab's times on the running event loop; the only importer of APScheduler.

It knows when, never whether: pause, window and traffic are the gate's business. What it could not start, it says.
"""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from monitor.config.crontab import Crontab, next_run, parse_crontab
from monitor.config.times import zone

log = logging.getLogger(__name__)

_GRACE_S = 3600
"""A run this late (a suspended machine, a blocked loop) is still started; whether it may run, the gate decides."""


def next_fire(crontab: str, timezone: str, after: datetime) -> datetime | None:
    """First time later than `after` (which carries a zone) that the crontab names, None where it never comes.

    Raises ValueError with a sentence for people where the crontab or the zone cannot be read. Daylight saving: a
    skipped wall time runs when the clock would have shown it, a repeated one the first time only.
    """
    return next_run(parse_crontab(crontab), zone(timezone), after)


class Trouble(StrEnum):
    """Why a scheduled start did not go as planned."""

    MISSED = "missed"
    OVERLAP = "overlap"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ScheduleEvent:
    """A scheduled start that did not go as planned."""

    trouble: Trouble
    pool: str
    due: datetime
    text: str


class SweepScheduler:
    """One schedule per pool: late runs are merged into one, a run still going is never doubled.

    `on_trouble` hears of every start that was missed, overlapped or raised, on the event loop; without one they are
    logged as warnings.
    """

    def __init__(self, on_trouble: Callable[[ScheduleEvent], None] | None = None) -> None:
        self._on_trouble = on_trouble or _log
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": _GRACE_S},
        )
        self._scheduler.add_listener(self._tell, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_ERROR)

    def add(self, pool: str, crontab: str, timezone: str, callback: Callable[[str], Awaitable[None]]) -> None:
        """Call `callback(pool)` at every time of the crontab; a pool has one schedule, a second replaces the first.

        Raises ValueError like `next_fire`.
        """
        trigger = _CrontabTrigger(parse_crontab(crontab), zone(timezone))
        self._scheduler.add_job(_await, trigger, args=[callback, pool], id=pool, replace_existing=True)

    def start(self) -> None:
        """Begin on the running event loop."""
        self._scheduler.start()

    def shutdown(self) -> None:
        """Start nothing more and cancel a callback that is running. Safe to call twice."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def next_times(self) -> dict[str, datetime]:
        """Next start of every pool, in its schedule's zone; empty before `start`."""
        due = {job.id: getattr(job, "next_run_time", None) for job in self._scheduler.get_jobs()}
        return {pool: at for pool, at in due.items() if at is not None}

    def _tell(self, event: object) -> None:
        code, pool = getattr(event, "code", 0), str(getattr(event, "job_id", ""))
        times = getattr(event, "scheduled_run_times", None) or [getattr(event, "scheduled_run_time", None)]
        due = times[0] if times[0] is not None else datetime.now(UTC)
        when = f"the sweep of {pool} due at {due:%Y-%m-%d %H:%M %Z}"
        if code == EVENT_JOB_MISSED:
            told = ScheduleEvent(Trouble.MISSED, pool, due, f"{when} was missed by more than {_GRACE_S // 60} minutes")
        elif code == EVENT_JOB_MAX_INSTANCES:
            told = ScheduleEvent(Trouble.OVERLAP, pool, due, f"{when} was left out: the one before is still running")
        else:
            error = getattr(event, "exception", None)
            if isinstance(error, CancelledError):
                return
            told = ScheduleEvent(Trouble.ERROR, pool, due, f"{when} failed: {error or type(error).__name__}")
        self._on_trouble(told)


def _log(event: ScheduleEvent) -> None:
    log.warning("event=schedule_%s pool=%s text=%r", event.trouble.value, event.pool, event.text)


async def _await(callback: Callable[[str], Awaitable[None]], pool: str) -> None:
    """A coroutine function for APScheduler, which would run any other callable in a thread."""
    await callback(pool)


class _CrontabTrigger(BaseTrigger):  # type: ignore[misc]  # APScheduler 3 ships no types
    """Our reading of a crontab in APScheduler's terms."""

    __slots__ = ("_crontab", "_zone")

    def __init__(self, crontab: Crontab, place: tzinfo) -> None:
        self._crontab = crontab
        self._zone = place

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """The run after the previous one, so that those missed in between are seen (and merged)."""
        return next_run(self._crontab, self._zone, previous_fire_time or now)
