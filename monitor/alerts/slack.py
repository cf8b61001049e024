"""The Slack channel: an incoming webhook, a line for notifications and blocks for reading, cut to Slack's limits."""

from __future__ import annotations

from monitor.alerts import not_restored
from monitor.alerts.message import Message
from monitor.alerts.post import PostingChannel
from monitor.values import AlertEvent

HEADER_LIMIT = 150
SECTION_LIMIT = 3000
TEXT_LIMIT = 4000
BLOCK_ID_LIMIT = 255
EVENTS_SHOWN = 20
"""Of a message with many events; each takes two of Slack's 50 blocks."""


class SlackChannel(PostingChannel):
    """Posts to one Slack incoming webhook."""

    def body(self, message: Message) -> dict[str, object]:
        return body_of(message)


def body_of(message: Message) -> dict[str, object]:
    """The whole body as JSON-ready values."""
    shown = message.events[:EVENTS_SHOWN]
    blocks: list[dict[str, object]] = []
    for event in shown:
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": cut(_head(event), HEADER_LIMIT)}})
        blocks.append(_section(f"{event.title}\n{event.text}"))
    hidden = len(message.events) - len(shown)
    if hidden:
        blocks.append(_section(f"... and {hidden} more: see `specwatch watch`."))
    if message.note:
        blocks.append(_section(message.note))
    # Slack may refuse a body with fields that it does not know; a block's id is free text, and shows up in its logs.
    blocks[0]["block_id"] = cut(message.key, BLOCK_ID_LIMIT)
    return {
        "text": cut(escape(f"{_mark(message.status)} {message.title}"), TEXT_LIMIT),
        "blocks": blocks,
    }


def escape(text: str) -> str:
    """Slack's three control characters; anything else is text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where something is missing; no entity is cut in half."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    entity = kept.rfind("&")
    if entity != -1 and ";" not in kept[entity:] and len(kept) - entity < 5:
        kept = kept[:entity]
    return kept + "…"


def _section(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": cut(escape(text), SECTION_LIMIT)}}


def _head(event: AlertEvent) -> str:
    loud = " NOT RESTORED" if event.rule == not_restored.RULE and event.kind == "firing" else ""
    return f"{_mark(event.kind)} {event.endpoint}{loud}"


def _mark(kind: str) -> str:
    return "FIRING" if kind == "firing" else "RESOLVED"
