"""Durations, windows, zones and the automatic ladder mean what an engineer would expect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config.ladder import resolve_ladder
from monitor.config.model import ProbeConfig
from monitor.config.times import minutes_left, parse_duration, parse_window, zone


def test_durations() -> None:
    assert [parse_duration(text) for text in ("90s", "15m", "12h", "14d", "2w", "1.5h")] == [
        90, 900, 43200, 1209600, 1209600, 5400,
    ]  # fmt: skip
    for wrong in ("14", "d", "", "-1d", "0s", "1 d", "14days"):
        with pytest.raises(ValueError, match="duration"):
            parse_duration(wrong)


def test_a_window_may_cross_midnight() -> None:
    night = parse_window("22:30-05:00")
    assert minutes_left(night, 22 * 60 + 30) == 390
    assert minutes_left(night, 0) == 300
    assert minutes_left(night, 4 * 60 + 59) == 1
    assert minutes_left(night, 5 * 60) is None
    assert minutes_left(parse_window("01:00-05:00"), 30) is None
    for wrong in ("1:00-05:00", "01:00", "24:00-01:00", "01:00-01:00", "01:00 - 05:00"):
        with pytest.raises(ValueError, match="window"):
            parse_window(wrong)


@pytest.mark.parametrize(("name", "guess"), [("berlin", "Europe/Berlin"), ("europe/berlin", "Europe/Berlin"),
                                             ("America/New York", "America/New_York")])  # fmt: skip
def test_a_wrong_zone_gets_the_right_one_suggested(name: str, guess: str) -> None:
    with pytest.raises(ValueError, match=guess):
        zone(name)


@pytest.mark.parametrize("name", ["", "../etc/passwd", "/etc/localtime", "Europe", "Mars/Olympus\0"])
def test_anything_else_is_no_zone(name: str) -> None:
    with pytest.raises(ValueError, match="not a time zone"):
        zone(name)


def test_an_automatic_ladder_climbs_past_the_peak() -> None:
    auto = ProbeConfig()
    assert resolve_ladder(auto, None, None) == (1, 2, 4, 8, 16, 32, 64)
    assert resolve_ladder(auto, 20.0, None)[-1] == 64
    assert resolve_ladder(auto, 86.0, None)[-1] == 256
    assert resolve_ladder(auto, 200.0, 256.0)[-1] == 256
    assert resolve_ladder(auto, None, 48.0) == (1, 2, 4, 8, 16, 32, 48)
    assert resolve_ladder(ProbeConfig(ladder=[3, 5]), 100.0, 2.0) == (3, 5)


@given(peak=st.none() | st.floats(0, 3000), cap=st.none() | st.floats(1, 4096))
def test_an_automatic_ladder_always_rises_and_never_passes_the_cap(peak: float | None, cap: float | None) -> None:
    rungs = resolve_ladder(ProbeConfig(), peak, cap)
    assert rungs[0] == 1
    assert list(rungs) == sorted(set(rungs))
    assert rungs[-1] >= (min(1.5 * (peak or 0), int(cap)) if cap is not None else 1.5 * (peak or 0))
    assert cap is None or rungs[-1] <= cap
