"""Each arm's own tok/s, which what speculation costs is counted in."""

from __future__ import annotations

import math

import pytest

from probes.answer_values import Axis, Crossover, CurvePoint
from probes.crossover import curve_at, estimate, speedup_at

LADDER = (1, 4, 16, 64)


def found(*, engines: int = 1, scatter: float = 0.01) -> Crossover:
    points = [
        CurvePoint(arm, x, engines * ratio * 100 * x**0.8 * math.exp(shift), repeat, engines=engines)
        for arm, ratio in (("off", 1.0), ("k3", 1.3))
        for x in LADDER
        for repeat, shift in enumerate((-scatter, scatter))
    ]
    return estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)


def test_every_arm_has_its_own_curve_with_a_band_the_baseline_too() -> None:
    curves = found().curves
    assert set(curves) == {"off", "k3"}
    assert [s.concurrency for s in curves["off"]] == pytest.approx(LADDER)
    for arm, ratio in (("off", 1.0), ("k3", 1.3)):
        for sample in curves[arm]:
            assert sample.tok_s == pytest.approx(ratio * 100 * sample.concurrency**0.8)
            assert sample.low < sample.tok_s < sample.high


def test_the_output_is_that_of_one_engine() -> None:
    one, four = found().curves, found(engines=4).curves
    assert [s.tok_s for s in four["k3"]] == pytest.approx([s.tok_s for s in one["k3"]])


def test_repeats_that_scatter_widen_the_curve() -> None:
    calm, wild = (found(scatter=s).curves["off"][1] for s in (0.005, 0.1))
    assert math.log(wild.high / wild.low) > 2 * math.log(calm.high / calm.low)


def test_between_rungs_the_curve_is_log_linear_and_outside_it_is_unknown() -> None:
    samples = found().curves["k3"]
    between = curve_at(samples, 8.0)
    assert between is not None
    assert between.tok_s == pytest.approx(130 * 8**0.8)
    assert between.low < between.tok_s < between.high
    assert curve_at(samples, samples[-1].concurrency) == samples[-1]
    assert curve_at(samples, 0.9) is None
    assert curve_at(samples, 65) is None
    assert curve_at((), 8.0) is None


def test_a_load_hardly_beyond_the_last_one_measured_is_that_one() -> None:
    verdict = found().arms["k3"]
    first, last = verdict.speedup[0], verdict.speedup[-1]
    assert speedup_at(verdict, 1.015 * last.concurrency) == last
    assert speedup_at(verdict, first.concurrency / 1.015) == first
    assert speedup_at(verdict, 1.025 * last.concurrency) is None


def test_an_arm_without_a_curve_has_none() -> None:
    points = [CurvePoint("off", 4.0, 100.0, 0), CurvePoint("k3", 4.0, 100.0, 0), CurvePoint("k3", 8.0, 180.0, 0)]
    assert set(estimate(points, baseline="off", axis=Axis.CLIENTS).curves) == {"k3"}
