"""At the same arrivals another arm sits elsewhere: found on its own curve, with an interval, and never beyond it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.answer_values import CurveSample
from probes.crossover.arrival import Curve, curve_of, lead, same_rate

RUNGS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def curve(tok_s: Sequence[float], rungs: Sequence[float] = RUNGS, half: float = 0.03) -> Curve:
    samples = [CurveSample(x, y, y * math.exp(-half), y * math.exp(half)) for x, y in zip(rungs, tok_s, strict=True)]
    found = curve_of(samples)
    assert found is not None
    return found


FAST = curve([200, 390, 740, 1300, 1900, 2300, 2400])
SLOW = curve([100, 200, 400, 800, 1500, 2600, 3600])
"""Crosses FAST between 16 and 32."""


def test_without_bends_twice_the_speed_is_half_the_requests() -> None:
    one, two = curve([100 * x for x in RUNGS]), curve([200 * x for x in RUNGS])
    assert same_rate(one, two, 8.0).concurrency == pytest.approx(4.0, rel=1e-6)
    assert same_rate(two, one, 8.0).concurrency == pytest.approx(16.0, rel=1e-6)


def test_servers_that_serve_one_at_a_time_queue_as_the_textbook_says() -> None:
    """M/M/1: a mean of n in the system is a load of n / (1 + n)."""
    slow, fast = curve([100, 100, 100, 100, 100, 100, 100]), curve([150, 150, 150, 150, 150, 150, 150])
    load = 8 / 9 * 100 / 150
    assert same_rate(slow, fast, 8.0).concurrency == pytest.approx(load / (1 - load), rel=1e-4)


def test_below_the_crossover_the_faster_arm_holds_fewer_requests_and_above_it_more() -> None:
    below, above = same_rate(SLOW, FAST, 8.0), same_rate(SLOW, FAST, 27.0)
    assert below.concurrency is not None
    assert 4.0 < below.concurrency < 5.5
    assert above.concurrency is not None
    assert above.concurrency > 27.0


def test_there_and_back_again_is_where_it_was() -> None:
    there = same_rate(FAST, SLOW, 40.0)
    assert there.concurrency is not None
    assert same_rate(SLOW, FAST, there.concurrency).concurrency == pytest.approx(40.0, rel=1e-3)


def test_the_interval_is_that_of_both_curves() -> None:
    sure, unsure = curve([100 * x for x in RUNGS], half=0.0), curve([50 * x for x in RUNGS], half=0.1)
    for live, arm in ((sure, unsure), (unsure, sure)):
        there = same_rate(live, arm, 4.0)
        assert there.concurrency is not None
        assert there.high == pytest.approx(there.concurrency * math.exp(0.1))
        assert there.low == pytest.approx(there.concurrency * math.exp(-0.1))


def test_an_arm_that_levelled_off_could_not_carry_more_than_its_most() -> None:
    there = same_rate(SLOW, FAST, 60.0)
    assert there.concurrency is None
    assert there.overload
    assert "at most 71% of that output" in there.reason


def test_an_arm_that_was_still_rising_at_its_last_rung_is_not_called_too_slow() -> None:
    short = curve([100, 200, 400, 800], RUNGS[:4])
    there = same_rate(FAST, short, 16.0)
    assert there.concurrency is None
    assert not there.overload
    assert "often exceed 8, the highest that was measured" in there.reason


def test_at_an_arms_limit_within_the_noise_nothing_is_claimed() -> None:
    level = curve([200, 390, 740, 1300, 1900, 2300, 2300])
    there = same_rate(curve([100, 200, 400, 800, 1500, 2340, 3600]), level, 32.0)
    assert there.concurrency is None
    assert not there.overload
    assert "within the noise" in there.reason


def test_a_mean_beyond_the_ladder_is_not_told() -> None:
    level = curve([200, 390, 740, 1300, 1900, 2300, 2400], half=0.0)
    asks = curve([100, 200, 400, 800, 1500, 2390, 9000], half=0.0)
    there = same_rate(asks, level, 31.5)
    assert there.concurrency is None
    assert "limit" in there.reason


def test_an_edge_that_the_ladder_does_not_close_is_open() -> None:
    level = curve([200, 390, 740, 1300, 1900, 2300, 2400])
    there = same_rate(curve([100, 200, 400, 800, 1500, 2300, 3600]), level, 32.0)
    assert there.concurrency is not None
    assert there.low is not None
    assert there.high is None


def test_an_arm_that_falls_at_high_load_sits_on_its_rising_side() -> None:
    falling = curve([200, 390, 740, 1300, 1900, 1500, 900])
    there = same_rate(SLOW, falling, 15.0)
    assert there.concurrency is not None
    assert there.concurrency < 16.0


def test_a_load_lighter_than_one_request_is_one_request_with_pauses() -> None:
    there = same_rate(SLOW, FAST, 0.2)
    assert there.concurrency == pytest.approx(0.1, rel=0.01)
    point = lead(FAST, SLOW, 0.2)
    assert point is not None
    assert point.ratio == pytest.approx(2.0)


def test_a_ladder_that_starts_higher_is_not_gone_on_with_below() -> None:
    high = curve([740, 1300, 1900, 2300, 2500], RUNGS[2:])
    assert lead(high, SLOW, 2.0) is None
    assert "outside" in same_rate(high, SLOW, 2.0).reason
    assert "fewer than 4 requests" in same_rate(SLOW, high, 4.0).reason


def test_an_idle_server_has_nothing_to_solve() -> None:
    assert same_rate(FAST, SLOW, 0.0).concurrency is None
    assert lead(FAST, SLOW, 0.0) is None


def test_one_rung_is_no_curve() -> None:
    assert curve_of([CurveSample(1.0, 100.0, 95.0, 105.0)]) is None


CURVES = st.lists(st.tuples(st.floats(1.01, 4.0), st.floats(-0.5, 1.5), st.floats(0.0, 5.0)), min_size=1, max_size=10)


def _any_curve(first: float, steps: Sequence[tuple[float, float, float]]) -> Curve:
    x, log_y, samples = first, 5.0, []
    for factor, rise, half in [(1.0, 0.0, 0.0), *steps]:
        x, log_y = x * factor, log_y + rise
        samples.append(CurveSample(x, math.exp(log_y), math.exp(log_y - half), math.exp(log_y + half)))
    found = curve_of(samples)
    assert found is not None
    return found


@given(st.floats(0.9, 8.0), CURVES, st.floats(0.9, 8.0), CURVES, st.floats(1e-3, 1e5))
def test_whatever_the_curves_an_answer_is_in_order_or_has_a_reason(
    one: float, own: list[tuple[float, float, float]], two: float, other: list[tuple[float, float, float]], load: float
) -> None:
    live, arm = _any_curve(one, own), _any_curve(two, other)
    there = same_rate(live, arm, load)
    if there.concurrency is None:
        assert there.reason
        assert there.low is None
        assert there.high is None
    else:
        assert 0 < there.concurrency <= arm.top
        assert there.low is None or 0 < there.low <= there.concurrency * (1 + 1e-6)
        assert there.high is None or there.high >= there.concurrency * (1 - 1e-6)


@given(st.floats(0.02, 50.0), st.floats(1.01, 1.3))
def test_more_load_is_never_less_load_elsewhere(load: float, factor: float) -> None:
    one, two = same_rate(FAST, SLOW, load), same_rate(FAST, SLOW, load * factor)
    if one.concurrency is not None and two.concurrency is not None:
        assert two.concurrency >= one.concurrency * (1 - 1e-6)


def test_an_absurd_ladder_costs_no_minutes_and_no_memory() -> None:
    wide = curve([100, 1e5], rungs=[1.0, 1e7])
    assert wide.states.size <= 16_384
    assert same_rate(wide, FAST, 4.0).concurrency is not None
