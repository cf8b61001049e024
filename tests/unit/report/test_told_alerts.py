"""A report tells each alert once, from its first message to its end."""

from __future__ import annotations

from monitor.alerts.not_restored import RULE, advance
from monitor.report.values import told_alerts
from monitor.values import AlertEvent, AlertState, Unrestored

HOUR_S = 3600.0
LEFT = Unrestored("chat", "the restore command ended with 1", 2, "k3", "/var/lib/x.restart-chat.json")


def test_reminders_are_not_alerts_that_still_fire() -> None:
    """What was repeated for hours and is over since must not stay red."""
    events = not_restored_for(3)
    assert [event.kind for event in events] == ["firing"] * 4 + ["resolved"]
    (over,) = told_alerts(events)
    assert (over.fired_at_s, over.resolved_at_s) == (0.0, 4 * HOUR_S)
    (fires,) = told_alerts(events[:-1])
    assert fires.title == events[0].title, "as it was told when it fired"
    assert fires.resolved_at_s is None


def not_restored_for(hours: int) -> list[AlertEvent]:
    """The first message, one reminder an hour, and the resolution an hour later."""
    state, events = AlertState("chat", RULE), []
    for hour in range(hours + 2):
        state, event = advance(state, LEFT if hour <= hours else None, "chat", hour * HOUR_S)
        events += [event] if event is not None else []
    return events
