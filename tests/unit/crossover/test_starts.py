"""Arms that are restarted differ from start to start; the interval knows that, however well their cells agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probes.answer_values import ArmVerdict, Axis, CurvePoint, Verdict
from probes.crossover import estimate
from probes.crossover.curves import fit_curve
from probes.crossover.noise import COMMON_SIGMA, PRIOR_START_DF

RUNGS = (1, 2, 4, 8, 16, 32, 64)


def sweep(
    start_sd: float, *, starts: int = 4, cell_sd: float = 0.005, slope: float = 0.0, seed: int = 3, told: bool = True
) -> list[CurvePoint]:
    """Whole ladders A B B A, each on a start of its own; `slope` is what `on` loses per octave around 8."""
    rng = np.random.default_rng(seed)
    points = []
    for repeat in range(starts):
        for number, arm in enumerate(("off", "on")):
            shift = rng.normal(0, start_sd)
            for x in RUNGS:
                log_y = math.log(200 * x / (1 + x / 80)) + shift + rng.normal(0, cell_sd)
                log_y -= slope * math.log2(x / 8) if arm == "on" else 0.0
                start = 2 * repeat + number if told else None
                points.append(CurvePoint(arm, float(x), math.exp(log_y), repeat, start=start))
    return points


def on(points: list[CurvePoint]) -> ArmVerdict:
    return estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["on"]


def half_width(points: list[CurvePoint]) -> float:
    at = on(points).speedup[len(RUNGS) // 2]
    return math.log(at.high / at.low) / 2


def test_starts_that_scatter_widen_the_band_beyond_what_two_runs_may_always_differ() -> None:
    widths = [[half_width(sweep(sd, seed=seed)) for seed in range(20)] for sd in (0.005, 0.08)]
    assert 1.7 < np.mean(widths[1]) / np.mean(widths[0]) < 2.5


def test_starts_that_agree_leave_the_floor_in_force() -> None:
    quiet = half_width(sweep(0.0))
    assert quiet >= 1.64 * COMMON_SIGMA
    assert quiet == pytest.approx(half_width(sweep(0.0, told=False)), rel=0.05)


def test_cells_of_one_start_that_agree_are_not_taken_for_scatter_of_cells() -> None:
    """The shift of a start is no noise of its cells: one curve per start would be straight."""
    curve = fit_curve("off", [p for p in sweep(0.08) if p.arm == "off"])
    blind = fit_curve("off", [p for p in sweep(0.08, told=False) if p.arm == "off"])
    assert curve is not None
    assert blind is not None
    assert curve.noise.sigma < 0.015 < 0.04 < blind.noise.sigma
    assert curve.start_noise.df == PRIOR_START_DF + 3
    assert blind.start_noise.variance == 0.0


def test_the_start_variance_is_the_measured_one_shrunk_toward_what_is_usual() -> None:
    found = []
    for seed in range(60):
        curve = fit_curve("off", [p for p in sweep(0.06, starts=8, seed=seed) if p.arm == "off"])
        assert curve is not None
        found.append(8 * curve.start_noise.variance)
    usual, df = COMMON_SIGMA**2 / 2, PRIOR_START_DF + 7
    assert np.mean(found) == pytest.approx((PRIOR_START_DF * usual + 7 * 0.06**2) / df, rel=0.2)


def test_one_start_per_arm_tells_nothing_of_starts() -> None:
    curve = fit_curve("off", [p for p in sweep(0.05, starts=1) if p.arm == "off"])
    assert curve is not None
    assert curve.start_noise.variance == 0.0


def test_what_two_runs_may_always_differ_by_is_not_counted_twice() -> None:
    """Starts that scatter as usual are that very difference."""
    assert half_width(sweep(0.02)) < half_width(sweep(0.02, told=False))


def test_equal_arms_whose_starts_scatter_are_seldom_told_apart() -> None:
    told_apart = [on(sweep(0.06, seed=seed)).verdict is not Verdict.UNCLEAR for seed in range(200)]
    assert sum(told_apart) <= 16


@pytest.mark.parametrize(("start_sd", "least"), [(0.03, 176), (0.05, 170)])
def test_the_interval_holds_the_crossing_of_restarted_arms(start_sd: float, least: int) -> None:
    verdicts = [on(sweep(start_sd, slope=0.12, seed=seed)) for seed in range(200)]
    assert sum((v.low or 0.0) <= 8 <= (v.high or math.inf) for v in verdicts) >= least
