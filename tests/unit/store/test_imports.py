"""Results from elsewhere in the store: everything compares with them, and nothing takes them for load on a server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.store.db import Store
from monitor.store.imports import AlreadyImported, insert_imported
from monitor.store.sweeps import (
    get_sweep,
    latest_crossover,
    load_cells,
    pool_sweeps,
    recent_sweeps,
    sweeps_since,
)
from probes.values import Reason
from tests.support.imported_sweeps import imported
from tests.support.records import a_crossover
from tests.support.stored_sweeps import begun, measured


def test_it_is_the_pool_s_answer_with_its_age_and_its_cells(store: Store) -> None:
    sweep_id = insert_imported(store, imported())
    newest = latest_crossover(store, "chat-70b", "f1")
    assert newest is not None
    assert (newest.sweep_id, newest.measured_at_s, newest.arm_k) == (sweep_id, 900.0, {"off": None, "k3": 3})
    assert newest.result == a_crossover()
    assert len(load_cells(store, sweep_id)) == 2
    record = get_sweep(store, sweep_id)
    assert record is not None
    assert (record.outcome, record.trigger, record.exit_code) == ("measured", "import", 0)
    assert record.plan["files"] == {"aa": "off.json", "bb": "k3.json"}


def test_screens_list_it_and_decisions_about_servers_do_not(store: Store) -> None:
    sweep_id = insert_imported(store, imported())
    assert [sweep.id for sweep in recent_sweeps(store, 10)] == [sweep_id]
    assert pool_sweeps(store, "chat-70b", 10) == []
    assert sweeps_since(store, 0.0) == []


def test_how_fast_servers_were_is_asked_of_sweeps_that_ran_here(store: Store) -> None:
    own = measured(store, begun(store, 10.0, pool="chat-70b"), 50.0, a_crossover(), {})
    imported_id = insert_imported(store, imported())
    newest = [latest_crossover(store, "chat-70b", "f1", ran_here=here) for here in (False, True)]
    assert [found.sweep_id for found in newest if found is not None] == [imported_id, own]


def test_it_does_not_get_in_the_way_of_a_running_sweep(store: Store) -> None:
    running = begun(store, 1000.0, pool="chat-70b")
    insert_imported(store, imported())
    assert [sweep.id for sweep in sweeps_since(store, 0.0)] == [running]


class TestTwice:
    def test_the_same_files_are_refused_and_nothing_is_stored(self, store: Store) -> None:
        first = insert_imported(store, imported())
        with pytest.raises(AlreadyImported, match=f"has these results already, as sweep {first}"):
            insert_imported(store, imported(files={"bb": "renamed.json"}))
        assert len(recent_sweeps(store, 10)) == 1

    def test_more_files_are_another_answer(self, store: Store) -> None:
        insert_imported(store, imported())
        insert_imported(store, imported(files={"aa": "off.json", "bb": "k3.json", "cc": "k5.json"}))
        assert len(recent_sweeps(store, 10)) == 2

    def test_the_same_files_under_other_names_or_for_another_server_are_another_answer(self, store: Store) -> None:
        insert_imported(store, imported(is_whole_sweep=True))
        named = a_crossover()
        named = replace(named, arms={"eagle": replace(named.arms["k3"], arm="eagle")})
        insert_imported(store, imported(result=named, arm_k={"off": None, "eagle": 3}))
        insert_imported(store, imported(is_whole_sweep=True, fingerprint="f2"))
        newest = latest_crossover(store, "chat-70b", "f1")
        assert newest is not None
        assert list(newest.result.arms) == ["eagle"]
        assert latest_crossover(store, "chat-70b", "f2") is not None

    def test_who_stored_them_when_makes_no_difference(self, store: Store) -> None:
        insert_imported(store, imported())
        with pytest.raises(AlreadyImported):
            insert_imported(store, imported(result=replace(a_crossover(), notes=(Reason("imported", "by bob"),))))

    def test_another_pool_may_have_them_too(self, store: Store) -> None:
        insert_imported(store, imported())
        insert_imported(store, imported(pool="chat-8b"))
        assert len(recent_sweeps(store, 10)) == 2

    def test_a_whole_sweep_is_known_by_its_times_however_it_was_written(self, store: Store) -> None:
        first = insert_imported(store, imported(is_whole_sweep=True))
        with pytest.raises(AlreadyImported, match=f"as sweep {first}"):
            insert_imported(store, imported(is_whole_sweep=True, files={"dd": "again.json"}))
