"""Run the dashboard on a scene and read its screen as plain text or as an SVG that does not change between runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from textual.color import Color
from textual.pilot import Pilot

from monitor.tui.app import SpecwatchApp
from monitor.values import Snapshot
from tests.support.scene_parts import SceneFeed

Size = tuple[int, int]


@asynccontextmanager
async def watching(
    feed: SceneFeed, *, size: Size = (80, 24), readonly: bool = False, late_s: float = 0.0
) -> AsyncIterator[Pilot[None]]:
    """The app on `feed`, its first snapshot on screen; wall time stands still `late_s` after the snapshot."""
    at_s = feed.current.at_s
    app = SpecwatchApp(feed, readonly, clock=lambda: at_s + late_s)
    async with app.run_test(size=size, notifications=True) as pilot:
        await shown(pilot)
        yield pilot


async def shown(pilot: Pilot[None]) -> None:
    """Until what was polled is drawn."""
    await pilot.pause()
    await pilot.pause()


def notices(pilot: Pilot[None]) -> str:
    """What short messages say that are on the screen now, whatever their line breaks."""
    return " ".join(note.message for note in pilot.app._notifications)


def screen_text(pilot: Pilot[None]) -> str:
    """The whole terminal as text, blanks at line ends cut."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


def screen_colours(pilot: Pilot[None]) -> set[tuple[int, int, int]]:
    """Every colour on the terminal as red, green, blue, after the app's own filters."""
    found: set[tuple[int, int, int]] = set()
    for strip in pilot.app.screen._compositor.render_strips():
        for line_filter in pilot.app._filters:
            strip = strip.apply_filter(line_filter, Color(0, 0, 0))
        for _, style, _ in strip:
            for colour in (style.color, style.bgcolor) if style is not None else ():
                if colour is not None:
                    red, green, blue = colour.get_truecolor()
                    found.add((red, green, blue))
    return found


def screen_svg(pilot: Pilot[None]) -> str:
    """The whole terminal as SVG; the id that Rich draws by lot is made constant."""
    svg = pilot.app.export_screenshot(title="specwatch")
    return re.sub(r"terminal-\d+", "terminal", svg)


async def picture(
    scene: Snapshot, keys: Iterable[str] = (), *, size: Size = (80, 24), readonly: bool = False, late_s: float = 0.0
) -> str:
    """The scene's screen after these keys, as text."""
    async with watching(SceneFeed(scene), size=size, readonly=readonly, late_s=late_s) as pilot:
        await pilot.press(*keys)
        await shown(pilot)
        return screen_text(pilot)


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait for a condition; five seconds at most."""
    for _ in range(500):
        if holds():
            return
        await pilot.pause(0.01)
    raise AssertionError("this never came true:\n" + screen_text(pilot))
