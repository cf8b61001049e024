"""Which sweeps a viewer is told to run, and that the cells of those are read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.service import feed_sweeps
from monitor.service.feed import StoreFeed
from monitor.service.locks import Lock, sweep_lock_path
from monitor.store.db import Store, open_store
from monitor.store.sweeps import IMPORTED, add_cell, end_sweep, mark_died
from probes.restart.paths import restart_paths
from tests.support.configs import sound
from tests.support.scene_sweeps import cell, result
from tests.support.stored_sweeps import begun, measured


async def test_a_sweep_that_was_killed_does_not_run(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        begun(store, 1.0)
        feed = StoreFeed(loaded, store)
        with Lock(sweep_lock_path(loaded.store_path, "chat")):
            (running,) = (await feed.snapshot()).sweeps
        assert running.outcome == "running"
        (killed,) = (await feed.snapshot()).sweeps
        assert killed.outcome == "died"
        assert killed.reason


async def test_a_guardian_that_puts_the_server_back_neither_ends_a_sweep_nor_keeps_it_alive(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store, Lock(restart_paths(loaded.store_path, "chat").lock):
        begun(store, 1.0)
        feed = StoreFeed(loaded, store)
        with Lock(sweep_lock_path(loaded.store_path, "chat")):
            assert [s.outcome for s in (await feed.snapshot()).sweeps] == ["running"]
        assert [s.outcome for s in (await feed.snapshot()).sweeps] == ["died"]


async def test_a_sweep_that_ended_since_its_row_was_read_has_not_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        sweep, free = begun(store, 1.0), feed_sweeps._free

        def look(seen: Store, pool: str) -> bool:
            measured(store, sweep, 2.0, result(), {"k3": 3})
            return free(seen, pool)

        monkeypatch.setattr(feed_sweeps, "_free", look)
        assert [s.outcome for s in (await StoreFeed(loaded, store).snapshot()).sweeps] == ["measured"]


async def test_cells_of_a_running_sweep_are_read_again_behind_a_newer_import(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store, Lock(sweep_lock_path(loaded.store_path, "chat")):
        running = begun(store, 1.0)
        add_cell(store, running, cell("off", 4, 0, 0))
        feed = StoreFeed(loaded, store)
        # Two of one pool cannot run at a time; an import is stored with its end.
        store.db.execute("UPDATE sweeps SET pool = 'away' WHERE id = ?", (running,))
        measured(store, begun(store, 2.0, trigger=IMPORTED), 2.0, result(), {"k3": 3})
        store.db.execute("UPDATE sweeps SET pool = 'chat' WHERE id = ?", (running,))
        assert len((await feed.snapshot()).cells[running]) == 1
        add_cell(store, running, cell("off", 4, 1, 1))
        assert len((await feed.snapshot()).cells[running]) == 2


async def test_a_sweep_that_ends_after_it_was_taken_for_dead_had_more_to_say(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    with open_store(loaded.store_path) as store:
        first = begun(store, 1.0)
        mark_died(store, first, 2.0)
        measured(store, begun(store, 3.0), 4.0, result(), {"k3": 3})
        feed = StoreFeed(loaded, store)
        assert (await feed.snapshot()).cells[first] == ()
        add_cell(store, first, cell("off", 4, 0, 0))
        end_sweep(
            store, first, ended_at_s=5.0, outcome="aborted", reason="", exit_code=4, fingerprint="", result=None,
            arm_k={},
        )  # fmt: skip
        assert len((await feed.snapshot()).cells[first]) == 1
