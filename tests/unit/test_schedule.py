"""Schedules fire when cron would: day names and numbers, either day field, daylight saving, one run at a time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.schedule import ScheduleEvent, SweepScheduler, Trouble, next_fire

BERLIN = ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2026, 5, 2, 12, 0, tzinfo=UTC)


def fires(crontab: str, zone: str, after: datetime, count: int) -> list[datetime]:
    found = []
    for _ in range(count):
        due = next_fire(crontab, zone, after)
        assert due is not None
        found.append(due)
        after = due
    return found


@pytest.mark.parametrize("sunday", ["0", "7", "sun", "Sun", "sunday"])
def test_sunday_by_name_and_by_both_of_crontabs_numbers(sunday: str) -> None:
    due = next_fire(f"0 3 * * {sunday}", "UTC", SATURDAY)
    assert due == datetime(2026, 5, 3, 3, 0, tzinfo=UTC)
    assert due.strftime("%a") == "Sun"


@pytest.mark.parametrize("days", ["1-5", "mon-fri", "1,2,3,4,5", "mon,tue,wed,thu,fri"])
def test_weekdays_start_on_monday_not_tuesday(days: str) -> None:
    assert [due.strftime("%a") for due in fires(f"0 4 * * {days}", "UTC", SATURDAY, 6)] == [
        "Mon", "Tue", "Wed", "Thu", "Fri", "Mon",
    ]  # fmt: skip


def test_ranges_steps_and_names() -> None:
    days = [due.strftime("%a") for due in fires("0 4 * * fri-sun", "UTC", SATURDAY, 4)]
    assert days == ["Sun", "Fri", "Sat", "Sun"]
    assert [due.hour for due in fires("0 */6 * * *", "UTC", SATURDAY, 4)] == [18, 0, 6, 12]
    assert [due.minute for due in fires("10-50/20 * * * *", "UTC", SATURDAY, 3)] == [10, 30, 50]
    assert [due.month for due in fires("0 0 1 feb,AUG *", "UTC", SATURDAY, 2)] == [8, 2]
    assert next_fire("0 0 29 2 *", "UTC", SATURDAY) == datetime(2028, 2, 29, tzinfo=UTC)
    assert next_fire("0 0 31 2 *", "UTC", SATURDAY) is None


def test_both_day_fields_mean_either_as_in_cron() -> None:
    days = [due.strftime("%a %d") for due in fires("0 3 10 * sun", "UTC", SATURDAY - timedelta(days=1), 3)]
    assert days == ["Sun 03", "Sun 10", "Sun 17"]
    assert [due.day for due in fires("0 3 13 * sun", "UTC", SATURDAY, 4)] == [3, 10, 13, 17]


@pytest.mark.parametrize("wrong", ["", "0 3 * *", "0 3 * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
                                   "* * * * 8", "x * * * *", "*/0 * * * *", "5-1 * * * *", "* * * * fri-mon", "@daily",
                                   "1,,2 * * * *", "-1 * * * *"])  # fmt: skip
def test_what_is_no_crontab_is_said_in_words(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ .*(is|has|runs)"):
        next_fire(wrong, "UTC", SATURDAY)


def test_a_wall_time_skipped_in_spring_runs_once_an_hour_later() -> None:
    due = fires("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=BERLIN), 3)
    assert [d.astimezone(UTC).isoformat() for d in due] == [
        "2026-03-29T01:30:00+00:00",
        "2026-03-30T00:30:00+00:00",
        "2026-03-31T00:30:00+00:00",
    ]
    assert due[0].strftime("%H:%M %Z") == "03:30 CEST"


def test_a_wall_time_that_comes_twice_in_autumn_runs_the_first_time_only() -> None:
    due = fires("30 2 * * *", "Europe/Berlin", datetime(2026, 10, 24, 12, tzinfo=BERLIN), 3)
    assert [d.astimezone(UTC).isoformat() for d in due] == [
        "2026-10-25T00:30:00+00:00",
        "2026-10-26T01:30:00+00:00",
        "2026-10-27T01:30:00+00:00",
    ]
    between = datetime(2026, 10, 25, 0, 45, tzinfo=UTC)
    assert next_fire("30 2 * * *", "Europe/Berlin", between) == due[1]


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    start_s=st.integers(1_577_836_800, 2_051_222_400),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"]),
)
def test_a_daily_time_comes_exactly_once_a_day(minute: int, hour: int, start_s: int, zone: str) -> None:
    """Ten days in a row, whatever the clocks do: ten runs on ten days, rising, each later than its predecessor."""
    after = datetime.fromtimestamp(start_s, UTC)
    due = fires(f"{minute} {hour} * * *", zone, after, 10)
    assert due[0] > after
    assert len({d.date() for d in due}) == 10
    gaps = [b.astimezone(UTC) - a.astimezone(UTC) for a, b in pairwise(due)]
    assert all(timedelta(hours=22) < gap < timedelta(hours=26) for gap in gaps)


async def test_a_due_run_calls_back_with_its_pool_and_next_times_are_shown() -> None:
    called: asyncio.Queue[str] = asyncio.Queue()
    scheduler = SweepScheduler()
    scheduler.add("chat-70b", "* * * * *", "Europe/Berlin", called.put)
    scheduler.add("idle", "0 3 31 2 *", "UTC", called.put)
    assert scheduler.next_times() == {}
    scheduler.start()
    try:
        now = datetime.now(UTC)
        times = scheduler.next_times()
        assert set(times) == {"chat-70b"}
        assert now < times["chat-70b"] <= now + timedelta(minutes=2)
        assert str(times["chat-70b"].tzinfo) == "Europe/Berlin"
        _make_due(scheduler, "chat-70b", late_s=30)
        assert await asyncio.wait_for(called.get(), 10) == "chat-70b"
    finally:
        scheduler.shutdown()
        scheduler.shutdown()


async def test_late_runs_are_merged_into_one() -> None:
    called: asyncio.Queue[str] = asyncio.Queue()
    scheduler = SweepScheduler()
    scheduler.add("chat", "* * * * *", "UTC", called.put)
    scheduler.start()
    try:
        _make_due(scheduler, "chat", late_s=2 * 3600)
        await asyncio.wait_for(called.get(), 10)
        assert called.empty()
    finally:
        scheduler.shutdown()


async def test_what_could_not_start_is_told() -> None:
    events: asyncio.Queue[ScheduleEvent] = asyncio.Queue()
    running, release = asyncio.Event(), asyncio.Event()

    async def hold(pool: str) -> None:
        running.set()
        await release.wait()
        raise RuntimeError("arm off is down")

    scheduler = SweepScheduler(events.put_nowait)
    scheduler.add("chat", "0 3 * * *", "UTC", hold)
    scheduler.start()
    try:
        _make_due(scheduler, "chat", late_s=2 * 3600)
        missed = await asyncio.wait_for(events.get(), 10)
        assert (missed.trouble, missed.pool) == (Trouble.MISSED, "chat")

        _make_due(scheduler, "chat", late_s=1)
        await asyncio.wait_for(running.wait(), 10)
        _make_due(scheduler, "chat", late_s=1)
        assert (await asyncio.wait_for(events.get(), 10)).trouble is Trouble.OVERLAP

        release.set()
        failed = await asyncio.wait_for(events.get(), 10)
        assert failed.trouble is Trouble.ERROR
        assert "arm off is down" in failed.text
    finally:
        scheduler.shutdown()


async def test_an_unreadable_schedule_is_refused_when_it_is_added() -> None:
    with pytest.raises(ValueError, match="five fields"):
        SweepScheduler().add("chat", "@daily", "UTC", asyncio.Queue[str]().put)


def _make_due(scheduler: SweepScheduler, pool: str, *, late_s: float) -> None:
    """Pretend that the pool's next run was due a while ago, as after a suspended night."""
    inner = scheduler._scheduler
    inner.modify_job(pool, next_run_time=datetime.now(UTC) - timedelta(seconds=late_s))
