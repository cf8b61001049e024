"""A scheduled sweep is tried again while its night lasts, caught up within it, and never at noon."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from monitor.config.model import ProbeConfig
from monitor.service.scheduling import missed_start, next_try, worth_another
from monitor.values import SweepRecord
from tests.support.records import sweep_record

NIGHT = ProbeConfig(window="01:00-05:00", schedule="0 2 * * *", backoff_minutes=10.0)


def at(hour: int, minute: int = 0, day: int = 30) -> float:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC).timestamp()


def ended(outcome: str, ended_by: str = "", started_at_s: float = at(2)) -> SweepRecord:
    return sweep_record(outcome=outcome, ended_by=ended_by, started_at_s=started_at_s)


REFUSED = ended("refused", "live_load,kv_usage")


@pytest.mark.parametrize(
    ("outcome", "ended_by", "again"),
    [
        ("refused", "live_load", True),
        ("refused", "paused", True),
        ("refused", "unreachable_arm", True),
        ("refused", "live_load,window_left", False),
        ("refused", "budget_cost", False),
        ("aborted", "traffic", True),
        ("aborted", "outage", True),
        ("aborted", "owner", True),
        ("aborted", "stop", False),
        ("aborted", "budget", False),
        ("died", "", True),
        ("measured", "", False),
        ("arm_mismatch", "", False),
        ("failed", "", False),
        ("not_restored", "", False),
    ],
)
def test_what_time_may_heal_is_tried_again_and_nothing_else(outcome: str, ended_by: str, again: bool) -> None:
    record = ended(outcome, ended_by)
    assert worth_another(record) is again
    assert (next_try(record, 1, NIGHT, at(2)) is not None) is again


def test_the_next_try_is_ten_minutes_on_while_the_window_lasts() -> None:
    assert next_try(REFUSED, 1, NIGHT, at(2)) == at(2, 10)
    assert next_try(REFUSED, 20, NIGHT, at(4, 49)) == at(4, 59)
    assert next_try(REFUSED, 20, NIGHT, at(4, 50)) is None


def test_a_long_backoff_does_not_reach_into_the_next_night() -> None:
    assert next_try(REFUSED, 1, replace_backoff(24 * 60.0), at(2)) is None


def test_without_a_window_there_are_six_tries() -> None:
    probe = ProbeConfig(backoff_minutes=10.0)
    assert next_try(REFUSED, 5, probe, at(2)) == at(2, 10)
    assert next_try(REFUSED, 6, probe, at(2)) is None


def test_without_a_backoff_there_is_one_try() -> None:
    assert next_try(REFUSED, 1, replace_backoff(0.0), at(2)) is None


def test_a_pool_that_was_busy_is_asked_again() -> None:
    assert next_try(None, 1, NIGHT, at(2)) == at(2, 10)


def replace_backoff(minutes: float) -> ProbeConfig:
    return NIGHT.model_copy(update={"backoff_minutes": minutes})


def test_a_start_that_nobody_was_there_for_is_caught_up_within_its_window() -> None:
    assert missed_start(NIGHT, [], at(3)) == at(2)
    assert missed_start(NIGHT, [], at(1, 59)) is None, "it has not come yet"
    assert missed_start(NIGHT, [], at(5)) is None, "the window is over"
    assert missed_start(NIGHT, [], at(12)) is None


def test_a_window_over_midnight_is_one_night() -> None:
    night = NIGHT.model_copy(update={"window": "22:00-05:00", "schedule": "0 23 * * *"})
    assert missed_start(night, [], at(3)) == at(23, day=29)
    assert missed_start(night, [ended("measured", started_at_s=at(23, day=29))], at(3)) is None


def test_a_schedule_of_another_day_is_not_due() -> None:
    sundays = NIGHT.model_copy(update={"schedule": "0 2 * * sun"})
    assert missed_start(sundays, [], at(3)) is None, "30 November 2026 is a Monday"
    assert missed_start(sundays, [], at(3, day=29)) == at(2, day=29)


@pytest.mark.parametrize(
    ("found", "due"),
    [
        (ended("measured"), False),
        (ended("aborted", "stop"), False),
        (ended("running"), False),
        (REFUSED, True),
        (ended("died"), True),
        (ended("aborted", "traffic"), True),
        (ended("aborted", "owner"), True),
        (ended("measured", started_at_s=at(1, 30)), True),
    ],
)
def test_what_came_of_the_start_decides_whether_it_is_caught_up(found: SweepRecord, due: bool) -> None:
    assert (missed_start(NIGHT, [found], at(3)) is not None) is due


def test_one_answer_of_this_night_is_enough_whatever_was_refused_after_it() -> None:
    assert missed_start(NIGHT, [replace(REFUSED, started_at_s=at(2, 40)), ended("measured")], at(3)) is None


@pytest.mark.parametrize("gone", ["window", "schedule"])
def test_without_a_window_or_a_schedule_nothing_is_caught_up(gone: str) -> None:
    assert missed_start(NIGHT.model_copy(update={gone: None}), [], at(3)) is None
