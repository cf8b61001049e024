"""A sweep is held to its window, its minutes and its money, and what is left of it is known before it starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from monitor.config.model import ProbeConfig
from monitor.service.budget import bounded, need_of, restore_bound_s
from probes.sweep.plan import estimate
from tests.support.plans import plan

AT_S = datetime(2026, 11, 30, 4, 30, tzinfo=UTC).timestamp()
PROBE = ProbeConfig(window="01:00-05:00")


def test_a_sweep_may_not_outlast_its_window_unless_told_now() -> None:
    assert bounded(plan(max_minutes=240.0), PROBE, AT_S, now=False).max_minutes == pytest.approx(30.0)
    assert bounded(plan(max_minutes=20.0), PROBE, AT_S, now=False).max_minutes == 20.0
    assert bounded(plan(max_minutes=240.0), PROBE, AT_S, now=True).max_minutes == 240.0
    assert bounded(plan(max_minutes=240.0), PROBE, AT_S + 1801.0, now=False).max_minutes == 0.0, "it has just closed"


def test_money_buys_no_more_minutes_than_it_can_also_when_told_now() -> None:
    probe = ProbeConfig(cost_per_hour=6.0, max_cost=2.0)
    assert bounded(plan(max_minutes=240.0), probe, AT_S, now=True).max_minutes == pytest.approx(20.0)


def test_half_of_the_cells_need_half_of_the_time_and_all_tokens_count() -> None:
    whole, half = need_of(plan(), PROBE), need_of(plan(), PROBE, done_cells=4, used_tokens=1000)
    assert estimate(plan()).cells == 8
    assert half.seconds == pytest.approx(whole.seconds / 2)
    assert half.tokens_upper == pytest.approx(1000 + whole.tokens_upper / 2, abs=1)


def test_restarted_arms_cost_a_start_each_and_one_that_restores() -> None:
    probe = ProbeConfig(start_timeout_s=600.0, drain_s=20.0)
    here = plan()
    restarted = replace(here, arms=tuple(replace(arm, restart="up") for arm in here.arms))
    more_s = need_of(restarted, probe).seconds - need_of(here, probe).seconds
    assert more_s == pytest.approx((2 * here.repeats + 1) * 120.0)
    assert restore_bound_s(probe) > 600.0
