"""Charts that are kept up to date: the same points as read afresh, whatever happens to the readings, for few reads."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from monitor.store.db import Store
from monitor.store.history import Known, history, history_on, newest_grid
from monitor.store.pages import pack_counts, pack_edges, unpack_counted, unpack_histograms
from monitor.store.readings import append_readings
from monitor.store.retention import prune
from probes.values import EngineReading, Histogram, Reading
from tests.support.records import a_failed_reading, a_reading, an_engine

INF = float("inf")
SPAN_S, BUCKETS = 300.0, 60


def page(at_s: float, tokens: float) -> Reading:
    return a_reading(at_s=at_s, engines=(engine(tokens),))


def engine(tokens: float) -> EngineReading:
    shape = Histogram((0.1, 0.5, INF), (tokens, 2 * tokens, 2 * tokens), tokens, 2 * tokens)
    return an_engine(
        tokens=tokens, drafts=tokens / 2, accepted_tokens=tokens, draft_tokens=tokens, histograms={"ttft_s": shape}
    )


@pytest.mark.parametrize("seed", range(8))
def test_points_that_are_kept_are_those_that_are_read(store: Store, seed: int) -> None:
    dice = random.Random(seed)
    known, now_s, tokens, late = Known(), 10_000.0, 0.0, list[Reading]()
    for _ in range(150):
        now_s += dice.choice((0.4, 1.0, 5.0, 5.2, 4.8, 17.0 if dice.random() < 0.2 else 2.0))
        tokens = 0.0 if dice.random() < 0.03 else tokens + dice.randrange(200)
        came = [a_failed_reading(at_s=now_s) if dice.random() < 0.05 else page(now_s, tokens)]
        if dice.random() < 0.2:
            late, came = late + came, []
        elif dice.random() < 0.3:
            late, came = [], late + came
        append_readings(store, came, {"chat": 7 if dice.random() < 0.1 else None})
        if dice.random() < 0.05:
            prune(store, now_s, dice.choice((100.0, 200.0, 290.0)))
        seen_s = now_s + dice.random() * 5
        grid = newest_grid(seen_s, SPAN_S, BUCKETS)
        assert history_on(store, "chat", grid, known) == history_on(store, "chat", grid, Known())
        assert len(known.points) <= BUCKETS


def test_on_a_grid_that_is_full_they_are_those_of_the_same_stretch(store: Store) -> None:
    append_readings(store, [page(t * 5.0 + 1, t * 100.0) for t in range(100)], {})
    grid = newest_grid(499.999, SPAN_S, BUCKETS)
    assert grid.since_s == 200.0
    stretch = history(store, "chat", 200.0, BUCKETS, 500.0)
    assert len(stretch) == BUCKETS
    assert history_on(store, "chat", grid, Known()) == stretch


def test_nothing_is_drawn_in_the_future(store: Store) -> None:
    append_readings(store, [page(995.5, 1.0), page(1000.5, 2.0)], {})
    samples = history_on(store, "chat", newest_grid(1001.0, SPAN_S, BUCKETS), Known())
    assert [s.at_s for s in samples] == [997.5, 1001.0]


def test_finished_buckets_are_not_read_again(store: Store) -> None:
    append_readings(store, [page(1000.0 + 5 * t, t * 100.0) for t in range(60)], {})
    known = Known()
    history_on(store, "chat", newest_grid(1299.0, SPAN_S, BUCKETS), known)
    asked: list[str] = []
    store.db.conn.set_trace_callback(asked.append)
    history_on(store, "chat", newest_grid(1299.9, SPAN_S, BUCKETS), known)
    assert len(asked) == 1
    append_readings(store, [page(1300.0, 6000.0)], {})
    asked.clear()
    assert len(history_on(store, "chat", newest_grid(1301.0, SPAN_S, BUCKETS), known)) == BUCKETS
    # The newest bucket, and the oldest one, whose predecessor has left the picture: two tables each.
    assert len(asked) == 1 + 2 * 2


def test_what_was_pruned_while_it_was_read_is_not_remembered_as_empty(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_readings(store, [page(1000.0 + 5 * t, t * 100.0) for t in range(60)], {})
    grid, known = newest_grid(1299.0, SPAN_S, BUCKETS), Known()
    with monkeypatch.context() as between:
        between.setattr("monitor.store.history.load_pages", lambda *_: ([], {}))
        assert history_on(store, "chat", grid, known) == []
    assert len(history_on(store, "chat", grid, known)) == BUCKETS


def test_histograms_that_are_only_counted_keep_total_and_count() -> None:
    shape = Histogram((0.1, INF), (1.0, 3.0), 0.7, 3.0)
    both = {"ttft_s": shape, "e2e_s": replace(shape, total=2.5)}
    packed = pack_edges(both), pack_counts(both)
    assert unpack_histograms(*packed) == both
    assert unpack_counted(*packed, {"ttft_s"}) == {"ttft_s": shape, "e2e_s": Histogram((), (), 2.5, 3.0)}
