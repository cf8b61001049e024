"""Numbers on the screens have fixed precision, a unit, and a word instead of a zero where they are not known."""

from __future__ import annotations

import math

import pytest

from monitor.tui import format as fmt
from probes.answer_values import BandPoint, Verdict


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (-3.0, "0s"),
        (0.4, "0s"),
        (59.9, "59s"),
        (125.0, "2m05s"),
        (599.0, "9m59s"),
        (720.0, "12m"),
        (3600.0, "1h00m"),
        (35940.0, "9h59m"),
        (100_000.0, "27h"),
        (3 * 86400.0, "3d"),
        (20.5 * 86400, "20d"),
    ],
)
def test_ages_stay_within_six_cells(seconds: float | None, text: str) -> None:
    assert fmt.age(seconds) == text
    assert len(text) <= 6


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (24.0, 21.0, 28.0, "24 [21–28]"),
        (6.3, 5.0, 7.54, "6.3 [5–7.5]"),
        (153.0, 140.4, 171.0, "153 [140–171]"),
        (24.0, None, 28.0, "24 […–28]"),
        (24.0, 21.0, None, "24 [21–…]"),
        (None, None, None, "–"),
    ],
)
def test_an_open_edge_is_an_ellipsis_and_never_a_zero(
    value: float | None, low: float | None, high: float | None, text: str
) -> None:
    assert fmt.interval(value, low, high) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.934, "0.93×"), (1.0, "1.00×"), (12.34, "12.3×"), (400.0, ">99×"), (math.inf, "–")],
)
def test_ratios(value: float | None, text: str) -> None:
    assert fmt.ratio(value) == text


def test_a_band_shows_its_middle_and_its_edges() -> None:
    assert fmt.band(BandPoint(37.0, 0.93, 0.9, 0.954)) == "0.93× [0.90–0.95]"
    assert fmt.band(None) == "–"


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.0, "0.0 ms"), (182.4, "182 ms"), (2411.0, "2.41 s")])
def test_latencies_carry_their_unit(value: float | None, text: str) -> None:
    assert fmt.milliseconds(value) == text


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict.CROSSES, "24 [21–28]"),
        (Verdict.ALWAYS_FASTER, "none to 64"),
        (Verdict.NEVER_FASTER, "never faster"),
        (Verdict.UNCLEAR, "unclear"),
        (Verdict.INSUFFICIENT, "too few cells"),
    ],
)
def test_every_verdict_has_words_that_fit_its_column(verdict: Verdict, text: str) -> None:
    assert fmt.verdict_words(verdict, 24.0, 21.0, 28.0, 64.0) == text
    assert len(text) <= 13


def test_another_day_is_dated() -> None:
    assert fmt.minute(1_790_478_765.0, 1_790_478_765.0) == "03:12Z"
    assert fmt.minute(1_790_478_765.0 - 86400, 1_790_478_765.0) == "Sep 26 03:12Z"
