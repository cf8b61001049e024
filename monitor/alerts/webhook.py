"""The webhook channel: Alertmanager's version 4 body, so that its receivers work, and our facts beside it."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from monitor.alerts import not_restored
from monitor.alerts.message import Message, event_key
from monitor.alerts.post import PostingChannel
from monitor.values import AlertEvent

ALERT_NAMES = {not_restored.RULE: "ServerNotRestored"}
SEVERITIES = {not_restored.RULE: "critical"}
ALERT_NAME = "SpeculationCostsThroughput"
"""Of every other rule."""
NOT_ENDED = "0001-01-01T00:00:00Z"
"""Alertmanager's way to say that an alert has no end yet."""


class WebhookChannel(PostingChannel):
    """Posts to any address that takes Alertmanager's webhooks."""

    def body(self, message: Message) -> dict[str, object]:
        return body_of(message)


def body_of(message: Message) -> dict[str, object]:
    """The whole body as JSON-ready values."""
    every = [_labels(event) for event in message.events]
    common = {key: value for key, value in every[0].items() if all(labels.get(key) == value for labels in every)}
    first = message.events[0]
    alone = len(message.events) == 1
    name = common.get("alertname", ALERT_NAME)
    return {
        "version": "4",
        "groupKey": f'{{}}:{{alertname="{name}"}}',
        "truncatedAlerts": 0,
        "status": message.status,
        "receiver": message.channel,
        "groupLabels": {"alertname": name},
        "commonLabels": common,
        "commonAnnotations": _annotations(first) if alone else {},
        "externalURL": "",
        "alerts": [_alert(event) for event in message.events],
        "specwatch": {
            "schema": 1,
            "idempotency_key": message.key,
            "note": message.note,
            "title": message.title,
            "events": [_event(event, message.channel) for event in message.events],
        },
    }


def _alert(event: AlertEvent) -> dict[str, object]:
    labels = _labels(event)
    named = "\n".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {
        "status": event.kind,
        "labels": labels,
        "annotations": _annotations(event),
        "startsAt": _rfc3339(event.started_at_s),
        "endsAt": _rfc3339(event.at_s) if event.kind == "resolved" else NOT_ENDED,
        "generatorURL": "",
        "fingerprint": hashlib.sha256(named.encode()).hexdigest()[:16],
    }


def _event(event: AlertEvent, channel: str) -> dict[str, object]:
    return {
        "idempotency_key": event_key(event, channel),
        "alert_id": event.alert_id,
        "kind": event.kind,
        "endpoint": event.endpoint,
        "pool": event.pool,
        "rule": event.rule,
        "at_s": event.at_s,
        "started_at_s": event.started_at_s,
        "facts": event.facts,
    }


def _labels(event: AlertEvent) -> dict[str, str]:
    """The same while it fires and when it resolves, so that receivers can pair the two."""
    return {
        "alertname": ALERT_NAMES.get(event.rule, ALERT_NAME),
        "severity": SEVERITIES.get(event.rule, "warning"),
        "endpoint": event.endpoint,
        "pool": event.pool,
        "rule": event.rule,
    }


def _annotations(event: AlertEvent) -> dict[str, str]:
    return {"summary": event.title, "description": event.text}


def _rfc3339(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
