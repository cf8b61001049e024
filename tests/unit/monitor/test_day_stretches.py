"""Own traffic is cut where acceptance moved, and nowhere else."""

from __future__ import annotations

import random

import pytest

from monitor.account_values import EngineMinute
from monitor.day_stretches import pieces, segments


def minutes(lengths: list[float], scatter: float = 0.0) -> list[EngineMinute]:
    """One a minute with that acceptance length, each off by the relative `scatter`."""
    chance = random.Random(3)
    held = []
    for index, length in enumerate(lengths):
        drafts = 3000.0
        accepted = drafts * (length * (1 + chance.gauss(0, scatter)) - 1)
        held.append(EngineMinute(60.0 * index + 30, "0", 60.0, 12.0, 6000.0, 0.0, True, 3, drafts, accepted, False))
    return held


def test_a_fall_of_acceptance_in_the_last_minutes_is_a_stretch_of_its_own() -> None:
    found = segments(minutes([2.6] * 6 + [1.73] * 2, 0.02), (0.0, 480.0))
    assert found == [(0.0, 360.0), (360.0, 480.0)]


def test_a_bad_half_hour_of_a_day_is_found_between_its_edges() -> None:
    found = segments(minutes([2.6] * 700 + [1.9] * 30 + [2.6] * 710, 0.04), (0.0, 86_400.0))
    assert found == [(0.0, 42_000.0), (42_000.0, 43_800.0), (43_800.0, 86_400.0)]


@pytest.mark.parametrize("scatter", [0.0, 0.03, 0.10])
def test_scatter_is_no_move(scatter: float) -> None:
    assert segments(minutes([2.6] * 1440, scatter), (0.0, 86_400.0)) == [(0.0, 86_400.0)]


def test_without_drafts_the_span_is_one() -> None:
    assert segments([], (5.0, 905.0)) == [(5.0, 905.0)]


def test_no_piece_is_longer_than_a_quarter_of_an_hour() -> None:
    assert pieces((0.0, 480.0)) == [(0.0, 480.0)]
    assert pieces((0.0, 1800.0)) == [(0.0, 900.0), (900.0, 1800.0)]
    assert [end - start for start, end in pieces((100.0, 2200.0))] == pytest.approx([700.0] * 3)
