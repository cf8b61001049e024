"""The 90% that an interval claims, counted on sweeps with a known truth; and how wide it may be to get there."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from probes.crossover import estimate
from probes.values import ArmVerdict, Axis, Verdict
from tests.support.simulated_sweeps import CROSSING, LADDERS, Sweep, same_server_twice, simulate

PER_SHAPE = 120


def judged(sweep: Sweep) -> ArmVerdict:
    return estimate(sweep.points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["on"]


@cache
def sweeps(shape: str) -> tuple[tuple[Sweep, ArmVerdict], ...]:
    rng = np.random.default_rng(20_26)
    drawn = [simulate(shape, rng) for _ in range(PER_SHAPE)]
    return tuple((sweep, judged(sweep)) for sweep in drawn)


def covers(verdict: ArmVerdict, truth: float) -> bool:
    return (verdict.low is None or verdict.low <= truth) and (verdict.high is None or truth <= verdict.high)


def covered(shapes: tuple[str, ...]) -> list[bool]:
    return [
        covers(verdict, sweep.crossover)
        for shape in shapes
        for sweep, verdict in sweeps(shape)
        if verdict.verdict is Verdict.CROSSES and sweep.crossover is not None
    ]


def verdicts(shape: str) -> Counter[Verdict]:
    return Counter(verdict.verdict for _, verdict in sweeps(shape))


def test_intervals_hold_the_truth_about_nine_times_in_ten() -> None:
    hits = covered(tuple(CROSSING))
    assert len(hits) >= 400
    assert 0.85 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize("shape", [*CROSSING, "shallow"])
def test_no_shape_of_curve_is_covered_badly(shape: str) -> None:
    assert np.mean(covered((shape,))) >= 0.82


@pytest.mark.parametrize("shape", CROSSING)
def test_a_crossing_is_found_where_there_is_one(shape: str) -> None:
    assert verdicts(shape)[Verdict.CROSSES] >= 0.9 * PER_SHAPE


def test_the_wrong_side_is_hardly_ever_taken_for_the_whole() -> None:
    """Open intervals count too: always and never faster must not exclude a crossing that exists."""
    wrong = [
        verdict
        for shape in CROSSING
        for sweep, verdict in sweeps(shape)
        if verdict.verdict in (Verdict.ALWAYS_FASTER, Verdict.NEVER_FASTER)
        and not covers(verdict, sweep.crossover or math.nan)
    ]
    assert len(wrong) <= 0.03 * PER_SHAPE * len(CROSSING)


def test_an_arm_that_always_wins_or_never_does_is_called_so() -> None:
    assert verdicts("always")[Verdict.ALWAYS_FASTER] >= 0.95 * PER_SHAPE
    assert verdicts("never")[Verdict.NEVER_FASTER] >= 0.95 * PER_SHAPE


def test_a_dip_that_returns_is_not_called_a_crossover() -> None:
    assert verdicts("dip")[Verdict.CROSSES] <= 0.05 * PER_SHAPE


def test_intervals_are_not_bought_with_width() -> None:
    rng = np.random.default_rng(7)
    widths = []
    for _ in range(150):
        verdict = judged(simulate("linear", rng, noise=0.02, repeats=3, ladder=LADDERS[1], min_slope=0.08))
        if verdict.low is not None and verdict.high is not None:
            widths.append(math.log2(verdict.high / verdict.low))
        else:
            widths.append(math.inf)
    assert np.median(widths) <= 0.5


def test_the_same_server_twice_does_not_cross() -> None:
    rng = np.random.default_rng(11)
    found: Counter[Verdict] = Counter()
    inside = []
    for _ in range(200):
        points = same_server_twice(rng)
        verdict = estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["again"]
        found[verdict.verdict] += 1
        inside += [point.low <= 1 <= point.high for point in verdict.speedup]
    assert found[Verdict.CROSSES] <= 0.05 * 200
    assert np.mean(inside) >= 0.85
