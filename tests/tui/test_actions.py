"""Each action in the table has a key, a help line, a palette entry and does what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from monitor.tui.actions import ACTIONS, TABS, Action, offered
from monitor.tui.app import SpecwatchApp
from monitor.tui.dialogs import Confirm, Help
from monitor.tui.draw.helptext import help_lines
from monitor.tui.lines import as_text
from monitor.tui.view import View
from tests.support.scene_parts import SceneFeed
from tests.support.scenes import broken, firing, sweeping
from tests.support.screens import notices, screen_text, shown, until, watching

Check = Callable[[Pilot[None], SceneFeed, str], bool]


@dataclass(frozen=True)
class Trial:
    """Keys that lead there, and what must be true after the action's own key; `before` is the screen until then."""

    holds: Check
    keys: tuple[str, ...] = ()
    scene: Callable[[], object] = firing


def text(pilot: Pilot[None]) -> str:
    return screen_text(pilot)


TRIALS: dict[str, Trial] = {
    "show_fleet": Trial(lambda p, f, before: "▴headrm" in text(p), ("2",)),
    "show_endpoint": Trial(lambda p, f, before: "TTFT p50" in text(p) and "concurrency/engine" in text(p)),
    "show_sweep": Trial(lambda p, f, before: "sweep 41" in text(p) and "■ k3" in text(p)),
    "show_alerts": Trial(lambda p, f, before: "History, newest first" in text(p)),
    "open": Trial(lambda p, f, before: "concurrency/engine" in text(p)),
    "back": Trial(lambda p, f, before: "▴headrm" in text(p), ("2",)),
    "down": Trial(lambda p, f, before: "›chat-b" in text(p)),
    "up": Trial(lambda p, f, before: "›chat-a" in text(p), ("j",)),
    "top": Trial(lambda p, f, before: "›chat-a" in text(p), ("j", "j")),
    "bottom": Trial(lambda p, f, before: "›chat-c" in text(p)),
    "older_sweep": Trial(lambda p, f, before: "sweep 41" in text(p).split("\n")[2], ("3",), sweeping),
    "newer_sweep": Trial(
        lambda p, f, before: "sweep 41 " in before and "sweep 42 " in text(p), ("3", "left_square_bracket"), sweeping
    ),
    "page_down": Trial(lambda p, f, before: "loop lagged" in text(p) and "loop lagged" not in before, ("3",)),
    "page_up": Trial(lambda p, f, before: "loop lagged" not in text(p), ("3", "pagedown")),
    "filter": Trial(lambda p, f, before: p.app.query_one("#filter").has_focus),
    "sort": Trial(lambda p, f, before: "by name" in text(p)),
    "reverse": Trial(lambda p, f, before: "by headroom reversed" in text(p)),
    "pause_view": Trial(lambda p, f, before: "VIEW PAUSED" in text(p)),
    "refresh": Trial(lambda p, f, before: f.polls >= 2),
    "copy": Trial(lambda p, f, before: "chat-a (pool chat-70b): ▲ FIRING 12m" in p.app.clipboard),
    "sweep_now": Trial(lambda p, f, before: isinstance(p.app.screen, Confirm)),
    "abort_sweep": Trial(lambda p, f, before: isinstance(p.app.screen, Confirm), scene=sweeping),
    "ack": Trial(lambda p, f, before: f.requests == [("ack", "a1")], ("4",)),
    "help": Trial(lambda p, f, before: isinstance(p.app.screen, Help)),
    "command_palette": Trial(lambda p, f, before: isinstance(p.app.screen, CommandPalette)),
    "quit_view": Trial(lambda p, f, before: p.app._exit),
}


def test_the_trials_cover_the_table() -> None:
    assert set(TRIALS) == {action.id for action in ACTIONS}


@pytest.mark.parametrize(
    ("action", "key"),
    [(action, key) for action in ACTIONS for key in action.keys],
    ids=lambda part: part if isinstance(part, str) else part.id,
)
async def test_the_key_does_what_the_table_says(action: Action, key: str) -> None:
    trial = TRIALS[action.id]
    scene = trial.scene()
    feed = SceneFeed(scene)  # type: ignore[arg-type]
    async with watching(feed) as pilot:
        await pilot.press(*trial.keys)
        await shown(pilot)
        before = screen_text(pilot)
        await pilot.press(key)
        await shown(pilot)
        assert trial.holds(pilot, feed, before), screen_text(pilot)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_help_shows_the_action_on_each_screen_that_offers_it(action: Action) -> None:
    for tab in TABS:
        shown_help = " ".join(as_text(help_lines(View(firing(), tab=tab), 76)).split())
        assert (f"{action.title}: {action.help}" in " ".join(shown_help.split())) is (tab in action.tabs)


@pytest.mark.parametrize("tab", TABS)
def test_no_two_actions_share_a_key(tab: str) -> None:
    keys = [key for action in offered(tab, readonly=False) for key in action.keys]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("tab", TABS)
def test_the_footer_names_at_most_seven_keys_and_always_help_and_quit(tab: str) -> None:
    named = [action.id for action in offered(tab, readonly=False) if tab in action.footer]
    if "sweep_now" in named:
        named.remove("abort_sweep")  # it takes the other's place while a sweep runs
    assert len(named) <= 7
    assert {"help", "quit_view"} <= set(named)


@pytest.mark.parametrize("tab", TABS)
def test_readonly_hides_what_writes(tab: str) -> None:
    hidden = set(offered(tab, readonly=False)) - set(offered(tab, readonly=True))
    assert all(action.writes for action in hidden)
    listed = as_text(help_lines(View(firing(), tab=tab, readonly=True), 76))
    assert not any(f"{action.title}:" in listed for action in ACTIONS if action.writes)


@pytest.mark.parametrize(("tab", "key"), [("1", "R"), ("3", "X"), ("4", "a")])
async def test_readonly_ignores_the_keys_that_write(tab: str, key: str) -> None:
    feed = SceneFeed(sweeping() if key == "X" else firing())
    async with watching(feed, readonly=True) as pilot:
        await pilot.press(tab, key)
        await shown(pilot)
        assert not isinstance(pilot.app.screen, Confirm)
        assert feed.requests == []
        assert "run sweep" not in screen_text(pilot)


async def test_the_footer_offers_the_abort_while_a_sweep_runs() -> None:
    for scene, named, other in ((sweeping(), "X abort sweep", "R run"), (firing(), "R run sweep", "X abort")):
        async with watching(SceneFeed(scene)) as pilot:
            last = screen_text(pilot).split("\n")[-2]
            assert named in last
            assert other not in last
            assert "? help   q quit" in last


@pytest.mark.parametrize("tab", "12")
async def test_an_alert_is_acknowledged_from_where_it_is_seen(tab: str) -> None:
    feed = SceneFeed(firing())
    async with watching(feed) as pilot:
        await pilot.press(tab, "a")
        await until(pilot, lambda: feed.requests == [("ack", "a1")])
        await pilot.press("j", "a")
        await until(pilot, lambda: "Nothing fires there" in notices(pilot))
        assert feed.requests == [("ack", "a1")]


async def test_the_palette_holds_the_table_and_nothing_else() -> None:
    async with watching(SceneFeed(broken())) as pilot:
        assert isinstance(pilot.app, SpecwatchApp)
        entries = {command.title for command in pilot.app.get_system_commands(pilot.app.screen)}
        wanted = {action.title for action in offered("fleet", readonly=False)} - {"Palette"}
        assert entries == wanted


async def test_a_palette_entry_runs_its_action() -> None:
    async with watching(SceneFeed(firing())) as pilot:
        await pilot.press("ctrl+p", *"Alerts")
        await until(pilot, lambda: "firing and pending, history" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "History, newest first" in screen_text(pilot))


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_the_manual_names_the_key(action: Action) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "tui.md").read_text(encoding="utf-8")
    assert f"| `{action.shown}` | {action.title}: {action.help} |" in manual
