"""Whatever was measured, the estimator answers, and its answer is fit to be stored and compared."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.answer_values import Axis, CurvePoint, Verdict
from probes.crossover import estimate, from_json, to_json

NUMBERS = st.one_of(
    st.floats(min_value=0.5, max_value=5000),
    st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-9, 1e12, 8.0, 8.01, 16.0]),
)
POINTS = st.builds(
    CurvePoint,
    arm=st.sampled_from(["off", "k3", "k5"]),
    concurrency=NUMBERS,
    output_tok_s=NUMBERS,
    repeat=st.integers(0, 3),
    limited=st.booleans(),
    running=st.one_of(st.none(), st.floats(0, 500)),
    kv_usage=st.one_of(st.none(), st.floats(0, 1)),
    engines=st.integers(1, 8),
    start=st.one_of(st.none(), st.integers(0, 3)),
)


@settings(max_examples=300)
@given(st.lists(POINTS, max_size=40))
def test_any_points_give_a_verdict_that_survives_json(points: list[CurvePoint]) -> None:
    result = estimate(points, baseline="off", axis=Axis.CLIENTS)
    document = to_json(result)
    assert to_json(from_json(json.loads(json.dumps(document, allow_nan=False)))) == document
    for verdict in result.arms.values():
        assert verdict.reasons
        assert (verdict.crossover is not None) == (verdict.verdict is Verdict.CROSSES)
        if verdict.crossover is not None:
            assert (verdict.low or 0) <= verdict.crossover <= (verdict.high or math.inf)
        xs = [point.concurrency for point in verdict.speedup]
        assert xs == sorted(set(xs))
        assert all(point.low < point.ratio < point.high for point in verdict.speedup)
        codes = [reason.code for reason in verdict.reasons]
        if verdict.verdict is not Verdict.INSUFFICIENT:
            assert (verdict.low is None, verdict.high is None) == ("open_low" in codes, "open_high" in codes)
            assert (verdict.low or 0) <= (verdict.high or math.inf)
    for samples in result.curves.values():
        xs = [sample.concurrency for sample in samples]
        assert len(xs) >= 2
        assert xs == sorted(set(xs))
        assert all(0 < sample.low < sample.tok_s < sample.high < math.inf for sample in samples)


def test_a_band_too_wide_for_a_float_is_still_a_number() -> None:
    off = [(1.0, 1.0)] * 13 + [(1053.0, 1e-9), (1247.0, 1.0), (1e12, 1.0)]
    points = [CurvePoint("off", x, y, 0) for x, y in off] + [CurvePoint("k3", x, 1.0, 0) for x in (1.0, 1e12)]
    verdict = estimate(points, baseline="off", axis=Axis.CLIENTS).arms["k3"]
    assert all(0 < point.low < point.ratio < point.high < math.inf for point in verdict.speedup)


def test_an_arm_of_which_nothing_is_usable_was_not_measured_on_too_few_rungs_alone() -> None:
    points = [CurvePoint("off", x, 100 * x, 0) for x in (1.0, 4.0, 16.0)]
    points += [CurvePoint("k3", x, math.nan, 0) for x in (1.0, 4.0)] + [CurvePoint("k3", 16.0, 900.0, 0)]
    verdict = estimate(points, baseline="off", axis=Axis.CLIENTS).arms["k3"]
    assert verdict.verdict is Verdict.INSUFFICIENT
    assert "2 measurements of k3 were left out" in " ".join(reason.text for reason in verdict.reasons)


def test_repeats_without_numbers_are_still_repeats() -> None:
    def arm(name: str, ratio: float, numbers: tuple[int, int]) -> list[CurvePoint]:
        return [
            CurvePoint(name, x * (1 + 0.002 * i), 100 * ratio * x**0.8 * (1 + 0.01 * i), number)
            for x in (1.0, 4.0, 16.0)
            for i, number in enumerate(numbers)
        ]

    numbered = estimate(arm("off", 1, (0, 1)) + arm("k3", 1.3, (0, 1)), baseline="off", axis=Axis.CLIENTS)
    plain = estimate(arm("off", 1, (0, 0)) + arm("k3", 1.3, (0, 0)), baseline="off", axis=Axis.CLIENTS)
    assert plain == numbered


def test_close_rungs_stay_apart_where_repeats_are_numbered() -> None:
    points = [
        CurvePoint(arm, x, 100 * ratio * x**0.8, repeat)
        for arm, ratio in (("off", 1.0), ("k3", 1.3))
        for x in (20.0, 21.0, 22.0)
        for repeat in (0, 1)
    ]
    speedup = estimate(points, baseline="off", axis=Axis.CLIENTS).arms["k3"].speedup
    assert speedup[0].concurrency == pytest.approx(20)
    assert speedup[-1].concurrency == pytest.approx(22)


def test_a_rung_left_with_the_x_of_the_next_is_one_with_it() -> None:
    points = [CurvePoint("off", x, x, 0) for x in (1.0, 4000.0)]
    points += [CurvePoint("k3", 1.0, 1.0, 0), CurvePoint("k3", 2846.0, 1.0, 0, limited=True)]
    points += [CurvePoint("k3", 3016.0, 1.0, 1), CurvePoint("k3", 3016.0, 1.0, 1)]
    assert [p.concurrency for p in estimate(points, baseline="off", axis=Axis.CLIENTS).arms["k3"].speedup]
