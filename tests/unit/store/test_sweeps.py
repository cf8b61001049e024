"""Sweeps, cells and answers in the store."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.store.codec import from_text, to_text
from monitor.store.db import Store, open_store
from monitor.store.sweeps import (
    SweepRunning,
    add_cell,
    begin_sweep,
    end_sweep,
    get_sweep,
    latest_crossover,
    load_cells,
    mark_died,
    pool_sweeps,
    recent_sweeps,
    running_sweeps,
    set_fingerprint,
    set_progress,
    set_resumes,
)
from monitor.values import StoredCrossover, SweepProgress
from probes.answer_values import Crossover
from probes.values import Cell, Reason
from tests.support.records import a_cell, a_crossover

WHO: dict[str, Any] = {
    "endpoint": "chat", "trigger": "command", "who": "ana", "pid": 4242, "host": "gpu1", "baseline": "off",
    "live_arm": "k3", "plan": {"ladder": [1, 2, 4], "cell_s": 45.0},
}  # fmt: skip


def begin(store: Store, pool: str = "chat-70b", started_at_s: float = 100.0) -> int:
    return begin_sweep(store, pool=pool, started_at_s=started_at_s, **WHO)


def end(store: Store, sweep_id: int, ended_at_s: float = 900.0, fingerprint: str = "f1", **fields: Any) -> None:
    plain: dict[str, Any] = {
        "outcome": "measured", "reason": "", "exit_code": 0, "result": a_crossover(), "arm_k": {"off": None, "k3": 3},
    }  # fmt: skip
    end_sweep(store, sweep_id, ended_at_s=ended_at_s, fingerprint=fingerprint, **{**plain, **fields})


def test_the_life_of_a_sweep(store: Store) -> None:
    sweep = begin(store)
    record = get_sweep(store, sweep)
    assert record is not None
    assert (record.outcome, record.pid, record.plan) == ("running", 4242, {"ladder": [1, 2, 4], "cell_s": 45.0})
    assert record.progress is None
    set_progress(store, sweep, SweepProgress("cells", 3, 56, "k3", 4, 1, 600.0))
    add_cell(store, sweep, a_cell(order=1))
    add_cell(store, sweep, a_cell("off", order=0, void=(Reason("foreign", "Somebody else sent requests."),)))
    end(store, sweep)
    record = get_sweep(store, sweep)
    assert record is not None
    assert record.progress == SweepProgress("cells", 3, 56, "k3", 4, 1, 600.0)
    assert (record.outcome, record.exit_code, record.ended_at_s, record.result) == ("measured", 0, 900.0, a_crossover())
    assert [(c.arm, c.valid) for c in load_cells(store, sweep)] == [("off", False), ("k3", True)]


def test_a_pool_has_one_running_sweep_whatever_the_callers_checked(store: Store) -> None:
    first = begin(store)
    with pytest.raises(SweepRunning, match=f"sweep {first} of pool chat-70b is already running .pid 4242 on gpu1"):
        begin(store)
    begin(store, pool="code")
    mark_died(store, first, 200.0)
    second = begin(store)
    assert [s.pool for s in running_sweeps(store)] == ["code", "chat-70b"]
    assert second > first


def test_a_dead_sweep_says_so_and_an_ended_one_is_left_alone(store: Store) -> None:
    dead, ended = begin(store), begin(store, pool="code")
    end(store, ended)
    mark_died(store, dead, 300.0)
    mark_died(store, ended, 300.0)
    outcomes = {s.id: (s.outcome, s.ended_at_s) for s in recent_sweeps(store, 10)}
    assert outcomes == {dead: ("died", 300.0), ended: ("measured", 900.0)}


def test_a_refusal_is_a_sweep_with_its_reason(store: Store) -> None:
    refused = begin(store)
    end(store, refused, outcome="refused", reason="12 requests are in the system", exit_code=3, result=None)
    record = get_sweep(store, refused)
    assert record is not None
    assert (record.outcome, record.reason, record.exit_code) == ("refused", "12 requests are in the system", 3)
    assert running_sweeps(store) == []


def test_newest_first(store: Store) -> None:
    for at_s in (10.0, 30.0, 20.0):
        end(store, begin(store, started_at_s=at_s), ended_at_s=at_s + 1)
    assert [s.started_at_s for s in recent_sweeps(store, 2)] == [30.0, 20.0]


def test_the_newest_answer_of_the_same_server_counts(store: Store) -> None:
    for fingerprint, ended in (("f1", 100.0), ("f2", 200.0), ("f1", 150.0)):
        end(store, begin(store), ended_at_s=ended, fingerprint=fingerprint)
    end(store, begin(store), ended_at_s=300.0, outcome="aborted", result=None, exit_code=4)
    same = latest_crossover(store, "chat-70b", "f1")
    assert same == StoredCrossover(3, "chat-70b", "f1", 150.0, a_crossover(), {"off": None, "k3": 3}, "k3")
    newest = latest_crossover(store, "chat-70b", None)
    assert newest is not None
    assert newest.fingerprint == "f2"
    assert latest_crossover(store, "chat-70b", "f3") is None
    assert latest_crossover(store, "code", None) is None


@settings(max_examples=50)
@given(cell=st.from_type(Cell))
def test_any_cell_comes_back_exactly(cell: Cell) -> None:
    text = to_text(cell)
    if "NaN" not in text:
        assert from_text(Cell, text) == cell
    assert to_text(from_text(Cell, text)) == text


def test_a_cell_comes_back_from_the_file_exactly() -> None:
    cell = a_cell(notes=(Reason("client_tokens", "The server's counter did not move."),), output_tok_s=0.1 + 0.2)
    with TemporaryDirectory() as folder, open_store(Path(folder) / "x.db") as store:
        sweep = begin(store)
        add_cell(store, sweep, cell)
        assert load_cells(store, sweep) == [cell]


def test_a_value_may_gain_and_lose_fields_between_versions() -> None:
    text = to_text(a_crossover()).replace('"baseline":', '"from_the_future":1,"baseline":')
    assert from_text(Crossover, text) == a_crossover()
    shorter = to_text(a_crossover()).rsplit(',"best":', 1)[0] + "}"
    assert from_text(Crossover, shorter).best == ()


def test_a_text_that_is_no_value_is_an_error_with_its_name() -> None:
    with pytest.raises(ValueError, match="stored Cell cannot be read"):
        from_text(Cell, '{"arm": "k3"}')


def test_a_sweep_that_goes_on_with_another_has_its_cells_and_says_whose(store: Store) -> None:
    first = begin(store)
    add_cell(store, first, a_cell("off", order=0))
    mark_died(store, first, 200.0)
    second = begin(store)
    set_resumes(store, second, first, load_cells(store, first))
    add_cell(store, second, a_cell("k3", order=1))
    record = get_sweep(store, second)
    assert record is not None
    assert record.resumes == first
    assert [c.arm for c in load_cells(store, second)] == ["off", "k3"]
    assert [c.arm for c in load_cells(store, first)] == ["off"]


def test_the_servers_of_a_dead_sweep_are_known_and_an_end_without_them_keeps_them(store: Store) -> None:
    dead = begin(store)
    set_fingerprint(store, dead, "f7")
    mark_died(store, dead, 200.0)
    ended = begin(store)
    set_fingerprint(store, ended, "f8")
    end(store, ended, fingerprint="", outcome="aborted", result=None, ended_by="traffic", tally={"tokens": 12})
    begin(store, pool="code", started_at_s=500.0)
    newest = pool_sweeps(store, "chat-70b", 5)
    assert [(s.id, s.fingerprint) for s in newest] == [(ended, "f8"), (dead, "f7")]
    assert (newest[0].ended_by, newest[0].tally) == ("traffic", {"tokens": 12})
