"""The five verdicts on curves whose truth a person can see at once."""

from __future__ import annotations

import pytest

from probes.answer_values import ArmVerdict, Axis, CurvePoint, Verdict
from probes.crossover import estimate, speedup_at
from probes.crossover.verdict_words import Words

LADDER = (1, 2, 4, 8, 16, 32, 64, 128)


def points(
    arm: str,
    speedups: dict[int, float] | float,
    *,
    repeats: int = 3,
    scatter: float = 0.005,
    limited: tuple[int, ...] = (),
) -> list[CurvePoint]:
    """An arm whose tok/s are a saturating baseline times a speedup per rung, with a small even scatter."""
    table = dict.fromkeys(LADDER, speedups) if isinstance(speedups, float) else speedups
    return [
        CurvePoint(arm, x, 200 * x / (1 + x / 60) * ratio * (1 + scatter * (repeat - 1)), repeat, limited=x in limited)
        for x, ratio in table.items()
        for repeat in range(repeats)
    ]


def judged(on: dict[int, float] | float) -> ArmVerdict:
    both = points("off", 1.0) + points("k3", on)
    return estimate(both, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["k3"]


def codes(verdict: ArmVerdict) -> list[str]:
    return [reason.code for reason in verdict.reasons]


def test_a_clear_crossing_has_a_value_and_a_closed_interval() -> None:
    verdict = judged({1: 1.6, 2: 1.6, 4: 1.5, 8: 1.4, 16: 1.2, 32: 1.1, 64: 0.9, 128: 0.7})
    assert verdict.verdict is Verdict.CROSSES
    assert verdict.crossover is not None
    assert verdict.crossover == pytest.approx(45, rel=0.05)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 32 < verdict.low < verdict.crossover < verdict.high < 64
    assert "k3 is faster than off up to about 44.5 (90% interval" in verdict.reasons[0].text


def test_always_faster_is_bounded_by_the_highest_concurrency_that_both_reached() -> None:
    verdict = judged({1: 1.6, 2: 1.6, 4: 1.5, 8: 1.4, 16: 1.3, 32: 1.2})
    assert verdict.verdict is Verdict.ALWAYS_FASTER
    assert verdict.crossover is None
    assert verdict.low == pytest.approx(32)
    assert verdict.high is None
    assert "open_high" in codes(verdict)


def test_never_faster_is_bounded_by_the_lowest_concurrency() -> None:
    verdict = judged({1: 0.9, 2: 0.9, 4: 0.85, 8: 0.8, 16: 0.8, 32: 0.7})
    assert verdict.verdict is Verdict.NEVER_FASTER
    assert verdict.crossover is None
    assert verdict.low is None
    assert verdict.high == pytest.approx(1)
    assert "open_low" in codes(verdict)


def test_a_sign_change_inside_the_noise_is_not_a_crossover() -> None:
    verdict = judged({1: 1.01, 2: 1.008, 4: 1.01, 8: 1.004, 16: 0.995, 32: 0.99, 64: 0.992, 128: 0.99})
    assert verdict.verdict is Verdict.UNCLEAR
    assert verdict.crossover is None
    assert codes(verdict)[0] == "near_tie"


def test_a_gain_of_one_percent_before_a_clear_loss_is_never_faster() -> None:
    verdict = judged({1: 1.01, 2: 0.99, 4: 0.94, 8: 0.9, 16: 0.85, 32: 0.8, 64: 0.8, 128: 0.8})
    assert verdict.verdict is Verdict.NEVER_FASTER
    assert verdict.high is not None
    assert 2 < verdict.high < 8


def test_a_crossing_whose_loss_is_inside_the_noise_stays_open_above() -> None:
    verdict = judged({1: 1.6, 2: 1.6, 4: 1.5, 8: 1.4, 16: 1.3, 32: 1.2, 64: 1.1, 128: 0.985})
    assert verdict.verdict is Verdict.CROSSES
    assert verdict.crossover is not None
    assert verdict.high is None
    assert verdict.low is not None
    assert 64 < verdict.low < verdict.crossover < 128
    assert "open_high" in codes(verdict)


def test_a_tie_at_the_very_top_stays_open_where_the_gain_ends() -> None:
    verdict = judged({1: 1.6, 2: 1.6, 4: 1.5, 8: 1.4, 16: 1.3, 32: 1.2, 64: 1.1, 128: 1.01})
    assert verdict.verdict is Verdict.ALWAYS_FASTER
    assert verdict.low is not None
    assert 64 < verdict.low < 128
    assert verdict.high is None


def test_a_long_tie_after_a_gain_is_unclear() -> None:
    verdict = judged({1: 1.3, 2: 1.2, 4: 1.01, 8: 0.995, 16: 1.01, 32: 0.99, 64: 1.005, 128: 0.995})
    assert verdict.verdict is Verdict.UNCLEAR
    assert codes(verdict)[0] == "tie_above"


def test_a_dip_that_returns_is_unclear() -> None:
    verdict = judged({1: 1.3, 2: 1.2, 4: 0.8, 8: 0.8, 16: 0.9, 32: 1.2, 64: 1.2, 128: 1.2})
    assert verdict.verdict is Verdict.UNCLEAR
    assert verdict.crossover is None
    assert codes(verdict)[0] == "several_crossings"
    assert "faster, then slower, then faster" in verdict.reasons[0].text


def test_slower_below_and_faster_above_has_no_crossover() -> None:
    verdict = judged({1: 0.8, 2: 0.8, 4: 0.9, 8: 1.1, 16: 1.2, 32: 1.2, 64: 1.2, 128: 1.2})
    assert verdict.verdict is Verdict.UNCLEAR
    assert codes(verdict)[0] == "slower_then_faster"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (points("k3", 1.2), "no_baseline"),
        (points("off", 1.0) + points("k3", {8: 1.2}), "too_few_rungs"),
        (points("off", {1: 1.0, 2: 1.0}) + points("k3", {16: 1.2, 32: 1.2}), "no_overlap"),
        (
            [*points("off", 1.0), CurvePoint("k3", 0.0, 100.0, 0), CurvePoint("k3", 4.0, float("nan"), 0)],
            "too_few_rungs",
        ),
    ],
)
def test_what_cannot_be_compared_is_insufficient_with_a_reason(given: list[CurvePoint], code: str) -> None:
    verdict = estimate(given, baseline="off", axis=Axis.CLIENTS).arms["k3"]
    assert verdict.verdict is Verdict.INSUFFICIENT
    assert (verdict.crossover, verdict.low, verdict.high, verdict.speedup) == (None, None, None, ())
    assert codes(verdict)[0] == code


def test_curves_are_divided_at_equal_concurrency_not_rung_by_rung() -> None:
    """An arm that is exactly as fast, but sits 4% lower on every rung, has a speedup of 1."""
    off = [CurvePoint("off", x, 200 * x**0.9, r) for x in LADDER for r in range(2)]
    on = [CurvePoint("k3", 0.96 * x, 200 * (0.96 * x) ** 0.9, r) for x in LADDER for r in range(2)]
    verdict = estimate(off + on, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["k3"]
    assert verdict.speedup[0].concurrency == pytest.approx(1)
    assert verdict.speedup[-1].concurrency == pytest.approx(0.96 * 128)
    assert all(point.ratio == pytest.approx(1, abs=1e-6) for point in verdict.speedup)


def test_repeats_that_scatter_widen_the_band_and_are_named() -> None:
    calm = estimate(points("off", 1.0) + points("k3", 1.2), baseline="off", axis=Axis.CLIENTS).arms["k3"]
    wild = estimate(points("off", 1.0) + points("k3", 1.2, scatter=0.1), baseline="off", axis=Axis.CLIENTS).arms["k3"]
    assert wild.speedup[3].high - wild.speedup[3].low > 2 * (calm.speedup[3].high - calm.speedup[3].low)
    assert "noisy" in codes(wild)
    assert "noisy" not in codes(calm)


def test_perfect_repeats_still_leave_the_noise_between_runs() -> None:
    verdict = estimate(
        points("off", 1.0, scatter=0.0) + points("k3", 1.2, scatter=0.0), baseline="off", axis=Axis.CLIENTS
    ).arms["k3"]
    assert all(point.high / point.low > 1.06 for point in verdict.speedup)


def test_a_single_run_says_what_noise_it_assumes() -> None:
    both = points("off", 1.0, repeats=1) + points("k3", 1.3, repeats=1)
    verdict = estimate(both, baseline="off", axis=Axis.CLIENTS).arms["k3"]
    assert codes(verdict).count("not_repeated") == 2


def test_speedup_between_rungs_is_interpolated_and_unknown_outside() -> None:
    verdict = judged({1: 1.6, 2: 1.6, 4: 1.5, 8: 1.5, 16: 1.2, 32: 1.2})
    between = speedup_at(verdict, (8 * 16) ** 0.5)
    assert between is not None
    assert between.ratio == pytest.approx((1.5 * 1.2) ** 0.5, rel=1e-3)
    assert between.low < between.ratio < between.high
    at_top = speedup_at(verdict, verdict.speedup[-1].concurrency)
    assert at_top == verdict.speedup[-1]
    assert speedup_at(verdict, 32.0) is not None, "the top rung itself was measured"
    assert speedup_at(verdict, 33) is None
    assert speedup_at(verdict, 0.5) is None


def test_the_order_of_points_does_not_matter() -> None:
    both = points("off", 1.0) + points("k3", {1: 1.6, 4: 1.5, 16: 1.2, 64: 0.9})
    forward = estimate(both, baseline="off", axis=Axis.CLIENTS)
    assert estimate(both[::-1], baseline="off", axis=Axis.CLIENTS).arms == forward.arms


def test_a_side_that_is_open_is_not_said_to_be_faster_or_slower() -> None:
    words = Words("k3", "off", 2.0, 48.0)
    assert words.crosses(20.8, 4.0, 32.0).text == (
        "k3 is faster than off up to about 20.8 (90% interval 4 to 32) and slower above."
    )
    assert words.crosses(20.8, 4.0, None).text.endswith(
        "4 to open) and reads slower above, a loss not yet beyond the noise."
    )
    assert words.crosses(20.8, None, 32.0).text.startswith("k3 reads faster than off up to about 20.8")
    assert ", a gain not yet beyond the noise, and slower above." in words.crosses(20.8, None, 32.0).text
