"""What counts as covered: a swept mix and its neighbourhood, and everything between two of them."""

from __future__ import annotations

import math

import pytest

from probes.steptime.cover import distance, nearest_mix
from probes.steptime.values import Mix

SHORT, LONG = Mix(200.0, 250.0), Mix(3200.0, 125.0)


def test_a_swept_mix_and_its_neighbours_are_covered() -> None:
    assert distance([SHORT], SHORT) == 0
    assert distance([SHORT], Mix(240.0, 250.0)) == 0
    assert distance([SHORT], Mix(200.0, 210.0)) == 0


def test_distance_counts_factors_in_either_length() -> None:
    assert distance([SHORT], Mix(800.0, 250.0)) == pytest.approx(math.log(4) - math.log(1.25))
    assert distance([SHORT], Mix(200.0, 1000.0)) == pytest.approx(distance([SHORT], Mix(800.0, 250.0)))
    assert distance([], SHORT) == math.inf


def test_what_lies_between_two_swept_mixes_is_covered_and_what_lies_beyond_is_not() -> None:
    assert distance([SHORT, LONG], Mix(800.0, 177.0)) == 0
    assert distance([SHORT], Mix(800.0, 177.0)) > 1
    assert distance([SHORT, LONG], Mix(12800.0, 62.0)) == pytest.approx(distance([LONG], Mix(12800.0, 62.0)))
    assert distance([SHORT, LONG], Mix(3200.0, 1000.0)) > 1


def test_a_prompt_that_the_cache_holds_whole_is_still_a_place() -> None:
    assert math.isfinite(distance([SHORT], Mix(0.0, 250.0)))


def test_the_nearest_swept_mix_is_named() -> None:
    assert nearest_mix([SHORT, LONG], Mix(2000.0, 200.0)) == LONG
    assert nearest_mix([SHORT, LONG], Mix(300.0, 300.0)) == SHORT
    assert nearest_mix([], SHORT) is None
