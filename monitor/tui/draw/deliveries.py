"""Whether anybody was told: each event on its way to each channel, what went wrong first, in the rows there are."""

from __future__ import annotations

from monitor.tui import format as fmt
from monitor.tui.lines import Line, Span, fit, line, middle, pad, paragraph
from monitor.tui.view import View
from monitor.values import Delivery

NAME = 16
"""Cells for an endpoint's name at most."""


def deliveries(view: View, width: int) -> list[list[Line]]:
    """A row or two for each, those that somebody has to see to before those that arrived; each newest first."""
    ours = sorted(view.snapshot.deliveries, key=lambda delivery: not troubled(delivery))
    channel = min(10, max((len(d.channel) for d in ours), default=0))
    name = min(NAME, max((len(d.event.endpoint) for d in ours), default=0))
    return [_delivery(view, one, channel, name, width) for one in ours]


def troubled(delivery: Delivery) -> bool:
    """It has not arrived, though it should have."""
    return delivery.delivered_at_s is None and not delivery.superseded


def shown(blocks: list[list[Line]], height: int) -> list[Line]:
    """As many as fit, and a word on how many do not."""
    if sum(map(len, blocks)) <= height:
        return [row for block in blocks for row in block]
    rows: list[Line] = []
    for index, block in enumerate(blocks):
        if len(rows) + len(block) > max(1, height - 1):
            left = len(blocks) - index
            return [*rows, line(Span(f" … {left} more not shown: no room", "dim"))]
        rows += block
    return rows


def _delivery(view: View, delivery: Delivery, channel: int, name: int, width: int) -> list[Line]:
    state, why = _state(view, delivery)
    head = (
        Span(f" {pad(delivery.channel, channel)} ", "strong"),
        Span(f"{pad(delivery.event.kind, 8)} {pad(middle(delivery.event.endpoint, name), name)} ", "label"),
    )
    whole = line(*head, state, Span(f": {why}" if why else "", state.role))
    if not why or fit(whole, width) == whole:
        return [fit(whole, width)]
    return [fit(line(*head, state), width), *paragraph(why, width, role=state.role, indent="   ", limit=2)]


def _state(view: View, delivery: Delivery) -> tuple[Span, str]:
    """What became of it, and why where it did not arrive."""
    at_s = view.snapshot.at_s
    if delivery.delivered_at_s is not None:
        took = delivery.delivered_at_s - delivery.created_at_s
        return Span(f"● delivered {fmt.minute(delivery.delivered_at_s, at_s)}, {fmt.age(took)} after", "good"), ""
    if delivery.superseded:
        return Span("○ not sent: it was over before it could be told", "dim"), ""
    if delivery.dead_at_s is not None:
        tries = f"{delivery.attempts} {'try' if delivery.attempts == 1 else 'tries'}"
        return Span(f"✕ GIVEN UP {fmt.minute(delivery.dead_at_s, at_s)} after {tries}", "bad"), delivery.last_error
    if not view.watched:
        return Span("◌ not tried, for no daemon runs", "warn"), delivery.last_error
    if delivery.attempts:
        wait = fmt.age(max(0.0, delivery.next_try_s - at_s - view.lag_s))
        return Span(f"◌ try {delivery.attempts + 1} in {wait}", "warn"), delivery.last_error
    return Span("◌ waiting to be sent", "warn"), ""
