"""The fourth screen: what fires now, what fired before, and whether anybody was told.

Active alerts and history are one list for the cursor; the selected one's full text stands beneath.
"""

from __future__ import annotations

from monitor.tui import format as fmt
from monitor.tui.draw.deliveries import deliveries, shown
from monitor.tui.lines import BLANK, Line, Span, fit, line, middle, pad, paragraph
from monitor.tui.view import NOT_RESTORED, View, active_item, alert_endpoint, event_item, selected_event, since_s
from monitor.tui.words import facts
from monitor.values import AlertEvent, AlertPhase, AlertState

MIN_HISTORY, MIN_DELIVERY = 3, 4
"""Rows that these keep when the selected alert's text wants the screen."""


def draw(view: View, width: int, height: int) -> list[Line]:
    """The whole screen; rows beyond `height` scroll."""
    active = [row for alert in view.active_alerts for row in _active(view, alert, width)]
    if not active:
        active = paragraph(_quiet(view), width, role="dim", indent=" ")
    events = _events(view, width)
    told = deliveries(view, width)
    chosen = _chosen(view, width)
    room = height - len(active) - len(chosen) - 4
    keep = max(MIN_HISTORY, room - min(sum(map(len, told)) or 1, max(MIN_DELIVERY, room // 3)))
    rows = [
        _head("Active now" if view.watched else "Active when the last daemon ended", width),
        *active,
        _head("History, newest first", width),
        *_window(view, events, keep),
        *([] if events else [line(Span(" Nothing has fired yet.", "dim"))]),
        _head("Delivery, what went wrong first", width),
        *shown(told, max(MIN_DELIVERY, room - min(len(events), keep))),
    ]
    if not told:
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


def _active(view: View, alert: AlertState, width: int) -> list[Line]:
    at_s = view.snapshot.at_s
    firing = alert.phase is AlertPhase.FIRING
    since = since_s(alert)
    when = "" if since is None else f"since {fmt.minute(since, at_s)}"
    when += f" ({fmt.age(at_s - since)})" if since is not None and view.watched else ""
    notes = []
    if alert.clear_since_s is not None and view.watched:
        notes.append(f"clearing for {fmt.age(at_s - alert.clear_since_s)}")
    if alert.no_data_since_s is not None and view.watched:
        notes.append(f"NO DATA for {fmt.age(at_s - alert.no_data_since_s)}: state kept")
    ack = view.snapshot.acks.get(alert.alert_id or "")
    if ack is not None:
        notes.append(f"acknowledged by {ack.who} {fmt.age(at_s - ack.created_at_s)} ago")
    size = min(20, max(len(one.endpoint) for one in view.active_alerts))
    spans = (
        Span(*_phase(firing, watched=view.watched)),
        Span(f"  {pad(middle(alert.endpoint, size), size)} ", "strong"),
        Span(f"{alert.rule.replace('_', ' ')} {when}", "text"),
    )
    note = Span(f"  {', '.join(notes)}" if notes else "", "warn")
    item = active_item(alert)
    if 1 + sum(len(span.text) for span in (*spans, note)) <= width:
        return [_row(view, item, width, *spans, note)]
    return [_row(view, item, width, *spans), fit(line(Span(" " * 11), note, item=item), width)]


def _phase(firing: bool, *, watched: bool) -> tuple[str, str]:
    """Where nobody evaluates, nothing fires or waits on."""
    if watched:
        return ("▲ FIRING ", "alarm") if firing else ("△ pending", "warn")
    return ("▲ fired  ", "alarm") if firing else ("△ waited ", "warn")


def _events(view: View, width: int) -> list[Line]:
    """A row each; what it says begins with its numbers, for the endpoint has a column of its own."""
    events, at_s = view.snapshot.events, view.snapshot.at_s
    date = max((len(fmt.minute(event.at_s, at_s)) for event in events), default=0)
    name = min(14, max((len(event.endpoint) for event in events), default=0))
    return [
        _row(
            view,
            event_item(event),
            width,
            Span(pad(fmt.minute(event.at_s, at_s), date), "label"),
            Span(
                " ▲ fired   " if event.kind == "firing" else " ● resolved", "bad" if event.kind == "firing" else "good"
            ),
            Span(f" {pad(middle(event.endpoint, name), name)} ", "strong"),
            Span(_said(event), "text"),
        )
        for event in events
    ]


def _said(event: AlertEvent) -> str:
    """The title without the endpoint and the pool that it begins with."""
    pooled = event.title.removeprefix(f"{event.endpoint} (pool {event.pool}): ")
    return pooled.removeprefix(f"{event.endpoint}: ")


def _row(view: View, item: str, width: int, *spans: Span) -> Line:
    selected = item == view.alert
    return fit(line(Span("›" if selected else " ", "key"), *spans, item=item, selected=selected), width)


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
