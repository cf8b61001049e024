"""What the store condenses stops where another server answers, and goes on where one server changed."""

from __future__ import annotations

import pytest

from monitor.live_window import live_window
from monitor.store.db import Store
from monitor.store.history import history
from monitor.store.minutes import engine_minutes
from monitor.store.readings import append_readings, live_spans, load_readings
from probes.values import EngineReading
from tests.support.records import a_reading, an_engine
from tests.support.replacements import REPLACED, SAME, Fields


def engine(at_s: float, ahead: float) -> EngineReading:
    return an_engine(tokens=100.0 * at_s + ahead, finished=at_s + ahead, running=3.0)


def switched(store: Store, fields: tuple[Fields, Fields], ahead: float = 1e6) -> None:
    """Two pages of one server, and two of another whose counters are ahead."""
    before, after = fields
    append_readings(store, [a_reading(at_s=t, engines=(engine(t, 0.0),), **before) for t in (0.0, 5.0)], {})
    append_readings(store, [a_reading(at_s=t, engines=(engine(t, ahead),), **after) for t in (10.0, 15.0)], {})


@pytest.mark.parametrize("fields", REPLACED.values(), ids=REPLACED.keys())
def test_no_number_reaches_from_one_server_to_the_next(store: Store, fields: tuple[Fields, Fields]) -> None:
    switched(store, fields)
    assert live_spans(store, "chat", 0.0, 9) == [(10.0, 15.0), (0.0, 5.0)]
    minutes = engine_minutes(store, "chat", 0.0, 59.0)
    assert sum(m.seconds for m in minutes) == 10.0
    assert sum(m.output_tokens or 0.0 for m in minutes) == 1000.0
    assert [s.output_tok_s for s in history(store, "chat", 0.0, 3)] == [
        None,
        pytest.approx(100.0),
        pytest.approx(100.0),
    ]
    window = live_window(load_readings(store, "chat", 0.0), 0.0)
    assert window.output_tok_s == pytest.approx(100.0)
    assert window.engines[0].output_tok_s == pytest.approx(100.0)


@pytest.mark.parametrize("fields", SAME.values(), ids=SAME.keys())
def test_one_server_that_changed_is_still_one(store: Store, fields: tuple[Fields, Fields]) -> None:
    switched(store, fields, ahead=0.0)
    assert live_spans(store, "chat", 0.0, 9) == [(0.0, 15.0)]
    window = live_window(load_readings(store, "chat", 0.0), 0.0)
    assert window.output_tok_s == pytest.approx(100.0)


def test_a_page_in_the_switch_leaves_a_gap_in_the_chart(store: Store) -> None:
    switched(store, REPLACED["a start vanishes"])
    middle = history(store, "chat", 6.0, 1, until_s=12.0)
    assert [s.output_tok_s for s in middle] == [None]
