"""Readings come back as they went in, once, in order, and only where they were."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.store.db import Store, StoreError, open_store
from monitor.store.readings import append_readings, endpoint_names, latest_reading, load_readings
from monitor.store.retention import prune
from monitor.values import StoredReading
from probes.values import EngineKind, EngineReading, Histogram, Reading, State
from tests.support.records import a_failed_reading, a_reading, an_engine

numbers = st.floats(allow_nan=False, width=64)
maybe = st.none() | numbers
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
maps = st.dictionaries(texts, texts, max_size=3)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    size = draw(st.integers(0, 6))
    counts = st.lists(st.integers(0, 2**60).map(float) | numbers, min_size=size, max_size=size)
    edges = st.lists(numbers, min_size=size, max_size=size)
    return Histogram(tuple(draw(edges)), tuple(draw(counts)), draw(numbers), draw(numbers))


engines = st.builds(
    EngineReading,
    engine=texts,
    running=maybe,
    waiting=maybe,
    kv_usage=maybe,
    generation_tokens=maybe,
    generation_tokens_live=st.booleans(),
    prompt_tokens=maybe,
    finished=maybe,
    preemptions=maybe,
    prefix_queries=maybe,
    prefix_hits=maybe,
    drafts=maybe,
    draft_tokens=maybe,
    accepted_tokens=maybe,
    accepted_per_pos=st.lists(numbers, max_size=5).map(tuple),
    acceptance_length_gauge=maybe,
    spec_verify_calls=maybe,
    histograms=st.dictionaries(st.sampled_from(["ttft_s", "itl_s", "e2e_s"]), histograms()),
)
readings = st.builds(
    Reading,
    endpoint=texts,
    at_s=st.floats(0, 4e9),
    mono_s=numbers,
    state=st.sampled_from(State),
    reason=texts,
    engine_kind=st.none() | st.sampled_from(EngineKind),
    engines=st.lists(engines, max_size=3).map(tuple),
    model_names=st.lists(texts, max_size=2).map(tuple),
    speculation_configured=st.none() | st.booleans(),
    k=st.none() | st.integers(0, 64),
    process_start_s=maybe,
    cache_config=maps,
    matched_names=maps,
    scrape_s=maybe,
    page_bytes=st.none() | st.integers(0, 2**40),
)


@settings(max_examples=60)
@given(batch=st.lists(readings, min_size=1, max_size=4, unique_by=lambda r: (r.endpoint, r.at_s)))
def test_any_reading_comes_back_exactly(batch: list[Reading]) -> None:
    with TemporaryDirectory() as folder, open_store(Path(folder) / "x.db") as store:
        append_readings(store, batch, {})
        for endpoint in {r.endpoint for r in batch}:
            expected = sorted((r for r in batch if r.endpoint == endpoint), key=lambda r: r.at_s)
            assert [r.reading for r in load_readings(store, endpoint, -math.inf)] == expected


def test_a_failed_scrape_is_kept_with_its_reason(store: Store) -> None:
    append_readings(store, [a_failed_reading(reason="no route to host")], {})
    newest = latest_reading(store, "chat")
    assert newest == StoredReading(a_failed_reading(reason="no route to host"), None)


def test_the_range_is_closed_and_of_one_endpoint(store: Store) -> None:
    append_readings(store, [a_reading(name, float(at)) for name in ("chat", "code") for at in range(6)], {})
    assert [r.reading.at_s for r in load_readings(store, "chat", 2.0, 4.0)] == [2.0, 3.0, 4.0]
    assert {r.reading.endpoint for r in load_readings(store, "chat", 0)} == {"chat"}
    assert endpoint_names(store) == ["chat", "code"]


def test_readings_of_a_sweep_carry_its_id(store: Store) -> None:
    append_readings(store, [a_reading("chat"), a_reading("code")], {"chat": 7, "code": None})
    assert [load_readings(store, name, 0)[0].sweep_id for name in ("chat", "code")] == [7, None]


def test_a_call_that_is_repeated_after_a_doubt_changes_nothing(store: Store) -> None:
    first = a_reading(at_s=1.0, engines=(an_engine("0"), an_engine("1")))
    append_readings(store, [first], {})
    append_readings(store, [first, a_reading(at_s=2.0)], {"chat": 3})
    assert [(r.reading.at_s, r.sweep_id) for r in load_readings(store, "chat", 0)] == [(1.0, None), (2.0, 3)]
    assert load_readings(store, "chat", 0)[0].reading == first


def test_a_number_that_is_none_comes_back_as_unknown_and_so_does_nan(store: Store) -> None:
    append_readings(store, [a_reading(engines=(EngineReading("0", running=math.nan, waiting=None, kv_usage=0.0),))], {})
    engine = load_readings(store, "chat", 0)[0].reading.engines[0]
    assert (engine.running, engine.waiting, engine.kv_usage) == (None, None, 0.0)


def test_what_a_page_repeats_is_stored_once(store: Store) -> None:
    append_readings(store, [a_reading(at_s=float(n)) for n in range(50)], {})
    assert store.scalar("SELECT count(*) FROM page_facts") == 2


def test_a_lean_load_is_the_same_but_for_histograms(store: Store) -> None:
    append_readings(store, [a_reading()], {})
    lean = load_readings(store, "chat", 0, histograms=False)[0].reading.engines[0]
    assert lean == an_engine(histograms={})


def test_old_readings_go_and_the_horizon_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.store.retention.BATCH", 7)
    append_readings(store, [a_reading(name, float(at)) for name in ("chat", "code") for at in range(30)], {})
    assert prune(store, now_s=30.0, keep_s=10.0) == 40
    for name in ("chat", "code"):
        assert [r.reading.at_s for r in load_readings(store, name, 0)] == [float(at) for at in range(20, 30)]
    assert store.scalar("SELECT count(*) FROM engine_readings") == 20
    assert prune(store, now_s=30.0, keep_s=10.0) == 0


def test_an_empty_store_has_nothing_and_says_so_quietly(store: Store) -> None:
    assert latest_reading(store, "chat") is None
    assert load_readings(store, "chat", 0) == []
    assert prune(store, 1e9, 1.0) == 0
    assert endpoint_names(store) == []


def test_a_store_that_was_closed_raises_for_people(tmp_path: Path) -> None:
    store = open_store(tmp_path / "x.db")
    store.close()
    with pytest.raises(StoreError, match="closed"):
        latest_reading(store, "chat")
