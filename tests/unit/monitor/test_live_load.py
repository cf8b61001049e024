"""How many requests an engine holds: the ones that gauges miss are counted, and nothing that cannot be there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.live_load import in_system
from monitor.live_window import live_window
from monitor.values import StoredReading
from probes.scrape.rates import rates_between
from probes.values import EngineRates, EngineReading, Histogram
from tests.support.readings import engine, reading

WINDOW_S = 60.0


def rates(in_system: float | None, unanswered: float | None, latency_mean_s: float | None = 4.0) -> EngineRates:
    return EngineRates("0", WINDOW_S, in_system=in_system, unanswered=unanswered, latency_mean_s=latency_mean_s)


@pytest.mark.parametrize(
    ("running", "waiting", "by_law", "unanswered", "held"),
    [
        (6.0, 0.0, 8.0, 2.3, 8.0),  # prompts being read are not on the page yet
        (100.0, 0.0, 140.0, 45.0, 140.0),  # a front end that holds requests back
        (60.0, 0.0, 75.0, 2.0, 62.0),  # an answer of ten minutes ended: it was not here for all of them
        (60.0, 0.0, 20.0, 2.0, 60.0),  # one goes on for ten minutes, or requests were aborted
        (60.0, 30.0, 95.0, 31.0, 91.0),  # those that wait in the scheduler are shown, and are not counted twice
        (60.0, 30.0, 95.0, 12.0, 90.0),
        (0.0, 0.0, 0.3, 0.1, 0.1),
    ],
)
def test_what_the_gauges_miss_is_added_within_bounds(
    running: float, waiting: float, by_law: float, unanswered: float, held: float
) -> None:
    found = in_system(running, waiting, rates(by_law, unanswered))
    assert found is not None
    assert found.value == pytest.approx(held)
    assert found.most == pytest.approx(running + max(waiting, unanswered))


@pytest.mark.parametrize("told", [None, rates(None, 2.0), rates(8.0, None), rates(8.0, 2.0, None)])
def test_a_page_that_does_not_tell_leaves_the_gauges(told: EngineRates | None) -> None:
    assert in_system(6.0, 0.0, told) is None


def test_the_longer_answers_take_the_less_the_law_counts_and_the_load_does_not_jump() -> None:
    read = {}
    for latency_s in (1.0, 7.5, 9.0, 11.25, 14.9, 15.1, 60.0):
        found = in_system(6.0, 0.0, rates(8.0, 3.0, latency_s))
        read[latency_s] = found.value if found is not None else None
    assert read[1.0] == read[7.5] == pytest.approx(8.0)
    assert read[9.0] == pytest.approx(7.6)
    assert read[11.25] == pytest.approx(7.0)
    assert read[14.9] == pytest.approx(6.0, abs=0.05)
    assert read[15.1] is read[60.0] is None


LOAD = st.floats(0, 1e4)


@given(LOAD, LOAD, LOAD, LOAD)
def test_never_less_than_the_gauges_and_never_more_than_have_no_token_yet(
    running: float, waiting: float, by_law: float, unanswered: float
) -> None:
    held = in_system(running, waiting, rates(by_law, unanswered))
    assert held is not None
    assert running + waiting <= held.value <= held.most == running + max(waiting, unanswered)


def ended(requests: float, *, e2e_s: float = 4.0, ttft_s: float = 0.5) -> dict[str, Histogram]:
    """After so many requests of one latency."""
    return {
        name: Histogram((10.0, float("inf")), (requests, requests), each * requests, requests)
        for name, each in (("e2e_s", e2e_s), ("ttft_s", ttft_s))
    }


def window_of(*engines: tuple[str, float, dict[str, Histogram] | None]) -> list[StoredReading]:
    """A minute of one load: name, running, and what ended by its end (None: the page has no such histograms)."""

    def one(name: str, running: float, last: dict[str, Histogram] | None, share: float) -> EngineReading:
        histograms = {
            key: replace(h, counts=tuple(share * c for c in h.counts), total=share * h.total, count=share * h.count)
            for key, h in (last or {}).items()
        }
        return replace(engine(name, running=running, tokens=1000.0 + 600 * share), histograms=histograms)

    return [
        StoredReading(reading(at_s, [one(*each, at_s / WINDOW_S) for each in engines], k=3), sweep_id=None)
        for at_s in range(0, int(WINDOW_S) + 1, 5)
    ]


def test_the_live_window_holds_those_that_the_gauges_do_not_show() -> None:
    """Two requests a second of 4 s are 8, one of them always before its first token."""
    window = live_window(window_of(("0", 7.0, ended(120.0))), 0.0)
    assert window.concurrency == pytest.approx(8.0)
    assert window.engines[0].unseen == pytest.approx(1.0)


def test_engines_of_one_page_have_each_their_own() -> None:
    window = live_window(window_of(("0", 7.0, ended(120.0)), ("1", 7.0, ended(60.0, e2e_s=7.5))), 0.0)
    assert [e.concurrency for e in window.engines] == pytest.approx([8.0, 7.5])


def test_an_engine_that_idles_takes_nothing_from_another() -> None:
    window = live_window(window_of(("0", 7.0, ended(120.0)), ("1", 0.0, ended(0.0))), 0.0)
    assert [e.concurrency for e in window.engines] == pytest.approx([8.0, 0.0])


def test_a_histogram_of_all_engines_is_not_the_first_ones_own() -> None:
    window = live_window(window_of(("0", 7.0, ended(240.0)), ("1", 7.0, None)), 0.0)
    assert [e.concurrency for e in window.engines] == pytest.approx([7.0, 7.0])
    assert all(e.unseen is None for e in window.engines)


def test_nothing_that_ended_says_nothing() -> None:
    first, *_, last = (one.reading for one in window_of(("0", 7.0, ended(0.0))))
    (moved,) = rates_between(first, last)
    assert (moved.in_system, moved.unanswered, moved.latency_mean_s) == (None, None, None)
