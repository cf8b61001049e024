"""Asking for a sweep where there can be none, and hearing what became of it where there could."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.tui.dialogs import Confirm
from monitor.tui.draw import sweep
from monitor.tui.draw.frame import unswept
from monitor.tui.lines import as_text
from monitor.tui.view import View, settled
from monitor.tui.words import why
from monitor.values import Intent, Snapshot
from tests.support.scene_parts import SceneFeed
from tests.support.scene_sweeps import NOW
from tests.support.scenes import firing, never_swept, refused, sweeping
from tests.support.screens import notices, screen_text, shown, until, watching


def asked(result: str, pool: str = "chat-70b", intent: int = 7) -> Intent:
    """A request for a sweep that has just come to its end."""
    return Intent(intent, "sweep", pool, "dana", "gpu-7", NOW - 6, "", {}, NOW - 5, NOW - 1, result)


def gate_refused() -> Snapshot:
    """A sweep that was asked for six seconds ago and that the gate refused."""
    (record,) = refused().sweeps
    tried = replace(record, plan={**record.plan, "intent": 7})
    return replace(firing(), sweeps=(tried, *firing().sweeps), asked=(asked("exit 3"),))


@pytest.mark.parametrize("key", "1234")
async def test_a_refusal_of_the_gate_is_on_every_screen(key: str) -> None:
    async with watching(SceneFeed(gate_refused())) as pilot:
        await pilot.press(key)
        await shown(pilot)
        said = " ".join(screen_text(pilot).split())
        assert "Sweep of chat-70b, asked for by dana 6s ago, was refused: the gate refused: 6.2 requests" in said


def test_a_sweep_that_was_never_begun_says_why() -> None:
    busy = "exit 6: a sweep of this pool is already running; `specwatch stop` ends it"
    scene = replace(firing(), asked=(asked(busy), asked("exit 3", intent=6)))
    assert unswept(View(scene)) == [
        "Sweep of chat-70b, asked for by dana 6s ago, was not begun: a sweep of this pool is already running; "
        "`specwatch stop` ends it"
    ]
    mute = replace(firing(), asked=(asked("exit 2"),))
    assert unswept(View(mute))[0].endswith("was not begun: the daemon's log says why")


def test_an_end_that_is_no_refusal_is_told_in_words() -> None:
    scene = gate_refused()
    for outcome, words in (("arm_mismatch", "ago, found an arm that is not what it claims: "), ("died", "ago, died: ")):
        ended = (replace(scene.sweeps[0], outcome=outcome), *scene.sweeps[1:])
        assert words in unswept(View(replace(scene, sweeps=ended)))[0]


def test_a_refusal_is_old_news_once_a_later_sweep_began() -> None:
    scene = gate_refused()
    tried = replace(scene.sweeps[0], started_at_s=NOW - 5)
    assert unswept(View(replace(scene, sweeps=(tried, *scene.sweeps[1:])))) != []
    again = replace(tried, id=44, started_at_s=NOW - 1, outcome="running", plan={})
    assert unswept(View(replace(scene, sweeps=(again, tried, *scene.sweeps[1:])))) == []


def test_a_sweep_that_measured_needs_no_word() -> None:
    (record,) = firing().sweeps
    scene = replace(firing(), sweeps=(replace(record, plan={**record.plan, "intent": 7}),), asked=(asked("exit 0"),))
    assert unswept(View(scene)) == []


async def test_a_pool_that_nothing_sweeps_offers_no_load() -> None:
    feed = SceneFeed(replace(never_swept(), unprobed=frozenset({"chat-70b"})))
    async with watching(feed) as pilot:
        await pilot.press("R")
        await until(pilot, lambda: "no [endpoint.probe], so it is never swept" in notices(pilot))
        assert not isinstance(pilot.app.screen, Confirm)
        assert feed.requests == []
        assert "R run sweep" not in screen_text(pilot)


def test_the_sweep_screen_offers_none_where_nothing_can_be_swept() -> None:
    scene = replace(never_swept(), unprobed=frozenset({"chat-70b"}))
    said = as_text(sweep.draw(settled(View(scene, tab="sweep")), 80, 21))
    assert "chat-70b has no [endpoint.probe], so it is never swept" in said
    assert "R runs one" not in said


async def test_without_a_daemon_no_sweep_is_offered() -> None:
    for mode in ("local", "daemon_gone"):
        async with watching(SceneFeed(replace(firing(), mode=mode))) as pilot:
            await pilot.press("R")
            await until(pilot, lambda p=pilot: "`specwatch sweep chat-70b` in another terminal" in notices(p))  # type: ignore[misc]
            assert not isinstance(pilot.app.screen, Confirm)


def test_an_endpoint_that_nothing_sweeps_is_not_sent_to_a_plan_that_would_fail() -> None:
    scene = never_swept()
    assert "nothing sweeps chat-70b" in why(View(replace(scene, unprobed=frozenset({"chat-70b"}))), scene.endpoints[0])
    assert "nothing sweeps" not in why(View(scene), scene.endpoints[0])


async def test_a_second_sweep_of_a_pool_is_not_offered() -> None:
    feed = SceneFeed(sweeping())
    async with watching(feed) as pilot:
        await pilot.press("R")
        await until(pilot, lambda: "Sweep 42 of chat-70b is running already" in notices(pilot))
        assert not isinstance(pilot.app.screen, Confirm)
