"""Chart points: rates over unbroken stretches, gaps that stay gaps."""

from __future__ import annotations

import pytest

from monitor.store.db import Store
from monitor.store.history import history
from monitor.store.readings import append_readings
from probes.values import EngineReading, Histogram, Reading
from tests.support.records import a_failed_reading, a_reading, an_engine

INF = float("inf")


def steady(at_s: float, rate: float = 20.0) -> EngineReading:
    return an_engine(tokens=rate * at_s, drafts=2 * at_s, accepted_tokens=3 * at_s, draft_tokens=6 * at_s)


def fill(store: Store, times: list[float], sweep: int | None = None) -> None:
    append_readings(store, [a_reading(at_s=t, engines=(steady(t),)) for t in times], {"chat": sweep})


def test_a_steady_minute(store: Store) -> None:
    fill(store, [float(t) for t in range(0, 61, 5)])
    samples = history(store, "chat", 0.0, 4)
    assert [s.at_s for s in samples] == [7.5, 22.5, 37.5, 52.5]
    for sample in samples:
        assert sample.concurrency == 4.0
        assert sample.output_tok_s == pytest.approx(20.0)
        assert sample.acceptance_length == pytest.approx(2.5)
        assert sample.kv_usage == 0.25
        assert not sample.in_sweep


def test_a_bucket_in_which_nothing_was_scraped_has_no_point(store: Store) -> None:
    fill(store, [0.0, 5.0, 10.0, 60.0, 65.0, 70.0])
    samples = history(store, "chat", 0.0, 7)
    assert [s.at_s for s in samples] == [5.0, 15.0, 65.0]
    assert samples[-1].output_tok_s == pytest.approx(20.0)


def test_failed_scrapes_leave_a_gap_and_no_rate_reaches_across(store: Store) -> None:
    readings = [a_reading(at_s=t, engines=(steady(t),)) for t in (0.0, 5.0, 15.0, 20.0)]
    append_readings(store, [*readings, a_failed_reading(at_s=10.0)], {})
    samples = history(store, "chat", 0.0, 4, until_s=20.0)
    assert [s.at_s for s in samples] == [2.5, 7.5, 17.5]
    alone = history(store, "chat", 0.0, 5, until_s=25.0)
    assert [(s.at_s, s.output_tok_s) for s in alone] == [
        (2.5, None), (7.5, pytest.approx(20.0)), (17.5, None), (22.5, pytest.approx(20.0)),
    ]  # fmt: skip


def test_a_restart_ends_a_stretch_instead_of_making_a_negative_rate(store: Store) -> None:
    before = [a_reading(at_s=t, engines=(steady(t),)) for t in (100.0, 105.0, 110.0)]
    after = [
        a_reading(at_s=t, engines=(steady(t - 112.0, rate=40.0),), process_start_s=112.0) for t in (115.0, 120.0, 125.0)
    ]
    append_readings(store, before + after, {})
    (only,) = history(store, "chat", 100.0, 1)
    assert only.output_tok_s == pytest.approx(30.0)
    assert only.acceptance_length == pytest.approx(2.5)


def test_several_engines_are_summed_in_throughput_and_the_busiest_is_the_concurrency(store: Store) -> None:
    append_readings(
        store,
        [
            a_reading(at_s=t, engines=(an_engine("0", 10 * t), an_engine("1", 30 * t, running=9.0, waiting=0.0)))
            for t in (0.0, 5.0, 10.0)
        ],
        {},
    )
    (only,) = history(store, "chat", 0.0, 1)
    assert only.output_tok_s == pytest.approx(40.0)
    assert only.concurrency == 9.0


def test_time_to_first_token_is_of_the_bucket_and_not_of_the_servers_life(store: Store) -> None:
    def page(at_s: float, fast: float, slow: float) -> Reading:
        shape = Histogram((0.1, 0.5, INF), (fast, fast + slow, fast + slow), 1.0, fast + slow)
        return a_reading(at_s=at_s, engines=(an_engine(tokens=at_s, histograms={"ttft_s": shape}),))

    pages = [page(0.0, 1000, 0), page(5.0, 1000, 10), page(10.0, 1000, 20)]
    append_readings(store, pages, {})
    (only,) = history(store, "chat", 0.0, 1)
    assert only.ttft_p50_ms is not None
    assert 100 < only.ttft_p50_ms <= 500


def test_sweep_traffic_is_marked(store: Store) -> None:
    fill(store, [0.0, 5.0])
    fill(store, [10.0, 15.0], sweep=3)
    assert [s.in_sweep for s in history(store, "chat", 0.0, 2, until_s=20.0)] == [False, True]


def test_nothing_stored_is_an_empty_history(store: Store) -> None:
    assert history(store, "chat", 0.0, 10) == []
    append_readings(store, [a_failed_reading()], {})
    assert history(store, "chat", 0.0, 10) == []


def test_one_reading_has_a_load_and_no_rate(store: Store) -> None:
    fill(store, [10.0])
    (only,) = history(store, "chat", 0.0, 5)
    assert (only.concurrency, only.output_tok_s) == (4.0, None)
