"""What a viewer of a store is told beside the numbers: pools that nothing sweeps, and what became of wishes."""

from __future__ import annotations

import time
from pathlib import Path

from monitor.service.feed import ASKED_S, StoreFeed
from monitor.store.db import open_store
from monitor.store.intents import add_intent, finish_intent
from tests.support.configs import SOUND, sound

SINK = '\n[[endpoint]]\nname = "sink"\nurl = "http://127.0.0.1:9"\n'


async def test_pools_without_a_probe_are_named(tmp_path: Path) -> None:
    replica = '\n[[endpoint]]\nname = "b"\npool = "chat"\nurl = "http://127.0.0.1:10"\n'
    loaded = sound(tmp_path, SOUND.replace("[alerts]", f"{SINK}{replica}\n[alerts]"))
    with open_store(loaded.store_path) as store:
        assert (await StoreFeed(loaded, store).snapshot()).unprobed == {"sink"}


async def test_what_became_of_a_wish_is_told_for_a_minute(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        for ago_s, result in ((1.0, "exit 3"), (ASKED_S + 5, "exit 2")):
            at_s = time.time() - ago_s
            one = add_intent(
                store, kind="sweep", subject="chat", who="dana", host="h", created_at_s=at_s, reason="", args={}
            )
            finish_intent(store, one, at_s, result)
        assert [intent.result for intent in (await StoreFeed(loaded, store).snapshot()).asked] == ["exit 3"]
