"""A server that was not put back cannot be overlooked on any screen, and a sweep says which odd phase it is in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from monitor.tui.view import View, active_item, firing_id
from monitor.tui.words import alert_note
from tests.support.pictures import TextScreen
from tests.support.scene_restarts import REASON, in_phase, not_restored
from tests.support.scenes import firing
from tests.support.screens import picture


@pytest.fixture
def text(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextScreen)


@pytest.mark.parametrize("key", "1234")
async def test_not_restored(key: str, text: SnapshotAssertion) -> None:
    assert await picture(not_restored(), key, size=(80, 24)) == text


@pytest.mark.parametrize("size", [(50, 16), (80, 24), (200, 50)])
@pytest.mark.parametrize("key", "1234")
async def test_the_banner_is_on_every_screen_in_whole(key: str, size: tuple[int, int]) -> None:
    seen = " ".join((await picture(not_restored(), key, size=size)).split())
    for words in ("NOT RESTORED: chat-a does not run k3", REASON, "`specwatch stop` puts it back"):
        assert words in seen


@pytest.mark.parametrize(
    ("phase", "note", "arm", "rung", "says"),
    [
        ("backoff", "6 requests of others on k3; until 03:22", None, None, "giving way to others' traffic"),
        ("refine", "", "k3", 23, "refining: k3 @ 23 clients"),
        ("restart", "arm k3", None, None, "restarting the server"),
        ("restore", "arm k3", None, None, "putting the live arm back"),
    ],
)
async def test_phases(phase: str, note: str, arm: str | None, rung: int | None, says: str) -> None:
    seen = await picture(in_phase(phase, note, arm, rung), "3", size=(120, 36))
    assert says in seen
    assert note in seen
    assert "went on with sweep 40" in seen
    assert ("21m left" in seen) is (phase in ("refine", "restart"))
    assert ("21m of cells after that" in seen) is (phase == "backoff")


async def test_without_a_daemon_nobody_is_said_to_try_again() -> None:
    for mode in ("local", "daemon_gone"):
        seen = " ".join((await picture(replace(not_restored(), mode=mode))).split())
        assert "no daemon tries it again or tells anybody" in seen
        assert "every hour" not in seen


def test_each_of_two_alerts_of_one_endpoint_is_acknowledged_for_itself() -> None:
    view = View(not_restored(), tab="alerts")
    load, loud = (active_item(alert) for alert in view.active_alerts if alert.endpoint == "chat-a")
    if "not_restored" in load:
        load, loud = loud, load
    assert firing_id(replace(view, alert=load)) == "a1"
    assert firing_id(replace(view, alert=loud)) == "b1"
    assert firing_id(replace(view, alert="event:b1.1:firing")) == "b1"
    assert firing_id(View(firing(), tab="alerts", alert="active:chat-a")) == "a1"


def test_a_server_that_was_not_put_back_is_no_alert_about_its_load() -> None:
    seen = not_restored()
    only_loud = replace(seen, alerts=tuple(a for a in seen.alerts if a.rule == "not_restored"), unrestored=())
    view = View(only_loud)
    status = next(s for s in seen.endpoints if s.name == "chat-a")
    assert alert_note(view, status) == "The alert rule counts: the whole band is beyond the tolerated loss of 3%."
