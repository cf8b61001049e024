"""Draw the pictures of docs/tui.md from the scenes: `python -m tests.support.make_screenshots`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.scene_parts import SceneFeed
from tests.support.scenes import firing, sweeping
from tests.support.screens import screen_svg, shown, watching

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
PICTURES = {
    "fleet": (firing, "1", (100, 24)),
    "endpoint": (firing, "2", (120, 36)),
    "sweep": (firing, "3", (100, 36)),
    "sweep-running": (sweeping, "3", (100, 30)),
    "alerts": (firing, "4", (100, 24)),
}


async def drawn(name: str) -> str:
    """One picture as SVG."""
    scene, key, size = PICTURES[name]
    async with watching(SceneFeed(scene()), size=size) as pilot:
        await pilot.press(key)
        await shown(pilot)
        return screen_svg(pilot)


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.svg").write_text(asyncio.run(drawn(name)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
