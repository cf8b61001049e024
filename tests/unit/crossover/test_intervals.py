"""Every verdict has an interval, an open edge has a reason, and margins hold both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.answer_values import Axis, Verdict
from probes.crossover import estimate, speedup_at
from tests.unit.crossover.test_verdicts import codes, judged, points

CROSSING = {1: 1.6, 2: 1.6, 4: 1.5, 8: 1.4, 16: 1.2, 32: 1.1, 64: 0.9, 128: 0.7}
STEP = {1: 1.31, 2: 1.3, 4: 1.3, 8: 1.3, 16: 1.29, 32: 0.82, 64: 0.81, 128: 0.8}


@pytest.mark.parametrize(
    ("on", "verdict", "low", "high"),
    [
        (CROSSING, Verdict.CROSSES, (32, 45), (45, 64)),
        (dict.fromkeys(CROSSING, 1.3), Verdict.ALWAYS_FASTER, (128, 128), None),
        (dict.fromkeys(CROSSING, 0.7), Verdict.NEVER_FASTER, None, (1, 1)),
        (dict.fromkeys(CROSSING, 1.0), Verdict.UNCLEAR, None, None),
        ({1: 1.3, 2: 1.2, 4: 0.8, 8: 0.8, 16: 0.9, 32: 1.2, 64: 1.2, 128: 1.2}, Verdict.UNCLEAR, (128, 128), None),
        (
            {1: 1.3, 2: 0.8, 4: 0.8, 8: 1.2, 16: 1.3, 32: 1.2, 64: 0.8, 128: 0.7},
            Verdict.UNCLEAR,
            (32, 64),
            (32, 64),
        ),
        ({1: 0.8, 2: 0.8, 4: 0.9, 8: 1.1, 16: 1.2, 32: 1.2, 64: 1.2, 128: 1.2}, Verdict.UNCLEAR, (128, 128), None),
    ],
)
def test_the_interval_says_where_the_last_fall_through_1_may_lie(
    on: dict[int, float], verdict: Verdict, low: tuple[float, float] | None, high: tuple[float, float] | None
) -> None:
    found = judged(on)
    assert found.verdict is verdict
    for edge, between, code in ((found.low, low, "open_low"), (found.high, high, "open_high")):
        if between is None:
            assert edge is None
            assert code in codes(found)
        else:
            assert edge is not None
            assert between[0] * 0.999 <= edge <= between[1] * 1.001
            assert code not in codes(found)


def test_a_step_may_lie_anywhere_between_its_two_rungs() -> None:
    found = judged(STEP)
    assert found.verdict is Verdict.CROSSES
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 16.001
    assert found.high >= 31.999
    assert "step" in codes(found)


def test_the_band_inside_a_step_holds_both_of_its_sides() -> None:
    at = speedup_at(judged(STEP), 22.6)
    assert at is not None
    assert at.low < 0.85
    assert at.high > 1.25


def test_a_long_tie_below_a_loss_is_not_yet_never_faster() -> None:
    noisy = points("off", 1.0, scatter=0.03) + points(
        "k3", {1: 1.01, 2: 1.01, 4: 1.015, 8: 1.01, 16: 1.01, 32: 0.9, 64: 0.8, 128: 0.8}, scatter=0.03
    )
    found = estimate(noisy, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["k3"]
    assert found.verdict is Verdict.UNCLEAR
    assert codes(found)[0] == "tie_below"


def test_a_smooth_fall_is_no_step() -> None:
    found = judged(CROSSING)
    assert "step" not in codes(found)
    assert found.low is not None
    assert found.high is not None
    assert found.high / found.low < 1.6


def test_a_loss_of_one_percent_at_the_start_is_within_the_margin_of_always_faster() -> None:
    found = judged({1: 0.99, 2: 1.05, 4: 1.2, 8: 1.2, 16: 1.2, 32: 1.2, 64: 1.2, 128: 1.2})
    assert found.verdict is Verdict.ALWAYS_FASTER


def test_a_dip_beyond_the_margin_is_not_passed_over() -> None:
    """-3.5% is within the noise of a verdict, but "always" would deny a loss that was read."""
    found = judged({1: 1.3, 2: 1.3, 4: 1.3, 8: 1.2, 16: 0.965, 32: 1.2, 64: 1.2, 128: 1.2})
    assert found.verdict is Verdict.UNCLEAR
    assert codes(found)[0] == "dips"
    assert "around 16 it reads 3.5% slower" in found.reasons[0].text


def test_a_rise_beyond_the_margin_is_not_passed_over() -> None:
    found = judged({1: 0.8, 2: 0.8, 4: 0.8, 8: 0.85, 16: 1.03, 32: 0.85, 64: 0.8, 128: 0.8})
    assert found.verdict is Verdict.UNCLEAR
    assert codes(found)[0] == "rises"


def test_a_loss_that_reads_as_a_gain_again_at_the_top_is_no_crossover() -> None:
    found = judged({1: 1.3, 2: 1.3, 4: 1.2, 8: 1.0, 16: 0.85, 32: 0.85, 64: 0.95, 128: 1.03})
    assert found.verdict is Verdict.UNCLEAR
    assert codes(found)[0] == "several_crossings"


def test_one_lucky_rung_near_the_crossing_does_not_move_the_edge() -> None:
    """A gain that sank into the noise at 8 and clears it by a hair at 32 is not known to hold up to 32."""
    on = {1: 1.3, 2: 1.3, 4: 1.2, 8: 1.01, 16: 1.01, 32: 1.045, 64: 0.96, 128: 0.8}
    found = judged(on)
    assert found.verdict is Verdict.CROSSES
    assert found.low is not None
    assert found.low < 8


def test_engines_are_counted_out_before_arms_are_compared() -> None:
    """A baseline on two engines and an arm on one meet at equal concurrency per engine."""
    off = [replace(p, engines=2, output_tok_s=2 * p.output_tok_s) for p in points("off", 1.0)]
    found = estimate(off + points("k3", 1.2), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["k3"]
    assert all(point.ratio == pytest.approx(1.2) for point in found.speedup)
