"""Charts of many endpoints: no snapshot waits long for them, and only one is built at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.service.feed import StoreFeed
from monitor.service.feed_history import BUDGET_S, HISTORY_S, Histories
from monitor.store.db import Store, open_store
from monitor.store.readings import append_readings
from tests.support.configs import sound
from tests.support.records import a_reading, an_engine

NOW_S = 10_000.0
NAMES = ("a", "b", "c")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


class SlowDisk:
    """A clock by which every look costs this much."""

    def __init__(self, costs_s: float) -> None:
        self.now_s, self.costs_s = 0.0, costs_s

    def __call__(self) -> float:
        self.now_s += self.costs_s
        return self.now_s


def fill(store: Store, at_s: float) -> None:
    append_readings(store, [a_reading(at_s=at_s, endpoint=name, engines=(an_engine(),)) for name in NAMES], {})


def test_charts_that_take_long_come_one_after_another_and_are_refreshed_in_turn(store: Store) -> None:
    histories = Histories(store, NAMES, SlowDisk(BUDGET_S))
    fill(store, NOW_S - 1)
    assert [sorted(histories.read(NOW_S)) for _ in range(3)] == [["a"], ["a", "b"], ["a", "b", "c"]]
    fill(store, NOW_S + 9)
    for newest in (("a",), ("a", "b"), ("a", "b", "c")):
        read = histories.read(NOW_S + 10)
        assert {name for name, points in read.items() if len(points) == 2} == set(newest)


def test_urgent_charts_come_first(store: Store) -> None:
    histories = Histories(store, NAMES, SlowDisk(BUDGET_S))
    fill(store, NOW_S - 1)
    assert [sorted(histories.read(NOW_S, {"c"})) for _ in range(3)] == [["c"], ["a", "c"], ["a", "b", "c"]]


def test_where_time_is_enough_all_are_read(store: Store) -> None:
    fill(store, NOW_S - 1)
    read = Histories(store, NAMES, SlowDisk(0.0)).read(NOW_S)
    assert {name: len(points) for name, points in read.items()} == dict.fromkeys(NAMES, 1)


def test_a_chart_whose_turn_has_not_come_shows_nothing_older_than_the_others(store: Store) -> None:
    histories = Histories(store, NAMES[:2], SlowDisk(BUDGET_S))
    fill(store, NOW_S - 1)
    for _ in range(2):
        histories.read(NOW_S)
    read = histories.read(NOW_S + HISTORY_S + 60)
    assert read == {"a": (), "b": ()}


async def test_whoever_gave_up_and_asks_again_gets_the_snapshot_that_is_being_built(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        feed, asked = StoreFeed(loaded, store), list[str]()
        store.db.conn.set_trace_callback(asked.append)
        with store.write():
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(feed.snapshot(), 0.05)
        first = await feed.snapshot()
        assert sum("FROM outbox" in sql for sql in asked) == 1
        assert (await feed.snapshot()).at_s > first.at_s


async def test_a_snapshot_that_failed_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        feed = StoreFeed(loaded, store)
        with monkeypatch.context() as broken:
            broken.setattr(store, "rows", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await feed.snapshot()
        assert (await feed.snapshot()).endpoints
