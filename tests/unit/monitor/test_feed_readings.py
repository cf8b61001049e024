"""Stretches of own traffic: looked up at every look in a small fleet, in turns in a large one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.service.feed_readings import KEEP_S, ViewedReadings
from monitor.store.db import Store, open_store
from monitor.store.readings import append_readings
from tests.support.records import a_reading, an_engine

NEWEST_S = 120.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        fill(opened, *range(1000, 1100, 5))
        yield opened


def fill(store: Store, *times: float) -> None:
    append_readings(store, [a_reading(at_s=t, engines=(an_engine(tokens=t, finished=t),)) for t in times], {})


def test_a_small_fleet_is_always_looked_up(store: Store) -> None:
    readings = ViewedReadings(store, 5, iter((0.0, 1.0)).__next__)
    assert ends(readings) == (1000.0, 1095.0)
    fill(store, 1100.0)
    assert ends(readings) == (1000.0, 1100.0)


def test_a_large_one_is_not_looked_up_again_for_some_seconds(store: Store) -> None:
    readings = ViewedReadings(store, 250, iter((0.0, 1.0, KEEP_S)).__next__)
    ends(readings)
    fill(store, 1100.0)
    asked: list[str] = []
    store.db.conn.set_trace_callback(asked.append)
    assert ends(readings) == (1000.0, 1095.0)
    assert asked == []
    assert ends(readings) == (1000.0, 1100.0)


def test_what_was_before_a_sweep_is_dropped_at_once(store: Store) -> None:
    readings = ViewedReadings(store, 250, lambda: 0.0)
    ends(readings)
    assert ends(readings, 1060.0) == (1060.0, 1095.0)


def ends(readings: ViewedReadings, since_s: float = 0.0) -> tuple[float, float]:
    found = readings.stretch("chat", since_s, NEWEST_S)
    assert found is not None
    return found[0].at_s, found[2].at_s
