"""What each scene looks like. The text files are the review: read them as the person on call would.

`pytest tests/tui/test_screens.py --snapshot-update` writes them anew.
"""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.make_screenshots import FOLDER, PICTURES, drawn
from tests.support.pictures import SvgScreen, TextScreen
from tests.support.scene_parts import SceneFeed
from tests.support.scenes import SCENES
from tests.support.screens import picture, screen_colours, screen_svg, screen_text, shown, watching

DESIGN = (80, 24)
VIEWS = {
    "healthy": "1",
    "firing": "1234",
    "pending": "14",
    "broken": "12",
    "undecided": "1",
    "multi_engine": "12",
    "sweeping": "13",
    "refused": "3",
    "empty": "1234",
    "never_swept": "123",
    "daemon_gone": "14",
    "local": "14",
    "sweeps_paused": "1",
    "drifted": "12",
}


@pytest.fixture
def text(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextScreen)


def test_every_scene_is_looked_at() -> None:
    assert set(VIEWS) == set(SCENES)


@pytest.mark.parametrize(("scene", "key"), [(scene, key) for scene, keys in VIEWS.items() for key in keys])
async def test_design_size(scene: str, key: str, text: SnapshotAssertion) -> None:
    """80x24: complete, nothing clipped but names and titles."""
    assert await picture(SCENES[scene](), key, size=DESIGN) == text


@pytest.mark.parametrize(
    ("scene", "key"), [(s, k) for s in ("firing", "multi_engine", "undecided") for k in "1234"] + [("drifted", "2")]
)
async def test_roomy(scene: str, key: str, text: SnapshotAssertion) -> None:
    """120x36: every column, larger charts."""
    assert await picture(SCENES[scene](), key, size=(120, 36)) == text


@pytest.mark.parametrize("key", "123")
async def test_wide(key: str, text: SnapshotAssertion) -> None:
    """200x50: no stretched words, tall charts."""
    assert await picture(SCENES["firing"](), key, size=(200, 50)) == text


@pytest.mark.parametrize("scene", ["firing", "broken", "undecided"])
async def test_narrow(scene: str, text: SnapshotAssertion) -> None:
    """Under 60 columns: one line an endpoint."""
    assert await picture(SCENES[scene](), size=(50, 16)) == text


@pytest.mark.parametrize("key", ["p", "question_mark", "R", "slash"])
async def test_over_the_fleet(key: str, text: SnapshotAssertion) -> None:
    """Pause banner, help, the question before a sweep, the filter line."""
    assert await picture(SCENES["firing"](), (key,), size=DESIGN) == text


async def test_readonly(text: SnapshotAssertion) -> None:
    """No key that writes is named."""
    assert await picture(SCENES["firing"](), "3", size=DESIGN, readonly=True) == text


async def test_no_color(monkeypatch: pytest.MonkeyPatch, text: SnapshotAssertion, snapshot: SnapshotAssertion) -> None:
    """The same words and glyphs as in colour, and only greys."""
    coloured = await picture(SCENES["firing"](), size=DESIGN)
    monkeypatch.setenv("NO_COLOR", "1")
    async with watching(SceneFeed(SCENES["firing"]()), size=DESIGN) as pilot:
        await shown(pilot)
        assert screen_text(pilot) == coloured == text
        assert [colour for colour in screen_colours(pilot) if len(set(colour)) > 1] == []
        assert screen_svg(pilot) == snapshot.use_extension(SvgScreen)


@pytest.mark.parametrize("name", PICTURES)
async def test_the_pictures_in_the_docs_show_this_version(name: str) -> None:
    """`python -m tests.support.make_screenshots` draws them anew."""
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == await drawn(name) + "\n"
