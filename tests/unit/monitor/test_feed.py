"""What a viewer of a store is told beside the numbers: pools that nothing sweeps, and what became of wishes."""

from __future__ import annotations

import time
from pathlib import Path

from monitor.service.feed import ASKED_S, StoreFeed
from monitor.service.feed_sweeps import RECENT_SWEEPS
from monitor.store.db import Store, open_store
from monitor.store.intents import add_intent, finish_intent
from monitor.store.sweeps import add_cell, end_sweep
from tests.support.configs import SOUND, edited, sound
from tests.support.scene_sweeps import cell, result
from tests.support.stored_sweeps import begun, measured

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


async def test_cells_of_older_sweeps_come_one_sweep_a_snapshot_answers_first(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        for at_s in (1.0, 2.0, 3.0):
            sweep = begun(store, at_s)
            add_cell(store, sweep, cell("off", 4, 0, 0))
            if at_s == 1.0:
                measured(store, sweep, at_s + 0.5, result(), {"k3": 3})
            else:
                _ended(store, sweep, at_s + 0.5, "aborted")
        feed = StoreFeed(loaded, store)
        assert [sorted((await feed.snapshot()).cells) for _ in range(4)] == [[1, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]]
        assert len((await feed.snapshot()).cells[1]) == 1


async def test_the_sweep_in_force_is_there_behind_any_number_of_refusals(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        measured(store, begun(store, 1.0), 2.0, result(), {"k3": 3})
        for number in range(RECENT_SWEEPS + 1):
            _ended(store, begun(store, 3.0 + number), 3.0 + number, "refused")
        seen = await StoreFeed(loaded, store).snapshot()
        assert [sweep.id for sweep in seen.sweeps if sweep.result is not None] == [1]
        assert 1 in seen.cells


async def test_sweeps_in_force_of_several_pools_stand_newest_first(tmp_path: Path) -> None:
    newer = edited('[[endpoint]]\nname = "sink"', '[[endpoint]]\nname = "zoo"', SINK)
    loaded = sound(tmp_path, SOUND.replace("[alerts]", f"{newer}\n[alerts]"))
    with open_store(loaded.store_path) as store:
        for at_s, pool in ((1.0, "chat"), (2.0, "zoo")):
            measured(store, begun(store, at_s, pool=pool), at_s + 0.5, result(), {"k3": 3})
        for number in range(RECENT_SWEEPS + 1):
            _ended(store, begun(store, 3.0 + number), 3.0 + number, "refused")
        seen = (await StoreFeed(loaded, store).snapshot()).sweeps
        assert [sweep.pool for sweep in seen if sweep.result is not None] == ["zoo", "chat"]
        assert seen[0].id == RECENT_SWEEPS + 3


def _ended(store: Store, sweep: int, at_s: float, outcome: str) -> None:
    end_sweep(
        store, sweep, ended_at_s=at_s, outcome=outcome, reason="", exit_code=4, fingerprint="", result=None, arm_k={}
    )
