"""A day in minutes: time means and what counters gained, and no minute where nothing can be known."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.store.db import Store
from monitor.store.identities import fingerprints_shown, save_identity
from monitor.store.minutes import engine_minutes, first_reading_s
from monitor.store.readings import append_readings
from probes.values import EngineReading, Identity, Reading
from tests.support.records import a_failed_reading, a_reading, an_engine


def page(at_s: float, running: float = 3.0, waiting: float | None = 1.0, rate: float = 20.0, **fields: Any) -> Reading:
    one = an_engine(tokens=rate * at_s, running=running, waiting=waiting, drafts=2 * at_s, accepted_tokens=3 * at_s)
    return a_reading(at_s=at_s, **{"engines": (one,), **fields})


def fill(store: Store, *readings: Reading, sweep: int | None = None) -> None:
    append_readings(store, list(readings), {"chat": sweep})


def test_a_minute_is_a_time_mean_and_what_the_counters_gained(store: Store) -> None:
    fill(store, *(page(600.0 + t, running=3.0 if t < 65 else 7.0) for t in range(0, 121, 5)))
    first, second, last = engine_minutes(store, "chat", 600.0, 720.0)
    assert (first.at_s, second.at_s, last.at_s) == (630.0, 690.0, 750.0)
    assert (first.seconds, second.seconds, last.seconds) == (55.0, 60.0, 5.0)
    assert first.concurrency == 4.0
    assert second.concurrency == pytest.approx((5 * 4 + 5 * 6 + 50 * 8) / 60)
    assert first.output_tokens == pytest.approx(20 * 55)
    assert first.drafting is True
    assert first.accepted == pytest.approx(3 * 55)
    assert first.waiting_share == 1.0
    assert not first.swept


def test_each_engine_has_minutes_of_its_own(store: Store) -> None:
    engines = [(an_engine("0", tokens=10 * t, running=1.0), an_engine("1", tokens=30 * t, running=5.0)) for t in (0, 5)]
    fill(store, *(a_reading(at_s=5.0 * n, engines=pair) for n, pair in enumerate(engines)))
    seen = engine_minutes(store, "chat", 0.0, 60.0)
    assert [(m.engine, m.concurrency, m.output_tokens) for m in seen] == [("0", 2.0, 50.0), ("1", 6.0, 150.0)]


def test_holes_restarts_and_failed_scrapes_that_leave_a_hole_are_in_no_minute(store: Store) -> None:
    fill(store, page(0.0), page(5.0), a_failed_reading(at_s=10.0), page(45.0), page(50.0))
    fill(store, page(55.0, process_start_s=54.0), page(60.0, process_start_s=54.0))
    seen = engine_minutes(store, "chat", 0.0, 119.0)
    assert [m.seconds for m in seen] == [10.0, 5.0]


def test_a_counter_that_falls_makes_no_output(store: Store) -> None:
    fill(store, page(100.0), page(105.0), page(110.0, rate=1.0), page(115.0, rate=1.0))
    (only,) = engine_minutes(store, "chat", 60.0, 119.0)
    assert only.seconds == 10.0
    assert only.output_tokens == pytest.approx(105.0)


def test_what_a_sweep_loaded_is_marked_and_kept_apart(store: Store) -> None:
    fill(store, page(0.0), page(5.0))
    fill(store, page(10.0), page(15.0), sweep=7)
    fill(store, page(20.0), page(25.0))
    own, swept = sorted(engine_minutes(store, "chat", 0.0, 59.0), key=lambda m: m.swept)
    assert (own.seconds, swept.seconds) == (10.0, 15.0)


def test_a_change_of_configuration_is_not_averaged_over(store: Store) -> None:
    off: dict[str, Any] = {"speculation_configured": False, "k": None}
    fill(store, page(0.0), page(5.0), page(10.0, **off), page(15.0, **off))
    seen = engine_minutes(store, "chat", 0.0, 59.0)
    assert sorted((m.k or 0, m.seconds, m.drafting) for m in seen) == [(0, 5.0, False), (3, 5.0, True)]


def test_a_page_without_a_gauge_says_nothing(store: Store) -> None:
    fill(store, page(0.0, waiting=None), page(5.0, waiting=None))
    silent = a_reading(at_s=65.0, engines=(EngineReading("0", running=1.0, waiting=0.0),))
    fill(store, silent, a_reading(at_s=70.0, engines=silent.engines))
    first, second = engine_minutes(store, "chat", 0.0, 119.0)
    assert first.concurrency is None
    assert first.waiting_share is None
    assert first.output_tokens is not None
    assert second.concurrency == 1.0
    assert second.output_tokens is None
    assert second.drafting is None


def test_when_it_was_first_seen_and_what_it_showed(store: Store) -> None:
    assert first_reading_s(store, "chat", 0.0) is None
    fill(store, a_failed_reading(at_s=3.0), page(5.0))
    assert first_reading_s(store, "chat", 0.0) == 3.0
    assert first_reading_s(store, "chat", 4.0) == 5.0
    for at_s, version, print_ in ((1.0, "1", "a"), (2.0, "1", "a"), (3.0, "2", "b")):
        save_identity(store, "chat", at_s, Identity(version=version), print_)
    assert fingerprints_shown(store, "chat") == [(1.0, "a"), (3.0, "b")]
