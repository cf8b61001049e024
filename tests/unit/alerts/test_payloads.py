"""What channels send: Alertmanager's shape for webhooks, Slack's limits for Slack, one line for stdout."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import Any

import pytest

from monitor.alerts import slack, webhook
from monitor.alerts.channels import open_channels
from monitor.alerts.message import Failed, Message, Sent, message_of
from monitor.alerts.post import retry_after_s
from monitor.alerts.stdout import StdoutChannel
from monitor.config.model import ChannelConfig
from tests.support.records import an_event

SECRET = "https://hooks.example.com/services/T0/B0/s3cret"


def one(kind: str = "firing", **fields: Any) -> Message:
    return message_of("oncall", [an_event(kind=kind, **fields)])


def body(message: Message) -> Any:
    return json.loads(json.dumps(webhook.body_of(message)))


def test_a_webhook_body_has_alertmanagers_version_4_shape() -> None:
    sent = body(one())
    assert set(sent) == {
        "version", "groupKey", "truncatedAlerts", "status", "receiver", "groupLabels", "commonLabels",
        "commonAnnotations", "externalURL", "alerts", "specwatch",
    }  # fmt: skip
    assert (sent["version"], sent["status"], sent["receiver"]) == ("4", "firing", "oncall")
    (alert,) = sent["alerts"]
    assert set(alert) == {
        "status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint",
    }  # fmt: skip
    assert alert["labels"]["alertname"] == "SpeculationCostsThroughput"
    assert (alert["labels"]["endpoint"], alert["labels"]["pool"]) == ("chat", "chat-70b")
    assert alert["annotations"] == {
        "summary": "chat: firing a1",
        "description": "What: it is slow.\nLook: `specwatch watch`.",
    }
    assert (alert["startsAt"], alert["endsAt"]) == ("1970-01-01T00:00:00.000Z", "0001-01-01T00:00:00Z")
    assert sent["commonLabels"] == alert["labels"]


def test_a_resolution_pairs_with_its_firing() -> None:
    firing, resolved = body(one())["alerts"][0], body(one("resolved", at_s=500.5))["alerts"][0]
    assert firing["fingerprint"] == resolved["fingerprint"]
    assert firing["labels"] == resolved["labels"]
    assert resolved["status"] == "resolved"
    assert datetime.fromisoformat(resolved["endsAt"]).timestamp() == 500.5
    other = body(one(endpoint="code"))["alerts"][0]
    assert other["fingerprint"] != firing["fingerprint"]


def test_our_facts_are_beside_it_with_the_key_and_unknowns_as_null() -> None:
    ours = body(one())["specwatch"]
    assert ours["idempotency_key"] == "a1-firing-oncall"
    assert ours["events"][0]["facts"] == {"concurrency": 48.0, "k": 3, "live_arm": "k3", "low": None}
    assert ours["events"][0]["alert_id"] == "a1"


def test_a_message_of_several_fires_while_any_of_them_does() -> None:
    events = [an_event("a1", "resolved"), an_event("a2", endpoint="code")]
    sent = body(message_of("oncall", events, "waited"))
    assert sent["status"] == "firing"
    assert [alert["status"] for alert in sent["alerts"]] == ["resolved", "firing"]
    assert "endpoint" not in sent["commonLabels"]
    assert sent["specwatch"]["note"] == "waited"
    assert message_of("oncall", events).key == message_of("oncall", events).key != one().key
    assert body(message_of("oncall", events[:1]))["status"] == "resolved"


def texts(sent: Any) -> list[str]:
    return [block["text"]["text"] for block in sent["blocks"]]


def test_a_slack_body_says_it_in_the_notification_and_in_full_below() -> None:
    sent: Any = slack.body_of(one())
    assert sent["text"] == "FIRING chat: firing a1"
    assert texts(sent) == ["FIRING chat", "chat: firing a1\nWhat: it is slow.\nLook: `specwatch watch`."]
    assert sent["blocks"][0]["block_id"] == "a1-firing-oncall"
    assert slack.body_of(one("resolved"))["text"] == "RESOLVED chat: resolved a1"


def test_a_slack_body_keeps_to_the_limits_whatever_it_is_given() -> None:
    events = [an_event(f"a{n}", title="<&>" * 2000, text="&" * 9000, endpoint="e" * 400) for n in range(60)]
    sent: Any = slack.body_of(message_of("oncall", events, note="n" * 9000))
    assert len(sent["blocks"]) <= 50
    assert len(sent["text"]) <= 4000
    for block in sent["blocks"]:
        assert len(block["text"]["text"]) <= (150 if block["type"] == "header" else 3000)
        assert len(block.get("block_id", "")) <= 255
    assert "... and 40 more" in texts(sent)[-2]


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("ab&amp;cd", 6, "ab…"),
        ("ab&amp;cd", 8, "ab&amp;…"),
        ("ab&lt;cd; more", 5, "ab…"),
    ],
)
def test_cutting_never_halves_an_entity(text: str, limit: int, kept: str) -> None:
    assert slack.cut(text, limit) == kept


async def test_stdout_is_one_line_of_json_for_each_message() -> None:
    stream = io.StringIO()
    channel = StdoutChannel("log", stream)
    assert await channel.send(one(), 0.0) == Sent()
    assert await channel.send(one("resolved"), 0.0) == Sent()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["status"] for line in lines] == ["firing", "resolved"]


async def test_a_closed_stdout_is_a_failure_and_no_crash() -> None:
    stream = io.StringIO()
    stream.close()
    outcome = await StdoutChannel("log", stream).send(one(), 0.0)
    assert isinstance(outcome, Failed)
    assert not outcome.permanent


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 120 ", 120.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("²", None),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, now_s=60.0) == seconds


def test_no_channel_shows_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCALL", SECRET)
    configs = [
        ChannelConfig(name="oncall", kind="slack", url_env="ONCALL"),
        ChannelConfig(name="hook", kind="webhook", url_env="ONCALL"),
        ChannelConfig(name="log", kind="stdout"),
    ]
    channels = open_channels(configs)
    assert list(channels) == ["oncall", "hook", "log"]
    for channel in channels.values():
        shown = repr(channel) + "".join(repr(value) for value in vars(channel).values())
        assert "s3cret" not in shown
