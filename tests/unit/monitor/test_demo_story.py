"""The demo says on its screens what it does to the servers: without that, numbers move for no visible reason."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monitor.demo import story as room
from monitor.demo.narrated import NarratedFeed
from monitor.demo.story import Story
from monitor.service.feed import StoreFeed
from monitor.store.db import open_store
from monitor.store.intents import pending
from monitor.store.sweeps import begin_sweep, end_sweep
from tests.support.configs import sound
from tests.support.scene_sweeps import result
from tests.support.scenes import firing_event

CONFIG = '[[endpoint]]\nname = "demo-chat"\npool = "demo"\nurl = "http://127.0.0.1:1"\n'


async def test_each_turn_of_the_story_is_told_on_the_screens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = sound(tmp_path, CONFIG)
    with open_store(loaded.store_path) as store:
        told: list[str] = []
        story = Story(loaded, store, "http://127.0.0.1:1", lambda _text: None)
        feed = NarratedFeed(StoreFeed(loaded, store), lambda: story.now)

        async def traffic(clients: int) -> None:
            told.append((await feed.snapshot()).note)

        async def slept(_seconds: float) -> None:
            told.append((await feed.snapshot()).note)
            if pending(store, "sweep") and len(told) == 1:
                one = begin_sweep(
                    store, pool="demo", endpoint="demo-chat", started_at_s=1.0, trigger="intent", who="demo", pid=1,
                    host="h", baseline="off", live_arm="k3", plan={},
                )  # fmt: skip
                end_sweep(
                    store, one, ended_at_s=2.0, outcome="measured", reason="", exit_code=0, fingerprint="f",
                    result=result(), arm_k={},
                )  # fmt: skip

        def events(_store: Any, _limit: int) -> list[Any]:
            fired = [replace(firing_event(), kind="firing")] if any("32 users" in text for text in told) else []
            return [*fired, *([replace(firing_event(), kind="resolved")] if "2 users, so" in told[-1] else [])]

        monkeypatch.setattr(story, "_set_traffic", traffic)
        monkeypatch.setattr(asyncio, "sleep", slept)
        monkeypatch.setattr(room, "recent_events", events)
        await story.run()
        assert story.told.complete
        text = json.dumps(list(dict.fromkeys([*told, (await feed.snapshot()).note])))
        order = ["sweep measures both arms", "4 users talk", "32 users talk", "the alert fired", "over, the traffic"]
        places = [text.index(words) for words in order]
        assert places == sorted(places)


async def test_a_story_that_breaks_off_says_so_on_the_screens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = sound(tmp_path, CONFIG)
    with open_store(loaded.store_path) as store:
        story = Story(loaded, store, "http://127.0.0.1:1", lambda _text: None)

        async def gone() -> None:
            raise OSError("the simulated servers are gone")

        monkeypatch.setattr(story, "_sweep", gone)
        with pytest.raises(OSError, match="are gone"):
            await story.run()
        assert story.now == "Demo: over, for it broke off (the simulated servers are gone); q ends it."
