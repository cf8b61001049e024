"""The fourth screen: what fires now, what fired before, and whether anybody was told.

Active alerts and history are one list for the cursor; the selected one's full text stands beneath.
"""

from __future__ import annotations

from monitor.tui import format as fmt
from monitor.tui.lines import BLANK, Line, Span, fit, line, middle, pad, paragraph
from monitor.tui.view import NOT_RESTORED, View, active_item, alert_endpoint, event_item, selected_event, since_s
from monitor.tui.words import facts
from monitor.values import AlertEvent, AlertPhase, AlertState, Delivery

MIN_HISTORY, MIN_DELIVERY = 3, 2
"""Rows that these keep when the selected alert's text wants the screen."""


def draw(view: View, width: int, height: int) -> list[Line]:
    """The whole screen; rows beyond `height` scroll."""
    snapshot = view.snapshot
    active = [_active(view, alert, width) for alert in view.active_alerts]
    if not active:
        active = paragraph(_quiet(view), width, role="dim", indent=" ")
    events = [_event(view, event, width) for event in snapshot.events]
    deliveries = [_delivery(view, delivery, width) for delivery in snapshot.deliveries]
    chosen = _chosen(view, width)
    room = height - len(active) - len(chosen) - 4
    keep = max(MIN_HISTORY, room - min(len(deliveries) or 1, max(MIN_DELIVERY, room // 3)))
    rows = [
        _head("Active now", width),
        *active,
        _head("History, newest first", width),
        *_window(view, events, keep),
        *([] if events else [line(Span(" Nothing has fired yet.", "dim"))]),
        _head("Delivery", width),
        *deliveries[: max(MIN_DELIVERY, room - min(len(events), keep))],
    ]
    if not deliveries:
        rows += paragraph(
            "Nothing was sent. Channels are [[channel]] tables in config.toml.", width, role="dim", indent=" "
        )
    return [*rows, *[BLANK] * (height - len(rows) - len(chosen)), *chosen]


def _quiet(view: View) -> str:
    if view.snapshot.mode == "local":
        return "Local mode raises no alerts; `specwatch serve` does."
    if view.snapshot.mode == "daemon_gone":
        return "None known, and nobody looks: the daemon is gone."
    return "None: no endpoint has been slower than tolerated for long enough."


def _head(text: str, width: int) -> Line:
    return line(Span(f" {text} ", "head"), Span("─" * max(0, width - len(text) - 2), "axis"))


def _window(view: View, rows: list[Line], height: int) -> list[Line]:
    if len(rows) <= height:
        return rows
    selected = next((index for index, row in enumerate(rows) if row.selected), 0)
    start = min(max(0, selected - (height - 1) // 2), len(rows) - height + 1)
    kept = rows[start : start + height - 1]
    return [*kept, line(Span(f"  … {len(rows) - len(kept)} more", "dim"))]


def _active(view: View, alert: AlertState, width: int) -> Line:
    at_s = view.snapshot.at_s
    item = active_item(alert)
    firing = alert.phase is AlertPhase.FIRING
    since = since_s(alert)
    when = "" if since is None else f"since {fmt.minute(since, at_s)} ({fmt.age(at_s - since)})"
    notes = []
    if alert.clear_since_s is not None:
        notes.append(f"clearing for {fmt.age(at_s - alert.clear_since_s)}")
    if alert.no_data_since_s is not None:
        notes.append(f"NO DATA for {fmt.age(at_s - alert.no_data_since_s)}: state kept")
    ack = view.snapshot.acks.get(alert.alert_id or "")
    if ack is not None:
        notes.append(f"acknowledged by {ack.who} {fmt.age(at_s - ack.created_at_s)} ago")
    return _row(
        view,
        item,
        width,
        Span("▲ FIRING " if firing else "△ pending", "alarm" if firing else "warn"),
        Span(f"  {pad(middle(alert.endpoint, 20), 20)} ", "strong"),
        Span(f"{alert.rule.replace('_', ' ')} {when}", "text"),
        Span(f"  {', '.join(notes)}" if notes else "", "warn"),
    )


def _event(view: View, event: AlertEvent, width: int) -> Line:
    firing = event.kind == "firing"
    return _row(
        view,
        event_item(event),
        width,
        Span(pad(fmt.minute(event.at_s, view.snapshot.at_s), 14), "label"),
        Span("▲ fired   " if firing else "● resolved", "bad" if firing else "good"),
        Span(f" {pad(middle(event.endpoint, 14), 14)} ", "strong"),
        Span(event.title, "text"),
    )


def _row(view: View, item: str, width: int, *spans: Span) -> Line:
    selected = item == view.alert
    return fit(line(Span("›" if selected else " ", "key"), *spans, item=item, selected=selected), width)


def _delivery(view: View, delivery: Delivery, width: int) -> Line:
    at_s = view.snapshot.at_s
    if delivery.delivered_at_s is not None:
        took = delivery.delivered_at_s - delivery.created_at_s
        state = Span(f"● delivered {fmt.minute(delivery.delivered_at_s, at_s)}, {fmt.age(took)} after", "good")
    elif delivery.dead_at_s is not None:
        state = Span(f"✕ GIVEN UP after {delivery.attempts}: {delivery.last_error}", "bad")
    elif delivery.attempts:
        wait = fmt.age(max(0.0, delivery.next_try_s - at_s))
        state = Span(f"◌ retry {delivery.attempts + 1} in {wait}: {delivery.last_error}", "warn")
    else:
        state = Span("◌ waiting to be sent", "warn")
    return fit(
        line(
            Span(f" {pad(delivery.channel, 10)} ", "strong"),
            Span(f"{delivery.event.kind} {middle(delivery.event.endpoint, 14)}  ", "label"),
            state,
        ),
        width,
    )


def told_event(view: View) -> AlertEvent | None:
    """The event behind the selected row: its own, or the newest one of the active alert."""
    name = alert_endpoint(view)
    loud = view.alert.endswith(f":{NOT_RESTORED}")
    ours = (e for e in view.snapshot.events if e.endpoint == name and (e.rule == NOT_RESTORED) == loud)
    return selected_event(view) or next(ours, None)


def _chosen(view: View, width: int) -> list[Line]:
    """The selected alert's whole text; what does not fit is scrolled to."""
    event = told_event(view)
    if event is None:
        return []
    rows: list[Line] = [line(Span("─" * width, "axis"))]
    for part in event.text.splitlines():
        rows += paragraph(part, width, indent=" ")
    return rows


def copied(view: View) -> str:
    """What `y` copies: the alert's text, else the facts of its endpoint."""
    event = told_event(view)
    if event is not None:
        return f"{event.title}\n{event.text}"
    return facts(view, view.status) if view.status is not None else ""
