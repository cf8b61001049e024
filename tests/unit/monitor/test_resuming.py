"""A broken-off sweep is gone on with where that is honest, and measured anew everywhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.service.resuming import Resumable, resumable
from monitor.values import SweepRecord
from probes.values import Cell
from tests.support.records import a_cell, sweep_record

HOUR = 3600.0
NOW = 100 * HOUR
BROKEN = sweep_record(
    id=7,
    outcome="aborted",
    ended_by="traffic",
    fingerprint="f1",
    plan={"signature": "s1"},
    started_at_s=NOW - 3 * HOUR,
    ended_at_s=NOW - 2 * HOUR,
)
CELLS: dict[int, tuple[Cell, ...]] = {7: (a_cell("off"), a_cell("k3"))}


def found(*sweeps: SweepRecord, cells: dict[int, tuple[Cell, ...]] = CELLS, **changes: str) -> Resumable | None:
    return resumable(
        sweeps,
        lambda sweep_id: cells.get(sweep_id, ()),
        signature=changes.get("signature", "s1"),
        fingerprint=changes.get("fingerprint", "f1"),
        now_s=NOW,
        within_s=24 * HOUR,
    )


@pytest.mark.parametrize("outcome", ["aborted", "died"])
def test_a_broken_off_sweep_of_the_same_servers_and_plan_is_gone_on_with(outcome: str) -> None:
    broken = replace(BROKEN, outcome=outcome)
    assert found(broken) == Resumable(broken, CELLS[7])


@pytest.mark.parametrize(
    "other",
    [
        replace(BROKEN, fingerprint="f2"),
        replace(BROKEN, fingerprint=""),
        replace(BROKEN, plan={"signature": "s2"}),
        replace(BROKEN, plan={}),
        replace(BROKEN, ended_at_s=NOW - 25 * HOUR),
        replace(BROKEN, tally={"resumable": False}),
        *(replace(BROKEN, outcome=outcome) for outcome in ("measured", "failed", "arm_mismatch", "not_restored")),
    ],
)
def test_anything_else_is_measured_anew(other: SweepRecord) -> None:
    assert found(other) is None


def test_servers_that_do_not_say_what_they_are_are_never_the_same() -> None:
    assert found(replace(BROKEN, fingerprint=""), fingerprint="") is None


def test_refused_tries_and_those_without_a_cell_are_passed_over() -> None:
    refused = replace(BROKEN, id=9, outcome="refused")
    empty = replace(BROKEN, id=8)
    running = replace(BROKEN, id=10, outcome="running")
    assert found(running, refused, empty, BROKEN) == Resumable(BROKEN, CELLS[7])


def test_an_answer_in_between_ends_what_came_before_it() -> None:
    assert found(replace(BROKEN, id=9, outcome="measured"), BROKEN) is None


def test_a_chain_counts_from_its_first_break() -> None:
    first = replace(BROKEN, id=6, ended_at_s=NOW - 25 * HOUR)
    second = replace(BROKEN, resumes=6)
    assert found(second, first) is None
    assert found(second, replace(first, ended_at_s=NOW - 23 * HOUR)) == Resumable(second, CELLS[7])
