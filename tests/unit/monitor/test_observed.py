"""Live output beside the sweep's band: how far it is believed, and what both say together."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.live_window import LiveWindow, live_window
from monitor.observed import observed_speedup, weighed
from probes.answer_values import BandPoint, CurveSample
from probes.values import EngineKind
from tests.support.drift import h200, live_minute


def minute(concurrency: float, tok_s: float) -> LiveWindow:
    return live_window(live_minute(concurrency, output_tok_s=tok_s), 0.0)


def band(ratio: float, width: float) -> BandPoint:
    return BandPoint(150.0, ratio, ratio / width, ratio * width)


def flat_from(concurrency: float, tok_s: float, slope: float) -> tuple[CurveSample, ...]:
    """A baseline known within 1%, rising by `slope` per octave in the last one."""
    points = ((concurrency / 8, tok_s / 2 / 2**slope), (concurrency / 2, tok_s / 2**slope), (concurrency, tok_s))
    return tuple(CurveSample(x, y, y / 1.01, y * 1.01) for x, y in points)


@pytest.mark.parametrize("slope", [0.1, 0.4, 0.9])
def test_a_gauge_that_reads_low_explains_no_more_than_the_baseline_still_rises(slope: float) -> None:
    found = replace(h200(), curves={**h200().curves, "off": flat_from(240.0, 14_000.0, slope)})
    seen = observed_speedup(found, minute(238.0, 14_000.0), None, 256.0)
    assert seen is not None
    assert seen.ratio == pytest.approx(1.0, rel=0.02)
    least = 1.25**slope
    assert least < seen.ratio / seen.low < least * 1.08


def told(window: LiveWindow, most: float, kind: EngineKind = EngineKind.VLLM) -> LiveWindow:
    """The same where the page tells what its gauges miss."""
    (engine,) = window.engines
    return replace(window, engines=(replace(engine, unseen=0.0, concurrency_most=most),), engine_kind=kind)


def test_a_page_that_tells_what_its_gauges_miss_is_believed_further_and_no_further_than_it_tells() -> None:
    found = replace(h200(), curves={**h200().curves, "off": flat_from(240.0, 14_000.0, 0.8)})

    def low(window: LiveWindow) -> float:
        seen = observed_speedup(found, window, None, 1e9)
        assert seen is not None
        return seen.low

    plain = minute(180.0, 12_000.0)
    assert low(told(plain, 180.0)) > 1.05 * low(plain)
    assert low(told(plain, 180.0, EngineKind.SGLANG)) == pytest.approx(low(plain))
    assert low(told(plain, 260.0)) < low(plain), "aborted requests leave no latency, but a time to first token"


def test_a_baseline_that_falls_leaves_no_band_that_ends_before_it_begins() -> None:
    """Ten thousand tok/s at 128 and seven at 170: a gauge that reads low may hide either."""
    fell = tuple(
        CurveSample(x, y, y / 1.01, y * 1.01) for x, y in ((64.0, 9_000.0), (128.0, 10_000.0), (170.0, 7_000.0))
    )
    found = replace(h200(), curves={**h200().curves, "off": fell})
    seen = observed_speedup(found, minute(130.0, 8_500.0), None, 256.0)
    assert seen is not None
    assert seen.low < seen.ratio < seen.high
    assert seen.low < 0.88
    assert seen.high > 1.1


def test_tokens_that_a_counter_has_and_nobody_got_lower_the_band() -> None:
    vllm = minute(120.0, 13_000.0)
    found = h200()
    plain = observed_speedup(found, vllm, None, 16.0)
    sglang = replace(vllm, engine_kind=EngineKind.SGLANG)
    short, long = (observed_speedup(found, sglang, None, tokens) for tokens in (16.0, 600.0))
    assert plain is not None
    assert short is not None
    assert long is not None
    assert short.low == pytest.approx(plain.low * (1 - 6 / 16))
    assert long.low == pytest.approx(plain.low * 0.99)
    assert short.high == plain.high


def test_two_that_both_show_a_loss_are_not_made_into_none() -> None:
    """However far apart they are."""
    assert weighed(band(0.70, 1.05), band(0.90, 1.03)).high == pytest.approx(0.90 * 1.03)


def test_two_that_agree_are_surer_than_either() -> None:
    both = weighed(band(0.90, 1.05), band(0.92, 1.08))
    assert 0.90 < both.ratio < 0.92
    assert both.high / both.low < 1.05**2


def test_the_surer_one_counts_for_more() -> None:
    assert weighed(band(0.90, 1.02), band(1.0, 1.10)).ratio < 0.91


def test_two_that_contradict_each_other_leave_both_open() -> None:
    both = weighed(band(0.80, 1.03), band(1.00, 1.03))
    assert both.low < 0.80
    assert both.high > 1.0
    assert both.low == pytest.approx(0.80 / 1.03)
    assert both.high == pytest.approx(1.03)


RATIO = st.floats(0.3, 3.0)
WIDTH = st.floats(1.001, 2.0)


@given(RATIO, WIDTH, RATIO, WIDTH)
def test_what_both_say_lies_between_them_and_does_not_depend_on_their_order(
    a: float, wide_a: float, b: float, wide_b: float
) -> None:
    one, two = band(a, wide_a), band(b, wide_b)
    both, turned = weighed(one, two), weighed(two, one)
    assert min(a, b) * 0.999 <= both.ratio <= max(a, b) * 1.001
    assert both.low <= both.ratio <= both.high
    assert math.isclose(both.high, turned.high, rel_tol=1e-9)
