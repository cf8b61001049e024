"""A server that was not put back is told of at once, to everybody, every hour, until it is back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from monitor.alerts.message import message_of
from monitor.alerts.not_restored import RULE, advance
from monitor.alerts.slack import body_of as slack_body
from monitor.alerts.webhook import body_of
from monitor.service.not_restored import seen_words
from monitor.store.alerts import load_alert_states, recent_events, save_not_restored
from monitor.store.db import open_store
from monitor.store.outbox import due, mark_dead, mark_delivered, recent_deliveries, supersede
from monitor.values import AlertEvent, AlertPhase, AlertState, Unrestored
from probes.values import Reading, State

LEFT = Unrestored("chat", "the restore command ended with 1", 2, "k3", "/var/lib/x.restart-chat.json")
QUIET = AlertState("chat", RULE)
HOUR = 3600.0
T = 1_000_000.0


def test_it_fires_at_the_first_look_and_says_what_to_do() -> None:
    state, event = advance(QUIET, LEFT, "chat-70b", T)
    assert state.phase is AlertPhase.FIRING
    assert event is not None
    assert event.title == "chat (pool chat-70b): NOT RESTORED: the server does not run its live arm k3 after a sweep"
    assert "Why: the restore command ended with 1." in event.text
    assert "specwatch stop chat" in event.text
    assert "2 tries have failed" in event.text
    assert LEFT.journal in event.text
    assert "/var/lib/x.restart-chat.log" in event.text, "where the command itself says why"


def test_it_says_whether_the_server_is_down_or_in_a_wrong_arm() -> None:
    down = Reading("chat", T, 0.0, State.DOWN, "nothing listens there")
    wrong = Reading("chat", T, 0.0, State.OK, speculation_configured=False)
    other_k = Reading("chat", T, 0.0, State.OK, speculation_configured=True, k=5)
    for reading, words in (
        (down, "Last look: at 13:46:40 UTC it was down: nothing listens there."),
        (wrong, "Last look: at 13:46:40 UTC it was up without speculation."),
        (other_k, "Last look: at 13:46:40 UTC it was up with speculation, 5 tokens a draft."),
        (None, "Last look: nobody has looked at its page yet."),
    ):
        event = advance(QUIET, replace(LEFT, seen=seen_words(reading)), "chat", T)[1]
        assert event is not None
        assert words in event.text


def test_it_is_repeated_every_hour_and_not_more_often_however_often_one_looks() -> None:
    state, first = advance(QUIET, LEFT, "chat", T)
    told = []
    for step in range(1, 2 * 720 + 10):
        state, event = advance(state, LEFT, "chat", T + 5.0 * step)
        told += [] if event is None else [(event.at_s - T, event.alert_id)]
    assert first is not None
    assert told == [(HOUR, f"{first.alert_id}.1"), (2 * HOUR, f"{first.alert_id}.2")]


def test_after_hours_without_a_look_it_is_told_once() -> None:
    state, _ = advance(QUIET, LEFT, "chat", T)
    state, event = advance(state, LEFT, "chat", T + 5.5 * HOUR)
    assert event is not None
    assert "for 5.5 h now" in event.title
    assert advance(state, LEFT, "chat", T + 5.6 * HOUR)[1] is None


def test_a_clock_that_is_set_back_repeats_nothing() -> None:
    state, _ = advance(QUIET, LEFT, "chat", T)
    state, event = advance(state, LEFT, "chat", T - 5 * HOUR)
    assert event is None
    assert advance(state, LEFT, "chat", T + 60)[1] is None


def test_it_ends_once_the_server_is_back_with_the_id_it_began_with() -> None:
    state, first = advance(QUIET, LEFT, "chat", T)
    state, _ = advance(state, LEFT, "chat", T + HOUR)
    state, event = advance(state, None, "chat", T + 1.5 * HOUR)
    assert first is not None
    assert event is not None
    assert (event.kind, event.alert_id) == ("resolved", first.alert_id)
    assert "deleted the file by hand nobody has looked" in event.text, "no more is said than is known"
    assert state.phase is AlertPhase.INACTIVE
    assert advance(state, None, "chat", T + 2 * HOUR)[1] is None


def test_receivers_are_told_that_it_is_critical() -> None:
    event = advance(QUIET, LEFT, "chat", T)[1]
    assert event is not None
    body = body_of(message_of("oncall", [event]))
    assert body["groupLabels"] == {"alertname": "ServerNotRestored"}
    assert body["commonLabels"]["severity"] == "critical"  # type: ignore[index]
    assert "NOT RESTORED" in str(slack_body(message_of("slack", [event]))["blocks"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.db"


def look(store_path: Path, left: Unrestored | None, now_s: float) -> AlertEvent | None:
    """One evaluation as the daemon makes it, for two channels."""
    with open_store(store_path) as store:
        state = load_alert_states(store).get(("chat", RULE), QUIET)
        after, event = advance(state, left, "chat", now_s)
        save_not_restored(store, after, event, state.alert_id, ["mail", "pager"], now_s)
        supersede(store, now_s)
        return event


def deliver(store_path: Path, channel: str, now_s: float) -> list[str]:
    """Take what is due on one channel; returns the kinds and reminders' numbers."""
    with open_store(store_path) as store:
        rows = [row for row in due(store, now_s, 50) if row.channel == channel]
        for row in rows:
            mark_delivered(store, row.id, now_s, str(row.id))
        return [f"{row.event.kind}{row.event.alert_id.partition('.')[2]}" for row in rows]


def test_both_channels_get_the_alarm_its_reminders_and_its_end(path: Path) -> None:
    look(path, LEFT, T)
    assert [deliver(path, name, T) for name in ("mail", "pager")] == [["firing"], ["firing"]]
    look(path, LEFT, T + HOUR)
    assert [deliver(path, name, T + HOUR) for name in ("mail", "pager")] == [["firing1"], ["firing1"]]
    look(path, None, T + 1.1 * HOUR)
    assert [deliver(path, name, T + 1.1 * HOUR) for name in ("mail", "pager")] == [["resolved"], ["resolved"]]


def test_a_channel_that_was_away_hears_the_alarm_once_and_no_stale_reminders(path: Path) -> None:
    look(path, LEFT, T)
    deliver(path, "mail", T)
    for hours in (1, 2, 3):
        look(path, LEFT, T + hours * HOUR)
        assert deliver(path, "mail", T + hours * HOUR) == [f"firing{hours}"]
    assert deliver(path, "pager", T + 3.1 * HOUR) == ["firing"]
    look(path, LEFT, T + 4 * HOUR)
    assert deliver(path, "pager", T + 4 * HOUR) == ["firing4"]


def test_a_reminder_that_waits_is_dropped_once_the_server_is_back_and_the_end_is_told(path: Path) -> None:
    look(path, LEFT, T)
    deliver(path, "pager", T)
    look(path, LEFT, T + HOUR)
    look(path, None, T + 1.1 * HOUR)
    assert deliver(path, "pager", T + 1.2 * HOUR) == ["resolved"]


def test_a_channel_that_never_heard_of_it_is_not_told_of_its_end(path: Path) -> None:
    look(path, LEFT, T)
    with open_store(path) as store:
        for row in recent_deliveries(store, 10):
            mark_dead(store, row.id, T, "404")
    look(path, None, T + 60)
    assert deliver(path, "pager", T + 61) == []
    with open_store(path) as store:
        assert [event.kind for event in recent_events(store, 5)] == ["resolved", "firing"]
