"""Which arm is named for which stretch of concurrency."""

from __future__ import annotations

from itertools import pairwise

import pytest

from probes.crossover import estimate
from probes.values import Axis, BestRange, CurvePoint

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
