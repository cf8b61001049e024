"""Deliveries over real sockets: at least once, in order, patient with a failing channel, silent about its address."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.alerts.message import Channel
from monitor.alerts.outbox import deliver_due, wait_s
from monitor.alerts.slack import SlackChannel
from monitor.alerts.webhook import WebhookChannel
from monitor.store.alerts import save_transition
from monitor.store.db import Store, open_store
from monitor.store.outbox import recent_deliveries
from monitor.values import AlertPhase, Delivery
from tests.support.records import a_state, an_event
from tests.support.sink import Reply, WebhookSink


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "specwatch.db") as opened:
        yield opened


def fire(store: Store, alert_id: str = "a1", now_s: float = 0.0, channels: tuple[str, ...] = ("oncall",)) -> None:
    save_transition(store, a_state(alert_id=alert_id), an_event(alert_id), channels, now_s)


def resolve(store: Store, alert_id: str = "a1", now_s: float = 0.0, channels: tuple[str, ...] = ("oncall",)) -> None:
    save_transition(store, a_state(AlertPhase.INACTIVE), an_event(alert_id, "resolved"), channels, now_s)


def newest(store: Store) -> Delivery:
    return recent_deliveries(store, 1)[0]


def told(sink: WebhookSink) -> list[tuple[str, ...]]:
    return [tuple(f"{e['alert_id']} {e['kind']}" for e in b["specwatch"]["events"]) for b in sink.bodies]


def on_disk(store: Store) -> bytes:
    return store.path.read_bytes() + Path(f"{store.path}-wal").read_bytes()


class Bench:
    """A sink and a webhook channel to it, with rounds at chosen times."""

    def __init__(self, store: Store, sink: WebhookSink, **more: Channel) -> None:
        self.store = store
        self.sink = sink
        self.channels: dict[str, Channel] = {"oncall": WebhookChannel("oncall", sink.url, timeout_s=5.0), **more}

    async def round(self, now_s: float, **settings: Any) -> int:
        return await deliver_due(self.store, self.channels, now_s, **settings)

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *_: object) -> None:
        for channel in self.channels.values():
            await channel.aclose()


async def test_an_event_arrives_once_with_its_key_in_header_and_body(store: Store) -> None:
    fire(store)
    async with WebhookSink() as sink, Bench(store, sink) as bench:
        assert await bench.round(10.0) == 1
        assert await bench.round(11.0) == 0
        (request,) = sink.received
        assert request.method == "POST"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["idempotency-key"] == request.body["specwatch"]["idempotency_key"] == "a1-firing-oncall"
        assert newest(store).delivered_at_s == 10.0


async def test_a_failing_channel_is_tried_again_later_and_later_with_the_same_key(store: Store) -> None:
    fire(store)
    async with WebhookSink([500, 503, 502]) as sink, Bench(store, sink) as bench:
        assert await bench.round(0.0) == 0
        assert newest(store).last_error == "channel oncall answered 500"
        assert newest(store).next_try_s == 5.0
        await bench.round(4.9)
        assert len(sink.received) == 1
        await bench.round(5.0)
        assert newest(store).next_try_s == 15.0
        await bench.round(15.0)
        assert newest(store).next_try_s == 35.0
        assert await bench.round(35.0) == 1
        assert {r.headers["idempotency-key"] for r in sink.received} == {"a1-firing-oncall"}
        assert newest(store).attempts == 4


def test_waits_double_from_5_s_to_15_min() -> None:
    assert [wait_s(n) for n in (1, 2, 3, 8, 9, 500)] == [5.0, 10.0, 20.0, 640.0, 900.0, 900.0]


async def test_attempts_survive_a_restart_of_the_daemon(store: Store) -> None:
    fire(store)
    async with WebhookSink([500, 500]) as sink:
        async with Bench(store, sink) as bench:
            await bench.round(0.0)
            await bench.round(5.0)
        with open_store(store.path) as again:
            async with Bench(again, sink) as bench:
                assert await bench.round(14.0) == 0
                assert len(sink.received) == 2
                assert await bench.round(15.0) == 1


async def test_retry_after_is_honoured_by_everything_on_the_channel(store: Store) -> None:
    fire(store)
    async with WebhookSink([Reply(429, {"Retry-After": "77"})]) as sink, Bench(store, sink) as bench:
        await bench.round(0.0)
        fire(store, "a2", now_s=1.0)
        await bench.round(76.0)
        assert len(sink.received) == 1
        assert await bench.round(77.0) == 2
        assert told(sink)[1:] == [("a2 firing",), ("a1 firing",)]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
@pytest.mark.parametrize("kind", [WebhookChannel, SlackChannel])
async def test_a_refusal_for_good_is_not_repeated_and_says_why(
    store: Store, status: int, kind: type[WebhookChannel] | type[SlackChannel]
) -> None:
    fire(store)
    async with WebhookSink([status]) as sink, Bench(store, sink) as bench:
        bench.channels["oncall"] = kind("oncall", sink.url, 5.0)
        await bench.round(3.0)
        await bench.round(90_000.0)
        assert len(sink.received) == 1
        assert (newest(store).dead_at_s, newest(store).last_error) == (3.0, f"channel oncall answered {status}")


async def test_after_a_day_it_gives_up_and_says_so(store: Store) -> None:
    fire(store)
    async with WebhookSink([500] * 3) as sink, Bench(store, sink) as bench:
        await bench.round(0.0)
        await bench.round(86_399.0)
        assert newest(store).dead_at_s is None
        await bench.round(87_400.0)
        assert newest(store).dead_at_s == 87_400.0
        assert newest(store).last_error == "gave up after 24 h: channel oncall answered 500"


async def test_a_resolution_never_overtakes_its_firing(store: Store) -> None:
    fire(store)
    async with WebhookSink([Reply(how="drop")]) as sink, Bench(store, sink) as bench:
        await bench.round(0.0)
        resolve(store, now_s=1.0)
        for now_s in (2.0, 5.0, 6.0):
            await bench.round(now_s)
        assert told(sink) == [("a1 firing",), ("a1 firing",), ("a1 resolved",)]


async def test_what_resolved_before_anybody_heard_of_it_is_not_told(store: Store) -> None:
    fire(store)
    async with WebhookSink([500]) as sink, Bench(store, sink) as bench:
        await bench.round(0.0)
        resolve(store, now_s=1.0)
        await bench.round(5.0)
        await bench.round(100.0)
        assert told(sink) == [("a1 firing",)]
        resolved, firing = recent_deliveries(store, 2)
        assert firing.last_error == (
            "superseded: it resolved before it could be delivered (channel oncall answered 500)"
        )
        assert resolved.last_error == "superseded: its firing never reached this channel"


async def test_a_channel_that_fails_holds_up_no_other(store: Store) -> None:
    fire(store, channels=("oncall", "log"))
    async with WebhookSink([Reply(how="hang")]) as dead, WebhookSink() as alive:
        async with Bench(store, dead, log=WebhookChannel("log", alive.url, 5.0)) as bench:
            task = asyncio.create_task(bench.round(0.0))
            await dead.wait_for(1)
            async with asyncio.timeout(10):
                while not any(d.delivered_at_s == 0.0 for d in recent_deliveries(store, 2)):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        states = {d.channel: d.delivered_at_s for d in recent_deliveries(store, 2)}
        assert states == {"oncall": None, "log": 0.0}


async def test_one_message_is_in_flight_for_a_channel(store: Store) -> None:
    for n in range(8):
        fire(store, f"a{n}")
    async with WebhookSink() as sink, Bench(store, sink) as bench:
        assert await bench.round(0.0) == 8
        assert sink.most_in_flight == 1
        assert told(sink) == [(f"a{n} firing",) for n in range(8)]


async def test_no_answer_is_a_failure_after_which_the_message_comes_again(store: Store) -> None:
    fire(store)
    async with WebhookSink([Reply(how="hang")]) as sink, Bench(store, sink) as bench:
        bench.channels["oncall"] = WebhookChannel("oncall", sink.url, timeout_s=0.2)
        await bench.round(0.0)
        assert newest(store).last_error == "channel oncall did not answer within 0.2 s"
        assert await bench.round(5.0) == 1


async def test_a_channel_that_is_down_is_tried_once_a_round_however_much_waits(store: Store) -> None:
    for n in range(6):
        fire(store, f"a{n}")
    async with WebhookSink([500] * 3) as sink, Bench(store, sink) as bench:
        for now_s in (0.0, 1.0, 2.0, 5.0, 6.0, 15.0, 16.0):
            await bench.round(now_s)
        assert told(sink) == [("a0 firing",), ("a1 firing",), ("a2 firing",)]
        assert await bench.round(100.0) == 6


async def test_a_message_that_is_always_refused_does_not_hold_up_the_rest(store: Store) -> None:
    fire(store)
    async with WebhookSink([500, 500]) as sink, Bench(store, sink) as bench:
        await bench.round(0.0)
        await bench.round(5.0)
        fire(store, "a2", now_s=6.0)
        assert await bench.round(15.0) == 2
        assert told(sink)[2:] == [("a2 firing",), ("a1 firing",)]


async def test_killed_while_sending_it_is_sent_again_with_the_same_key(store: Store) -> None:
    fire(store)
    code = (
        "import asyncio, sys; from pathlib import Path; from monitor.store.db import open_store;"
        "from monitor.alerts.outbox import deliver_due; from monitor.alerts.webhook import WebhookChannel;"
        "channel = WebhookChannel('oncall', sys.argv[2], 60.0);"
        "asyncio.run(deliver_due(open_store(Path(sys.argv[1])), {'oncall': channel}, 0.0))"
    )
    async with WebhookSink([Reply(how="hang")]) as sink, Bench(store, sink) as bench:
        daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(store.path), sink.url)
        await sink.wait_for(1)
        daemon.kill()
        await daemon.wait()
        resolve(store, now_s=1.0)
        assert await bench.round(100.0) == 0
        assert await bench.round(120.0) == 1
        assert await bench.round(121.0) == 1
        assert told(sink) == [("a1 firing",), ("a1 firing",), ("a1 resolved",)]
        assert len({r.headers["idempotency-key"] for r in sink.received}) == 2


async def test_over_the_cap_messages_wait_and_come_as_one_that_says_so(store: Store) -> None:
    async with WebhookSink() as sink, Bench(store, sink) as bench:
        for n in range(5):
            fire(store, f"a{n}", now_s=float(n))
            await bench.round(float(n), cap_per_hour=3)
        assert told(sink) == [("a0 firing",), ("a1 firing",), ("a2 firing",)]
        assert "This is message 3 within an hour, the cap" in sink.bodies[-1]["specwatch"]["note"]
        assert newest(store).last_error == (
            "held: channel oncall had 3 messages in an hour; goes out with others after 01:00 UTC"
        )
        await bench.round(3599.0, cap_per_hour=3)
        assert len(sink.received) == 3
        assert await bench.round(3600.5, cap_per_hour=3) == 1
        assert told(sink)[-1] == ("a3 firing", "a4 firing")
        assert sink.bodies[-1]["specwatch"]["note"].startswith("2 of these waited: the channel had reached its cap")
        assert all(d.delivered_at_s is not None for d in recent_deliveries(store, 10))
        resolve(store, "a3", now_s=3601.0)
        assert await bench.round(3601.5, cap_per_hour=3) == 1
        assert told(sink)[-1] == ("a3 resolved",)


async def test_what_waited_for_the_cap_and_resolved_meanwhile_is_left_out(store: Store) -> None:
    async with WebhookSink() as sink, Bench(store, sink) as bench:
        for n in range(3):
            fire(store, f"a{n}")
        await bench.round(0.0, cap_per_hour=1)
        resolve(store, "a1", now_s=10.0)
        await bench.round(10.0, cap_per_hour=1)
        await bench.round(3601.0, cap_per_hour=1)
        assert told(sink) == [("a0 firing",), ("a2 firing",)]


async def test_a_channel_that_left_the_config_is_said_to_be_gone(store: Store) -> None:
    fire(store, channels=("old",))
    async with WebhookSink() as sink, Bench(store, sink) as bench:
        assert await bench.round(7.0) == 0
        assert newest(store).dead_at_s == 7.0
        assert newest(store).last_error == "channel old is not in the config any more"


@pytest.mark.parametrize("script", [[500], [404], [Reply(how="drop")], [Reply(how="hang")], [Reply(302)], []])
async def test_the_address_is_in_no_error_no_log_and_no_row(
    store: Store, script: list[int | Reply], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fire(store)
    async with WebhookSink(script) as sink, Bench(store, sink) as bench:
        bench.channels["oncall"] = WebhookChannel("oncall", sink.url, timeout_s=0.3)
        await bench.round(0.0)
        assert len(sink.received) == 1
    assert "s3cret" not in caplog.text
    assert "s3cret" not in newest(store).last_error
    assert b"s3cret" not in on_disk(store)


async def test_nobody_listening_is_a_failure_in_words(store: Store) -> None:
    async with WebhookSink() as sink:
        url = sink.url
    fire(store)
    channel = WebhookChannel("oncall", url, timeout_s=5.0)
    assert await deliver_due(store, {"oncall": channel}, 0.0) == 0
    await channel.aclose()
    assert newest(store).last_error == "channel oncall could not be reached (connection refused; nothing listens there)"
    resolve(store, now_s=1.0)
    await deliver_due(store, {"oncall": channel}, 2.0)
    assert all(d.last_error.startswith("superseded") for d in recent_deliveries(store, 2))
