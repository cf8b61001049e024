"""Alert states, events and the queue of deliveries as rows."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.store.alerts import load_alert_states, recent_events, save_transition
from monitor.store.db import Store, StoreError
from monitor.store.outbox import claim, due, mark_dead, mark_delivered, mark_retry, recent_deliveries, supersede
from monitor.values import AlertPhase
from tests.support.records import a_state, an_event


def fire(store: Store, alert_id: str = "a1", channels: tuple[str, ...] = ("oncall",), now_s: float = 0.0) -> None:
    save_transition(store, a_state(alert_id=alert_id), an_event(alert_id), channels, now_s)


def resolve(store: Store, alert_id: str = "a1", channels: tuple[str, ...] = ("oncall",), now_s: float = 0.0) -> None:
    save_transition(store, a_state(AlertPhase.INACTIVE), an_event(alert_id, "resolved"), channels, now_s)


def waiting(store: Store, now_s: float = 0.0) -> list[tuple[str, str, str]]:
    return [(d.channel, d.event.alert_id, d.event.kind) for d in due(store, now_s, 100)]


def test_a_state_comes_back_whole(store: Store) -> None:
    state = a_state(
        pending_since_s=1.5,
        firing_since_s=2.5,
        clear_since_s=3.5,
        alert_id="x",
        evaluated_at_s=4.5,
        no_data_since_s=5.5,
    )
    save_transition(store, state, None, ["oncall"], 5.0)
    save_transition(store, a_state(AlertPhase.PENDING, "code"), None, [], 5.0)
    assert load_alert_states(store) == {
        ("chat", "above_crossover"): state,
        ("code", "above_crossover"): a_state(AlertPhase.PENDING, "code"),
    }
    assert waiting(store) == []


def test_one_event_makes_one_delivery_for_each_channel(store: Store) -> None:
    fire(store, channels=("oncall", "log", "oncall"))
    assert recent_events(store, 5) == [an_event("a1")]
    assert waiting(store) == [("oncall", "a1", "firing"), ("log", "a1", "firing")]


def test_the_same_transition_saved_twice_is_told_once(store: Store) -> None:
    fire(store)
    fire(store)
    assert len(recent_events(store, 5)) == 1
    assert len(recent_deliveries(store, 5)) == 1


def test_a_transition_is_saved_whole_or_not_at_all(store: Store) -> None:
    unwritable: Any = object()
    with pytest.raises(StoreError):
        fire(store, channels=("oncall", unwritable))
    assert load_alert_states(store) == {}
    assert recent_events(store, 5) == []
    assert recent_deliveries(store, 5) == []


def test_a_resolution_waits_for_its_firing_on_the_same_channel_only(store: Store) -> None:
    fire(store, channels=("oncall", "log"))
    resolve(store, channels=("oncall", "log"))
    fire(store, "a2")
    firing = {d.channel: d.id for d in due(store, 0.0, 100) if d.event.alert_id == "a1"}
    mark_delivered(store, firing["log"], 1.0, "m")
    assert waiting(store) == [("oncall", "a1", "firing"), ("log", "a1", "resolved"), ("oncall", "a2", "firing")]


def test_a_claim_keeps_others_off_until_it_runs_out(store: Store) -> None:
    fire(store)
    (delivery,) = due(store, 0.0, 100)
    assert claim(store, [delivery.id], 0.0, until_s=70.0)
    assert not claim(store, [delivery.id], 1.0, until_s=71.0)
    assert waiting(store, 69.0) == []
    assert waiting(store, 70.0) == [("oncall", "a1", "firing")]
    assert due(store, 70.0, 1)[0].attempts == 1


def test_a_claim_of_several_takes_all_or_none(store: Store) -> None:
    fire(store)
    fire(store, "a2")
    one, two = (d.id for d in due(store, 0.0, 100))
    assert claim(store, [two], 0.0, until_s=70.0)
    assert not claim(store, [one, two], 1.0, until_s=71.0)
    assert waiting(store, 2.0) == [("oncall", "a1", "firing")]
    assert due(store, 2.0, 1)[0].attempts == 0


def test_a_retry_waits_for_its_time_and_survives_a_clock_that_was_set_back(store: Store) -> None:
    fire(store)
    (delivery,) = due(store, 0.0, 100)
    claim(store, [delivery.id], 100_000.0, until_s=100_070.0)
    mark_retry(store, delivery.id, 100_005.0, "channel oncall answered 500")
    assert waiting(store, 100_004.0) == []
    assert waiting(store, 100_005.0) == [("oncall", "a1", "firing")]
    assert waiting(store, 50.0) == [("oncall", "a1", "firing")]


def test_what_resolved_unheard_is_superseded_for_both(store: Store) -> None:
    fire(store)
    assert supersede(store, 5.0) == 0
    resolve(store)
    assert supersede(store, 9.0) == 2
    assert waiting(store) == []
    for delivery in recent_deliveries(store, 5):
        assert delivery.dead_at_s == 9.0
        assert delivery.last_error.startswith("superseded:")


@pytest.mark.parametrize(("in_doubt", "left"), [(False, []), (True, [("oncall", "a1", "firing")])])
def test_a_firing_that_may_have_arrived_is_still_sent_with_its_resolution(
    store: Store, in_doubt: bool, left: list[tuple[str, str, str]]
) -> None:
    fire(store)
    (delivery,) = due(store, 0.0, 100)
    claim(store, [delivery.id], 0.0, until_s=70.0)
    mark_retry(store, delivery.id, 5.0, "no answer", in_doubt=in_doubt)
    resolve(store)
    supersede(store, 6.0)
    assert waiting(store, 6.0) == left
    if left:
        mark_delivered(store, delivery.id, 7.0, "m")
        supersede(store, 8.0)
        assert waiting(store, 8.0) == [("oncall", "a1", "resolved")]


def test_a_resolution_of_a_dead_firing_is_not_sent(store: Store) -> None:
    fire(store)
    (delivery,) = due(store, 0.0, 100)
    claim(store, [delivery.id], 0.0, until_s=70.0)
    mark_dead(store, delivery.id, 1.0, "channel oncall answered 404")
    resolve(store)
    supersede(store, 2.0)
    assert waiting(store, 2.0) == []
    resolved, firing = recent_deliveries(store, 5)
    assert firing.last_error == "channel oncall answered 404"
    assert resolved.last_error == "superseded: its firing never reached this channel"


def test_a_channel_that_came_after_the_firing_hears_nothing_of_its_end(store: Store) -> None:
    fire(store, channels=())
    resolve(store, channels=("late",))
    supersede(store, 1.0)
    assert waiting(store, 1.0) == []
