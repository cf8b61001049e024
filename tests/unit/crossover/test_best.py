"""Which arm is named for which stretch of concurrency."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from probes.answer_values import Axis, BestRange, CurvePoint
from probes.crossover import estimate

LADDER = (1, 4, 16, 64)


def arm(name: str, speedups: tuple[float, ...]) -> list[CurvePoint]:
    return [
        CurvePoint(name, x, 200 * x / (1 + x / 60) * ratio * (1 + 0.005 * (repeat - 1)), repeat)
        for x, ratio in zip(LADDER, speedups, strict=False)
        for repeat in range(3)
    ]


def best(*arms: list[CurvePoint]) -> tuple[BestRange, ...]:
    return estimate([p for a in arms for p in a], baseline="off", axis=Axis.CLIENTS).best


OFF = arm("off", (1.0, 1.0, 1.0, 1.0))


def test_the_fastest_arm_is_named_with_its_lead_over_the_next() -> None:
    (only,) = best(OFF, arm("k1", (1.2, 1.2, 1.2, 1.2)), arm("k3", (1.5, 1.5, 1.5, 1.5)))
    assert (only.arm, only.confident) == ("k3", True)
    assert 24 < only.margin_pct < 26
    assert [only.start, only.end] == pytest.approx([1, 64])


def test_ranges_follow_one_another_to_the_baseline() -> None:
    ranges = best(OFF, arm("k3", (1.6, 1.4, 0.9, 0.6)))
    assert [r.arm for r in ranges if r.confident] == ["k3", "off"]
    assert all(one.end == two.start for one, two in pairwise(ranges))


def test_the_simpler_arm_is_named_where_noise_cannot_tell() -> None:
    (only,) = best(OFF, arm("k5", (1.52, 1.52, 1.52, 1.52)), arm("k3", (1.5, 1.5, 1.5, 1.5)))
    assert (only.arm, only.confident) == ("k3", False)
    assert only.margin_pct < 0
    (only,) = best(OFF, arm("k3", (1.01, 1.01, 1.01, 1.01)))
    assert (only.arm, only.confident) == ("off", False)


def test_an_arm_counts_only_where_it_was_measured() -> None:
    ranges = best(OFF, arm("k3", (1.5, 1.5)), arm("k1", (1.2, 1.2, 1.2, 1.2)))
    assert [r.arm for r in ranges] == ["k3", "k1"]
    assert abs(ranges[0].end - 4) < 0.5


def test_nothing_is_best_where_nothing_was_compared() -> None:
    assert best(OFF) == ()
    assert best(arm("off", (1.0, 1.0)), [CurvePoint("k3", x, 100 * x, 0) for x in (32.0, 64.0)]) == ()


def test_the_margin_says_over_whom_and_how_it_changes_across_the_range() -> None:
    (only,) = best(OFF, arm("k1", (1.3, 1.2, 1.2, 1.2)), arm("k3", (1.9, 1.6, 1.4, 1.3)))
    assert only.over == ("k1",), "the next fastest, not the baseline"
    assert only.low_pct == pytest.approx(8, abs=1)
    assert only.high_pct == pytest.approx(46, abs=1)
    assert 8 < only.margin_pct < 46
    assert only.noise_pct is not None
    assert 3 < only.noise_pct < 8


def test_rivals_that_take_turns_are_named_in_their_order() -> None:
    (only,) = best(OFF, arm("k1", (1.1, 1.1, 1.3, 1.3)), arm("k5", (1.4, 1.4, 0.8, 0.7)), arm("k3", (1.7,) * 4))
    assert (only.arm, only.over) == ("k3", ("k5", "k1"))


def test_a_tie_names_those_that_noise_cannot_tell_apart_and_counts_no_others_in_its_margin() -> None:
    arms = (arm("k3", (1.5,) * 4), arm("k5", (1.51,) * 4), arm("k1", (1.1,) * 4))
    (only,) = best(OFF, *arms)
    assert (only.arm, only.confident, only.over) == ("k3", False, ("k5",))
    assert only.high_pct is not None
    assert only.high_pct < 1


def test_draft_length_by_counters_decides_which_arm_is_simpler_not_the_name() -> None:
    long = [replace(p, k=5.0) for p in arm("a1", (1.5,) * 4)]
    short = [replace(p, k=2.0) for p in arm("b7", (1.49,) * 4)]
    (only,) = best(OFF, long, short)
    assert (only.arm, only.over) == ("b7", ("a1",))


def test_an_arm_whose_draft_length_changes_is_the_least_simple() -> None:
    adapts = [replace(p, k=3.0 if p.concurrency < 10 else 0.0) for p in arm("dsd", (1.5,) * 4)]
    static = [replace(p, k=9.0) for p in arm("k9", (1.5,) * 4)]
    (only,) = best(OFF, adapts, static)
    assert only.arm == "k9"


@pytest.mark.parametrize(("one", "two"), [("eagle3-k1", "eagle3-k5"), ("mtp-1", "mtp-3"), ("K2", "k4")])
def test_names_tell_draft_lengths_where_counters_do_not(one: str, two: str) -> None:
    (only,) = best(OFF, arm(two, (1.5,) * 4), arm(one, (1.5,) * 4))
    assert only.arm == one


def test_where_admission_ends_an_arm_inside_its_range_the_range_says_so() -> None:
    full = [replace(p, limited=p.concurrency > 16) for p in arm("k3", (1.5, 1.5, 1.5, 1.4))]
    (only,) = best(OFF, full)
    assert only.limited_above == pytest.approx(16)
    (free,) = best(OFF, arm("k3", (1.5,) * 4))
    assert free.limited_above is None
    beaten = [replace(p, limited=p.concurrency > 16) for p in arm("k3", (1.5, 1.2, 0.6, 0.5))]
    assert all(one.limited_above is None for one in best(OFF, beaten)), "it ends where the arm is not the best"
