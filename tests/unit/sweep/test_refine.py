"""Refinement spends its cells where they narrow the crossover, and knows when they cannot."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from probes.answer_values import Crossover, Verdict
from probes.sweep.answer import Refining, answer, with_refining
from probes.sweep.plan import SweepPlan, cell_order
from probes.sweep.refine import (
    between_runs_share,
    cells_left,
    is_dominated,
    next_round,
    refined,
    too_wide,
    width_octaves,
)
from probes.values import Cell
from tests.support.plans import arm, plan
from tests.support.sweep_cells import FOREIGN, cell_of

LADDER = (1, 4, 16, 64, 256)
AT = 30.0


class Lab:
    """A server whose k3 crosses at AT and bends there, measured with noise; `engines` share the clients."""

    def __init__(
        self,
        *,
        slope: float = 0.25,
        noise: float = 0.01,
        at: float = AT,
        engines: int = 1,
        bounds: tuple[float, float] = (-1.5, 2.5),
    ) -> None:
        self.rng = np.random.default_rng(5)
        self.slope, self.noise, self.at, self.engines, self.bounds = slope, noise, at, engines, bounds

    def measure(self, slot: Any) -> Cell:
        x = 0.97 * slot.rung / self.engines
        log_y = math.log(200 * x / (1 + x / 80)) + self.rng.normal(0, self.noise)
        if slot.arm == "k3":
            log_y -= self.slope * min(max(math.log2(x / self.at), self.bounds[0]), self.bounds[1])
        return cell_of(slot, concurrency=x, output_tok_s=math.exp(log_y) * self.engines, engine_count=self.engines)


def sweep_of(**changes: Any) -> SweepPlan:
    return plan(**{"ladder": LADDER, "repeats": 4, "refine_octaves": 0.4, **changes})


def ladder_of(sweep: SweepPlan, lab: Lab) -> list[Cell]:
    return [lab.measure(slot) for slot in cell_order(sweep)]


def refine(sweep: SweepPlan, lab: Lab) -> tuple[list[Cell], list[int], Crossover]:
    """The whole refinement, as a sweep does it; cells, the rungs in order, the last answer."""
    cells = ladder_of(sweep, lab)
    rungs: list[int] = []
    while True:
        found = answer(sweep, cells, {})
        round_ = next_round(sweep, cells, found, 1 + max(c.order for c in cells), 100)
        if round_ is None or len(round_.slots) > cells_left(sweep, cells):
            return cells, rungs, found
        rungs.append(round_.rung)
        cells += [lab.measure(slot) for slot in round_.slots]


def test_it_measures_on_the_crossing_first_then_half_way_to_the_rungs_beside_it() -> None:
    _, rungs, _ = refine(sweep_of(), Lab())
    assert rungs[0] == pytest.approx(AT / 0.97, rel=0.25)
    assert all(16 < rung < 64 for rung in rungs)
    assert all(abs(math.log(a / b)) > 0.1 for a, b in pairwise(sorted(set(rungs))))


def test_it_narrows_the_interval_and_keeps_the_truth_inside() -> None:
    sweep = sweep_of()
    cells, rungs, found = refine(sweep, Lab())
    before, after = (
        width_octaves(one.arms["k3"]) for one in (answer(sweep, cells[: len(cell_order(sweep))], {}), found)
    )
    assert before is not None
    assert after is not None
    assert rungs
    assert after < 0.8 * before
    verdict = found.arms["k3"]
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low <= AT <= verdict.high


def test_an_open_interval_is_repeated_and_not_lost_among_more_ties() -> None:
    sweep = sweep_of(ladder=(2, 8, 32), repeats=2, refine_octaves=0.3)
    seen = 0
    for seed in range(120):
        lab = Lab(slope=0.05, noise=0.03, at=9.0)
        lab.rng = np.random.default_rng(seed)
        cells, rungs, found = refine(sweep, lab)
        before = answer(sweep, cells[: len(cell_order(sweep))], {}).arms["k3"]
        if before.verdict is Verdict.CROSSES and (before.low is None or before.high is None) and rungs:
            seen += 1
            assert rungs[0] in sweep.ladder
            assert found.arms["k3"].verdict is Verdict.CROSSES
    assert seen >= 5


def test_a_step_is_narrowed_however_well_its_rungs_are_known() -> None:
    """Its interval is the gap between two rungs, whose own bands are as narrow as two runs allow."""
    sweep = sweep_of(ladder=(1, 2, 4, 8, 16, 32, 64), repeats=6)
    lab = Lab(slope=40.0, noise=0.003, at=22.0, bounds=(-0.006, 0.006))
    before = answer(sweep, ladder_of(sweep, lab), {}).arms["k3"]
    assert "step" in [reason.code for reason in before.reasons]
    _, rungs, found = refine(sweep, lab)
    verdict = found.arms["k3"]
    assert rungs
    assert all(16 < rung < 32 for rung in rungs[:2])
    assert (width_octaves(verdict) or 9.0) < 0.7 * (width_octaves(before) or 0.0)
    assert (verdict.low or 0.0) <= 22 <= (verdict.high or math.inf)


def test_each_round_is_a_palindrome_of_the_arm_and_the_baseline_with_repeats_of_their_own() -> None:
    sweep, lab = sweep_of(arms=(arm("off"), arm("k1"), arm("k3"))), Lab()
    cells, _, _ = refine(sweep, lab)
    added = refined(sweep, cells)
    rounds = [added[i : i + 4] for i in range(0, len(added), 4)]
    assert rounds
    assert all([c.arm for c in one] == ["off", "k3", "k3", "off"] for one in rounds)
    assert max(Counter((c.arm, c.rung, c.repeat) for c in cells).values()) == 1
    assert [c.order for c in cells] == list(range(len(cells)))


def test_it_never_adds_more_cells_than_the_ladder_had() -> None:
    sweep = sweep_of(refine_octaves=0.01, ladder=(16, 64), repeats=2)
    cells, _, found = refine(sweep, Lab(noise=0.03))
    assert too_wide(sweep, found.arms["k3"])
    assert len(refined(sweep, cells)) <= len(cell_order(sweep))
    assert cells_left(sweep, cells) < 4


def test_it_adds_nothing_once_two_runs_of_a_server_differ_by_more_than_cells_do() -> None:
    sweep = sweep_of(refine_octaves=0.01, ladder=(8, 12, 16, 24, 32, 48, 64, 96), repeats=16)
    lab = Lab(noise=0.004, slope=0.1)
    cells = ladder_of(sweep, lab)
    found = answer(sweep, cells, {})
    share = between_runs_share(found.arms["k3"])
    assert share is not None
    assert 0.85 <= share <= 1.0
    assert is_dominated(found.arms["k3"])
    assert next_round(sweep, cells, found, 0, 0) is None
    (reason,) = [
        r for r in with_refining(sweep, found, cells, Refining(found)).arms["k3"].reasons if r.code == "refine_stopped"
    ]
    assert "two runs of one server differ" in reason.text


def test_a_narrow_interval_and_a_plan_that_wants_none_are_left_alone() -> None:
    sweep, lab = sweep_of(refine_octaves=6.0), Lab()
    cells = ladder_of(sweep, lab)
    found = answer(sweep, cells, {})
    assert next_round(sweep, cells, found, 0, 0) is None
    assert next_round(replace(sweep, refine_octaves=0.0), cells, found, 0, 0) is None
    assert next_round(replace(sweep, refine_octaves=0.4), cells, found, 0, 0) is not None


def test_an_arm_that_does_not_cross_is_not_refined() -> None:
    sweep, lab = sweep_of(), Lab(at=1e6)
    cells = ladder_of(sweep, lab)
    found = answer(sweep, cells, {})
    assert found.arms["k3"].verdict is Verdict.ALWAYS_FASTER
    assert next_round(sweep, cells, found, 0, 0) is None


def test_with_several_engines_the_rung_is_their_clients_together() -> None:
    sweep, lab = sweep_of(), Lab(engines=2, at=AT / 2)
    cells = ladder_of(sweep, lab)
    round_ = next_round(sweep, cells, answer(sweep, cells, {}), 0, 0)
    assert round_ is not None
    assert round_.rung == pytest.approx(AT / 0.97, rel=0.25)


def test_where_no_new_rung_fits_the_least_repeated_one_is_repeated() -> None:
    sweep, lab = sweep_of(ladder=(2, 3, 4), repeats=2), Lab(at=2.9, noise=0.03)
    cells = ladder_of(sweep, lab)
    round_ = next_round(sweep, cells, answer(sweep, cells, {}), 12, 0)
    assert round_ is not None
    assert round_.rung in (2, 3, 4)
    assert [slot.repeat for slot in round_.slots] == [2, 2, 3, 3]


def test_void_cells_are_no_measurement_of_a_rung() -> None:
    sweep, lab = sweep_of(), Lab()
    cells = ladder_of(sweep, lab)
    first = next_round(sweep, cells, answer(sweep, cells, {}), 0, 0)
    assert first is not None
    void = [replace(lab.measure(slot), void=FOREIGN) for slot in first.slots]
    again = next_round(sweep, [*cells, *void], answer(sweep, [*cells, *void], {}), 0, 0)
    assert again is not None
    assert again.rung == first.rung
    assert {slot.repeat for slot in again.slots} == {2, 3}


def test_a_restarted_arm_measures_the_rungs_beside_on_the_same_start() -> None:
    arms = tuple(replace(arm(name), restart="start") for name in ("off", "k3"))
    sweep, lab = sweep_of(arms=arms), Lab()
    cells = ladder_of(sweep, lab)
    round_ = next_round(sweep, cells, answer(sweep, cells, {}), 40, 8)
    assert round_ is not None
    passes = [[s for s in round_.slots if s.start == start] for start in (8, 9, 10, 11)]
    assert [{s.arm for s in one} for one in passes] == [{"off"}, {"k3"}, {"k3"}, {"off"}]
    assert all([s.rung for s in one] == [16, round_.rung, 64] for one in passes)


def test_the_answer_says_what_refining_came_to() -> None:
    sweep = sweep_of()
    cells, _, found = refine(sweep, Lab())
    before = answer(sweep, cells[: len(cell_order(sweep))], {})
    told = with_refining(sweep, found, cells, Refining(before, "the minutes were over")).arms["k3"]
    (refined_,) = [r for r in told.reasons if r.code == "refined"]
    assert "more cells of k3 at " in refined_.text
    assert "octaves" in refined_.text
    wide = with_refining(
        replace(sweep, refine_octaves=0.05), before, cells[:40], Refining(before, "the minutes ran out")
    )
    (stopped,) = [r for r in wide.arms["k3"].reasons if r.code == "refine_stopped"]
    assert "0.05 were wanted" in stopped.text
    assert "the minutes ran out" in stopped.text


def test_capacity_is_what_was_sustained_below_the_top_and_names_what_ended_the_climb() -> None:
    sweep, lab = sweep_of(), Lab()
    cells = [replace(c, running_mean=c.concurrency) for c in ladder_of(sweep, lab) if c.rung <= 64 or c.arm == "off"]
    capacity = answer(sweep, cells, {"k3": (64, "ttft")}).arms["k3"].capacity
    assert capacity is not None
    assert capacity.limited_by == "ttft"
    assert capacity.running == pytest.approx(0.97 * 16)
    on_top = answer(sweep, cells, {"k3": (1, "ttft")}).arms["k3"].capacity
    assert on_top is not None
    assert on_top.limited_by == "ttft"
