"""A sweep is held to its window, its minutes and its money, and what is left of it is known before it starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from monitor.config.model import ProbeConfig
from monitor.service.budget import bounded, need_of, restore_bound_s
from probes.sweep.plan import cell_order, estimate
from probes.values import Latency, Reason
from tests.support.plans import plan
from tests.support.sweep_cells import cell_of

AT_S = datetime(2026, 11, 30, 4, 30, tzinfo=UTC).timestamp()
PROBE = ProbeConfig(window="01:00-05:00")


def test_a_sweep_may_not_outlast_its_window_unless_told_now() -> None:
    assert bounded(plan(max_minutes=240.0), PROBE, AT_S, now=False).max_minutes == pytest.approx(30.0)
    assert bounded(plan(max_minutes=20.0), PROBE, AT_S, now=False).max_minutes == 20.0
    assert bounded(plan(max_minutes=240.0), PROBE, AT_S, now=True).max_minutes == 240.0
    assert bounded(plan(max_minutes=240.0), PROBE, AT_S + 1801.0, now=False).max_minutes == 0.0, "it has just closed"


def test_a_restarted_server_is_back_when_its_window_ends() -> None:
    here = plan(max_minutes=240.0)
    sweep = replace(here, arms=tuple(replace(arm, restart="up") for arm in here.arms), start_s=300.0)
    assert bounded(sweep, PROBE, AT_S, now=False).max_minutes == pytest.approx(25.0)
    assert bounded(sweep, PROBE, AT_S + 1700.0, now=False).max_minutes == 0.0
    assert bounded(sweep, PROBE, AT_S, now=True).max_minutes == 240.0


def test_money_buys_no_more_minutes_than_it_can_also_when_told_now() -> None:
    probe = ProbeConfig(cost_per_hour=6.0, max_cost=2.0)
    assert bounded(plan(max_minutes=240.0), probe, AT_S, now=True).max_minutes == pytest.approx(20.0)


UNTIMED = Latency(None, None)
HALF = [cell_of(slot, server_tokens=100.0, e2e=UNTIMED) for slot in cell_order(plan(ladder=(1, 9)))[:4]]


def test_half_of_the_cells_need_half_of_the_time_and_all_tokens_count() -> None:
    sweep = plan(ladder=(1, 9))
    whole, half = need_of(sweep, PROBE), need_of(sweep, PROBE, HALF, used_tokens=1000)
    assert estimate(sweep).cells == 2 * len(HALF)
    assert half.seconds == pytest.approx(whole.seconds / 2)
    assert half.tokens_upper == pytest.approx(1000 + 4 * 1.25 * 9 * 100, abs=1), "as fast as the streams seen"
    assert need_of(sweep, PROBE, HALF).tokens_upper == pytest.approx(400 + 4500, abs=1), (
        "a sweep that died told nothing"
    )


def test_the_rungs_that_are_left_are_the_ones_that_make_the_tokens() -> None:
    sweep = plan(ladder=(1, 9))
    blind = [replace(cell, server_tokens=0.0, client_tokens=0) for cell in HALF]
    assert need_of(sweep, PROBE, blind).tokens_upper == pytest.approx(
        0.9 * need_of(sweep, PROBE).tokens_upper, rel=0.01
    )


def test_what_requests_took_in_the_cells_that_are_there_tells_how_long_the_others_take() -> None:
    """Up to four times as long on a higher rung; two of that to ramp and one to drain, and a second of scrapes."""
    sweep = plan(ladder=(1, 9))
    timed = [replace(cell, e2e=Latency(2000.0, None)) for cell in HALF]
    assert need_of(sweep, PROBE, timed).seconds == pytest.approx(4 * (sweep.cell_s + 3 * 4 * 2.0 + 1.0))


def test_an_arm_that_climbs_no_further_needs_nothing_more() -> None:
    full = [replace(cell, notes=(Reason("limited", "full"),)) if cell.arm == "k3" else cell for cell in HALF]
    whole, left = need_of(plan(ladder=(1, 9)), PROBE), need_of(plan(ladder=(1, 9)), PROBE, full)
    assert left.seconds == pytest.approx(whole.seconds / 4)


def test_what_is_left_of_restarted_arms_needs_its_own_starts_only() -> None:
    here = plan(ladder=(1, 9))
    sweep = replace(here, arms=tuple(replace(arm, restart="up") for arm in here.arms), start_s=100.0)
    done = [cell_of(slot, e2e=UNTIMED) for slot in cell_order(sweep)[:6]]
    assert need_of(sweep, PROBE, done).seconds == pytest.approx(need_of(here, PROBE).seconds / 4 + 200.0)
    assert need_of(sweep, PROBE, [cell_of(slot) for slot in cell_order(sweep)]).seconds == 0.0


def test_restarted_arms_cost_a_start_each_and_one_that_restores() -> None:
    probe = ProbeConfig(start_timeout_s=600.0, drain_s=20.0)
    here = plan()
    restarted = replace(here, arms=tuple(replace(arm, restart="up") for arm in here.arms))
    more_s = need_of(restarted, probe).seconds - need_of(here, probe).seconds
    assert more_s == pytest.approx((2 * here.repeats + 1) * 120.0)
    assert restore_bound_s(probe) > 600.0
