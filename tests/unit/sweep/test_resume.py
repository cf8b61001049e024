"""A sweep goes on after what counts, and only where the plan is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probes.load.shape import LengthShape
from probes.sweep import resume
from probes.sweep.plan import LoadSpec, SweepPlan, cell_order
from probes.sweep.resume import signature, usable
from probes.values import Cell, Reason
from tests.support.plans import arm, plan
from tests.support.sweep_cells import FOREIGN, cell, cell_of

SHAPE = LengthShape((1.0, 2.0), (3.0, 4.0), 500)


@pytest.mark.parametrize(
    "changes",
    [
        {"arms": (arm("off"), arm("k3", "http://127.0.0.1:10"))},
        {"arms": (arm("off"), arm("k5"))},
        {"arms": (arm("off"), replace(arm("k3"), restart="start k3"))},
        {"ladder": (1, 2, 4)},
        {"repeats": 4},
        {"cell_s": 45.0},
        {"load": LoadSpec(max_tokens=65)},
        {"load": LoadSpec(max_tokens=64, temperature=0.5)},
        {"load": LoadSpec(max_tokens=64, shape=SHAPE)},
        {"load": LoadSpec(max_tokens=64, prefix_hit_target=0.3)},
    ],
)
def test_another_plan_has_another_signature(changes: dict[str, Any]) -> None:
    assert signature(plan(**changes)) != signature(plan())


@pytest.mark.parametrize(
    "changes",
    [{"max_minutes": 1.0}, {"max_foreign": 9.0}, {"backoff_s": 9.0}, {"workers": 2}, {"refine_octaves": 1.0}],
)
def test_budgets_and_limits_do_not_matter_to_what_was_measured(changes: dict[str, Any]) -> None:
    assert signature(plan(**changes)) == signature(plan())


def test_cells_whose_clients_began_otherwise_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signature(plan())
    monkeypatch.setattr(resume, "START", "spread over a guess")
    assert signature(plan()) != before


def test_live_prefix_hits_that_move_a_little_do_not_end_a_sweep_and_other_lengths_do() -> None:
    more, longer = replace(SHAPE, requests=900), replace(SHAPE, output_tokens=(3.0, 9.0))
    one, two, other = (
        signature(plan(load=LoadSpec(shape=shape, prefix_hit_target=target)))
        for shape, target in ((SHAPE, 0.31), (more, 0.33), (longer, 0.31))
    )
    assert one == two
    assert one != other


def cells_of(sweep: SweepPlan, *numbers: int) -> list[Cell]:
    slots = cell_order(sweep)
    return [cell_of(slots[number]) for number in numbers]


def test_whole_passes_over_the_arms_are_gone_on_after() -> None:
    sweep = plan(ladder=(1, 2), repeats=2)
    done = cells_of(sweep, 0, 1, 2, 3, 4)
    assert usable(sweep, done) == tuple(done[:4])


def test_of_restarted_arms_every_cell_is() -> None:
    sweep = plan(*(replace(arm(name), restart="start") for name in ("off", "k3")), ladder=(1, 2), repeats=2)
    done = cells_of(sweep, 0, 1, 2)
    assert usable(sweep, done) == tuple(done)


@pytest.mark.parametrize(
    ("code", "again"),
    [
        ("foreign_traffic", True),
        ("client_limit", True),
        ("counter_reset", True),
        ("errors", True),
        ("arm_not_drafting", True),
        ("no_usage", False),
        ("prefix_hits", False),
        ("too_few_tokens", False),
    ],
)
def test_a_void_cell_is_measured_again_where_that_can_help(code: str, again: bool) -> None:
    sweep = plan(ladder=(1,), repeats=1)
    done = [cell("off", 1), cell("k3", 1, order=1, void=(Reason(code, "why"),))]
    assert usable(sweep, done) == (() if again else tuple(done))


def test_a_redone_cell_is_taken_once() -> None:
    sweep = plan(ladder=(1,), repeats=1)
    done = [cell("off", 1), cell("k3", 1, order=1, void=FOREIGN), cell("k3", 1, order=1)]
    assert usable(sweep, done) == (done[0], done[2])


def test_an_arm_that_stopped_climbing_does_not_make_the_rungs_above_incomplete() -> None:
    sweep = plan(ladder=(1, 2), repeats=1)
    limited = (Reason("limited", "full"),)
    done = [cell("off", 1), cell("k3", 1, order=1, notes=limited), cell("off", 2, order=3)]
    assert usable(sweep, done) == tuple(done)


def test_cells_that_refined_are_kept_and_cells_of_arms_that_are_gone_are_not() -> None:
    sweep = plan(ladder=(1,), repeats=1)
    done = [cell("off", 1), cell("k3", 1, order=1), cell("off", 3, order=2), cell("k9", 1, order=3)]
    assert usable(sweep, done) == tuple(done[:3])
