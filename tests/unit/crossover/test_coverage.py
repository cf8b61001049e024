"""The 90% that an interval claims and the verdicts beside it, counted on sweeps with a known truth.

Few sweeps and fixed seeds, so the limits leave room for luck; `make eval` counts thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest

from probes.answer_values import Verdict
from tests.support.scored_sweeps import Scored, judged, score
from tests.support.simulated_sweeps import (
    CROSSING,
    LADDER,
    SHAPES,
    Noise,
    draw_noise,
    same_server_twice,
    simulate,
)

PER_SHAPE = 200


@cache
def scored(shape: str) -> tuple[Scored, ...]:
    rng = np.random.default_rng([20_26, SHAPES.index(shape)])
    return tuple(score(simulate(shape, rng)) for _ in range(PER_SHAPE))


def every(shapes: Iterable[str] = SHAPES) -> list[Scored]:
    return [one for shape in shapes for one in scored(shape)]


def covered(found: Iterable[Scored]) -> float:
    return float(np.mean([one.covered for one in found if one.covered is not None]))


def verdicts(shape: str) -> Counter[Verdict]:
    return Counter(one.answer.verdict for one in scored(shape))


def test_intervals_hold_the_truth_about_nine_times_in_ten() -> None:
    """Whatever the verdict, so an unclear answer must not exclude a crossing that exists."""
    assert 0.87 <= covered(every(CROSSING)) <= 0.95


@pytest.mark.parametrize("shape", CROSSING)
def test_no_shape_of_curve_is_covered_badly(shape: str) -> None:
    assert covered(scored(shape)) >= 0.83


@pytest.mark.parametrize("shape", SHAPES)
def test_the_band_holds_the_true_speedup(shape: str) -> None:
    """Alerts go by it. All points of one sweep share what its two runs differ by, so that luck is large."""
    assert np.mean([held for one in scored(shape) for held in one.band]) >= 0.83


def test_noisy_cells_are_covered_too() -> None:
    rng = np.random.default_rng(5)
    noisy = [score(simulate(shape, rng, noise=draw_noise(rng, least=0.015))) for shape in CROSSING for _ in range(100)]
    assert 0.86 <= covered(noisy) <= 0.95


def test_the_interval_is_no_way_to_say_nothing() -> None:
    """Open at both ends covers everything; where there is a crossing to find, that is rare."""
    assert np.mean([one.answer.low is None and one.answer.high is None for one in every(CROSSING)]) <= 0.02


def test_a_decisive_verdict_is_hardly_ever_wrong() -> None:
    assert np.mean([one.wrong for one in every() if one.at_risk]) < 0.02


def test_unclear_is_rare_where_the_truth_is_clear() -> None:
    clear = [one for one in every() if one.decisive_truth not in (None, Verdict.UNCLEAR)]
    assert len(clear) > 1000
    assert np.mean([one.answer.verdict is Verdict.UNCLEAR for one in clear]) <= 0.1


def test_near_ties_are_not_told_apart() -> None:
    ties = scored("tie")
    assert all(one.near_tie for one in ties)
    assert verdicts("tie")[Verdict.UNCLEAR] >= 0.85 * len(ties)


@pytest.mark.parametrize("shape", [shape for shape in CROSSING if shape != "shallow"])
def test_a_crossing_is_found_where_there_is_one(shape: str) -> None:
    assert verdicts(shape)[Verdict.CROSSES] >= 0.88 * PER_SHAPE


def test_an_arm_that_always_wins_or_never_does_is_called_so() -> None:
    assert verdicts("always")[Verdict.ALWAYS_FASTER] >= 0.95 * PER_SHAPE
    assert verdicts("never")[Verdict.NEVER_FASTER] >= 0.95 * PER_SHAPE


def test_a_dip_that_returns_is_not_called_a_crossover() -> None:
    returns = [one for one in scored("dip") if one.sweep.gain[-1] > 0.03]
    assert len(returns) > PER_SHAPE / 2
    assert sum(one.answer.verdict is Verdict.UNCLEAR for one in returns) >= 0.95 * len(returns)


def test_intervals_are_not_bought_with_width() -> None:
    rng = np.random.default_rng(7)
    noise = Noise(off=0.02, on=0.02, between_runs=0.02)
    widths = [
        score(simulate(shape, rng, noise=noise, repeats=3, ladder=LADDER, min_slope=0.08)).width
        for shape in ("linear", "roofline", "plateau")
        for _ in range(100)
    ]
    assert np.median(widths) <= 0.53


def test_starts_of_restarted_arms_are_covered() -> None:
    rng = np.random.default_rng(9)
    found = [score(simulate("linear", rng, repeats=4, restarts=True)) for _ in range(150)]
    assert covered(found) >= 0.87


def test_the_same_server_twice_does_not_cross() -> None:
    rng = np.random.default_rng(11)
    found: Counter[Verdict] = Counter()
    inside = []
    for _ in range(200):
        verdict = judged(same_server_twice(rng))
        found[verdict.verdict] += 1
        inside += [point.low <= 1 <= point.high for point in verdict.speedup]
    assert found[Verdict.CROSSES] <= 0.02 * 200
    assert found[Verdict.UNCLEAR] >= 0.9 * 200
    assert np.mean(inside) >= 0.85
