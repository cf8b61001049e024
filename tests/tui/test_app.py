"""The dashboard under bad feeds, pauses, dialogs and small terminals: it never crashes, lies or acts by accident."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from monitor.tui.app import DRAWN, SpecwatchApp
from monitor.tui.dialogs import Confirm, Help
from monitor.tui.view import View, settled
from monitor.values import Snapshot
from tests.support.scene_parts import SceneFeed, endpoint, snapshot
from tests.support.scene_sweeps import NOW
from tests.support.scenes import SCENES, firing, healthy, local, sweeping
from tests.support.screens import picture, screen_text, shown, until, watching


@pytest.mark.parametrize("tab", DRAWN)
@pytest.mark.parametrize("scene", SCENES)
def test_every_screen_of_every_scene_stays_within_its_width(scene: str, tab: str) -> None:
    for width, height in ((20, 8), (40, 12), (59, 20), (60, 20), (80, 21), (100, 30), (120, 33), (200, 47)):
        view = settled(View(SCENES[scene](), tab=tab))
        rows = DRAWN[tab](view, width, height)
        if width >= 60:
            assert [row.text for row in rows if cell_len(row.text) > width] == []


@pytest.mark.parametrize("scene", SCENES)
def test_numbers_of_the_fleet_are_never_cut_at_80_columns(scene: str) -> None:
    rows = DRAWN["fleet"](settled(View(SCENES[scene]())), 80, 21)
    assert not [row.text for row in rows if row.item and re.search(r"[0-9.\[]…(?!\])", row.text[14:])]


async def test_a_failing_feed_is_a_banner_over_the_last_known_data() -> None:
    feed = SceneFeed(firing())
    async with watching(feed) as pilot:
        feed.failure = OSError("database is locked")
        await pilot.press("r")
        await until(pilot, lambda: "NO NEW DATA: database is locked" in screen_text(pilot))
        assert "▲ FIRING 12m" in screen_text(pilot)
        feed.failure = None
        await pilot.press("r")
        await until(pilot, lambda: "NO NEW DATA" not in screen_text(pilot))


async def test_a_feed_that_never_worked_says_why() -> None:
    feed = SceneFeed(firing())
    feed.failure = RuntimeError("no such table: readings")
    async with watching(feed) as pilot:
        await until(pilot, lambda: "Nothing to show yet: no such table: readings" in screen_text(pilot))


async def test_an_old_snapshot_is_dated_and_added_to_every_age() -> None:
    late = await picture(healthy(), late_s=60.0)
    assert "03:12:45Z 1m00s old" in late
    assert "1m03s" in late


async def test_pause_freezes_the_view_and_says_how_far_behind_it_is() -> None:
    feed = SceneFeed(healthy())
    async with watching(feed) as pilot:
        await pilot.press("p")
        feed.current = replace(firing(), at_s=NOW + 42)
        await pilot.press("r")
        await until(pilot, lambda: "VIEW PAUSED 42s, 1 newer" in screen_text(pilot))
        assert "FIRING" not in screen_text(pilot)
        await pilot.press("p")
        await until(pilot, lambda: "▲ FIRING" in screen_text(pilot))
        assert "VIEW PAUSED" not in screen_text(pilot)


@pytest.mark.parametrize("keys", [("n",), ("escape",), ("enter",), ("q",)])
async def test_a_sweep_is_not_asked_for_by_accident(keys: tuple[str, ...]) -> None:
    feed = SceneFeed(firing())
    async with watching(feed) as pilot:
        await pilot.press("R")
        await shown(pilot)
        question = screen_text(pilot)
        assert "Real users of these servers" in question
        assert "went up to 64 requests" in " ".join(question.split())
        await pilot.press(*keys)
        await shown(pilot)
        assert not isinstance(pilot.app.screen, Confirm)
        assert feed.requests == []


async def test_a_confirmed_sweep_is_asked_for_and_the_answer_is_shown() -> None:
    feed = SceneFeed(firing(), answer="queued as intent 7")
    async with watching(feed) as pilot:
        await pilot.press("R", "y")
        await until(pilot, lambda: "queued as intent 7" in screen_text(pilot))
        assert feed.requests == [("sweep", "chat-70b")]


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 12)])
async def test_both_answers_are_seen_however_many_servers_and_however_small_the_screen(size: tuple[int, int]) -> None:
    scene = snapshot(*(endpoint(f"chat-{n}", 9.0) for n in range(60)))
    async with watching(SceneFeed(scene), size=size) as pilot:
        await pilot.press("R")
        await shown(pilot)
        seen = screen_text(pilot)
        assert "Cancel [n]" in seen
        assert "Run it [y]" in seen
        assert "Run a sweep of chat-70b now?" in seen
        if size == (80, 24):
            assert "(chat-0, chat-1, chat-2 and 57 more)" in " ".join(seen.replace("│", " ").split())
        for _ in range(6):
            await pilot.press("pagedown")
        await shown(pilot)
        seen = screen_text(pilot)
        assert "meanwhile." in seen
        assert "Cancel [n]" in seen


async def test_a_short_message_leaves_the_facts_of_the_selected_row_in_view() -> None:
    async with watching(SceneFeed(firing(), answer="asked the daemon to sweep chat-70b; its gate decides")) as pilot:
        before = screen_text(pilot).split("\n")
        await pilot.press("R", "y")
        await until(pilot, lambda: "its gate" in screen_text(pilot))
        rule = next(n for n, row in enumerate(before) if row.startswith("────"))
        assert screen_text(pilot).split("\n")[rule:] == before[rule:]


async def test_a_confirmed_abort_is_asked_for() -> None:
    feed = SceneFeed(sweeping())
    async with watching(feed) as pilot:
        await pilot.press("X")
        await shown(pilot)
        assert "29 of 56 cells done" in screen_text(pilot)
        await pilot.press("y")
        await until(pilot, lambda: feed.requests == [("abort", "chat-70b")])


async def test_a_refused_wish_is_told_and_nothing_else_happens() -> None:
    feed = SceneFeed(firing())
    async with watching(feed) as pilot:
        await pilot.press("4")
        feed.failure = PermissionError("the store is read-only")
        await pilot.press("a")
        await until(pilot, lambda: "Could not ask for ack of a1" in screen_text(pilot))


async def test_acknowledging_what_does_not_fire_says_so() -> None:
    feed = SceneFeed(firing())
    async with watching(feed) as pilot:
        await pilot.press("4", "j", "j", "a")
        await until(pilot, lambda: "Nothing fires there" in screen_text(pilot))
        assert feed.requests == []


async def test_escape_goes_back_step_by_step_and_never_quits() -> None:
    async with watching(SceneFeed(firing())) as pilot:
        await pilot.press("4", "enter")
        await shown(pilot)
        assert "concurrency/engine" in screen_text(pilot)
        await pilot.press("escape")
        await shown(pilot)
        assert "History, newest first" in screen_text(pilot)
        await pilot.press("escape", "escape", "escape", "escape")
        await shown(pilot)
        assert "▴headrm" in screen_text(pilot)
        assert pilot.app.is_running


async def test_the_filter_works_while_typing_is_kept_by_enter_and_cleared_by_escape() -> None:
    async with watching(SceneFeed(firing())) as pilot:
        await pilot.press("slash", "c", "h", "a", "t", "-", "c")
        await shown(pilot)
        assert "chat-b " not in screen_text(pilot)
        await pilot.press("enter")
        await shown(pilot)
        assert "/chat-c/ 1 of 3" in screen_text(pilot)
        assert "▲ 1 of 3 above" in screen_text(pilot)
        await pilot.press("escape")
        await shown(pilot)
        assert "chat-b " in screen_text(pilot)


async def test_letters_typed_into_the_filter_are_not_keys() -> None:
    async with watching(SceneFeed(firing())) as pilot:
        await pilot.press("slash", "q", "p", "R")
        await shown(pilot)
        assert pilot.app.is_running
        assert "No endpoint matches /qpR/" in screen_text(pilot)


async def test_help_opens_scrolls_and_closes() -> None:
    async with watching(SceneFeed(firing())) as pilot:
        await pilot.press("question_mark")
        await shown(pilot)
        assert "Keys on the fleet screen" in screen_text(pilot)
        await pilot.press("pagedown", "pagedown", "pagedown")
        await shown(pilot)
        assert "age of the newest good reading" in screen_text(pilot)
        await pilot.press("escape")
        await shown(pilot)
        assert not isinstance(pilot.app.screen, Help)


@pytest.mark.parametrize(("scene", "words"), [(firing, "goes on watching"), (local, "nothing watches these endpoints")])
async def test_quitting_says_what_goes_on(scene: Callable[[], Snapshot], words: str) -> None:
    async with watching(SceneFeed(scene())) as pilot:
        await pilot.press("q")
        assert words in str(pilot.app._exit_renderables)


async def test_a_click_selects_a_double_click_opens_a_click_on_a_head_sorts() -> None:
    async with watching(SceneFeed(firing())) as pilot:
        await pilot.click("#fleet", offset=(5, 4))
        await shown(pilot)
        assert "›chat-b" in screen_text(pilot)
        await pilot.click("#fleet", offset=(3, 2))
        await shown(pilot)
        assert "by name" in screen_text(pilot)
        await pilot.click("#fleet", offset=(5, 5), times=2)
        await shown(pilot)
        assert "chat-c" in screen_text(pilot).split("\n")[2]
        await pilot.click("#tabs", offset=(3, 0))
        await shown(pilot)
        assert "▴endpoint" in screen_text(pilot)


async def test_hostile_text_from_a_server_cannot_reach_the_terminal() -> None:
    hostile = endpoint("chat-a", 11.2, version="0.26\x1b]52;c;AAAA\x07", verdict_reason="bad\x1b[2J\u202ereason")
    text = await picture(snapshot(hostile))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "bad [2J reason" in text


async def test_only_rows_that_changed_are_painted() -> None:
    feed = SceneFeed(healthy())
    async with watching(feed) as pilot:
        painted: list[object] = []
        pane = pilot.app.query_one("#fleet")
        original = pane.refresh

        def counting(*regions: object, **options: object) -> object:
            painted.extend(regions)
            return original(*regions, **options)  # type: ignore[arg-type]

        pane.refresh = counting  # type: ignore[method-assign,assignment]
        assert isinstance(pilot.app, SpecwatchApp)
        polls = feed.polls
        await pilot.press("r")
        await until(pilot, lambda: feed.polls > polls)
        await shown(pilot)
        assert painted == []
        first, *rest = feed.current.endpoints
        feed.current = replace(feed.current, endpoints=(replace(first, age_s=9.0), *rest))
        await pilot.press("r")
        await until(pilot, lambda: bool(painted))
        assert len(painted) == 1


async def test_a_feed_that_hangs_leaves_the_keys_working() -> None:
    class Hanging(SceneFeed):
        async def snapshot(self) -> Snapshot:
            if self.polls:
                await asyncio.Event().wait()
            return await super().snapshot()

    async with watching(Hanging(firing())) as pilot:
        await pilot.press("4")
        await shown(pilot)
        assert "History, newest first" in screen_text(pilot)


def test_the_app_is_importable_without_numpy_or_a_database() -> None:
    code = "import sys, monitor.tui.app; print(sorted({'numpy', 'sqlite3', 'httpx', 'apscheduler'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def a_long_alert() -> Snapshot:
    """chat-a's alert says more than a small screen can show."""
    scene = firing()
    told = "\n".join([*(f"- choice {n}" for n in range(1, 20)), "the end"])
    return replace(scene, events=(replace(scene.events[0], text=told), *scene.events[1:]))


async def test_an_alert_s_text_scrolls_to_its_end_and_the_next_row_starts_at_its_top() -> None:
    async with watching(SceneFeed(a_long_alert()), size=(80, 24)) as pilot:
        await shown(pilot)
        await pilot.press("4")
        await until(pilot, lambda: "- choice 8" in screen_text(pilot))
        assert "the end" not in screen_text(pilot)
        await pilot.press("pagedown", "pagedown", "pagedown")
        await shown(pilot)
        assert "the end" in screen_text(pilot), "a page more than there is does not leave the alert"
        await pilot.press("j")
        await until(pilot, lambda: "Active now" in screen_text(pilot))
