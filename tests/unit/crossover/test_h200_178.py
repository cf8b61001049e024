"""Replays two more sweeps that specwatch ran on H200: vLLM with the baseline's front end out of the way, and SGLang."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from probes.answer_values import ArmVerdict, Axis, Crossover, Verdict
from probes.crossover import completed, estimate
from probes.crossover.cells import cells_to_points
from probes.imports.sweep_file import Sweep, read_sweep
from probes.sweep.judge_front_end import FRONT_END, with_front_end
from probes.values import SCALED, Cell

FOLDER = Path(__file__).parents[2] / "data" / "h200" / "streaming"
SWEEPS = ("static-178", "sglang")


@cache
def swept(sweep: str) -> Sweep:
    path = FOLDER / f"{sweep}.json"
    return read_sweep(path, json.loads(path.read_text()))


def cells_of(sweep: str, arm: str) -> list[Cell]:
    return [cell for cell in swept(sweep).cells if cell.arm == arm]


@cache
def answer(sweep: str) -> Crossover:
    cells, arm_k = swept(sweep).cells, swept(sweep).arm_k
    found = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    return with_front_end(completed(found, cells, arm_k), cells)


def codes(verdict: ArmVerdict) -> set[str]:
    return {reason.code for reason in verdict.reasons}


@pytest.mark.parametrize("sweep", SWEEPS)
def test_no_cell_is_void(sweep: str) -> None:
    assert all(cell.valid for cell in swept(sweep).cells)


@pytest.mark.parametrize(
    ("sweep", "name", "between"),
    [("static-178", "k5", (76.0, 86.0)), ("sglang", "k3", (38.0, 44.0))],
)
def test_crossings_are_where_they_were_found(sweep: str, name: str, between: tuple[float, float]) -> None:
    found = answer(sweep).arms[name]
    assert found.verdict is Verdict.CROSSES
    assert found.crossover is not None
    assert found.low is not None
    assert found.high is not None
    assert between[0] < found.crossover < between[1]
    assert found.low < found.crossover < found.high
    assert found.high / found.low < 1.4


def test_a_crossing_where_a_batch_outgrows_the_largest_graph_is_a_step_between_two_rungs() -> None:
    found = answer("static-178").arms["k3"]
    assert found.verdict is Verdict.CROSSES
    assert found.crossover is not None
    assert 128 < found.crossover < 160
    assert found.low == pytest.approx(128, rel=0.001)
    assert found.high == pytest.approx(160, rel=0.001)
    assert "step" in codes(found)


def test_the_schedule_that_was_an_arm_is_said_to_lose_to_arms_of_fixed_length() -> None:
    schedule = answer("static-178").schedule
    assert schedule is not None
    lost = next(reason.text for reason in schedule.reasons if reason.code == "schedule_lost")
    assert "loses to the best arm of fixed length from 16 to 129" in lost
    assert schedule.measured_as is None


def test_the_schedule_drafts_by_load_and_no_speedup_of_it_is_sure() -> None:
    drafted = {
        cell.rung: cell.draft_tokens / cell.drafts
        for cell in cells_of("static-178", "dyn")
        if cell.drafts and cell.draft_tokens
    }
    assert {rung for rung, k in drafted.items() if k > 2.9} == {16, 64}
    assert all(drafted[rung] < 1.2 for rung in (96, 128, 160))
    assert answer("static-178").arms["dyn"].verdict is Verdict.UNCLEAR


def test_with_four_api_servers_no_front_end_is_seen_to_hold_the_baseline_back() -> None:
    assert not any(note.code == FRONT_END for cell in swept("static-178").cells for note in cell.notes)
    assert all(FRONT_END not in codes(found) for found in answer("static-178").arms.values())


def test_steps_are_not_counted_where_several_processes_count_them_and_gaps_between_outputs_stand_in() -> None:
    off = cells_of("static-178", "off")
    assert off
    for cell in off:
        assert cell.steps is None
        assert cell.output_gap_ms is not None
        assert cell.output_gap_ms == pytest.approx(cell.tpot.p50_ms, rel=0.1)
    assert all(cell.steps for cell in cells_of("static-178", "k3"))


def test_sglang_cells_go_by_usage_and_say_what_the_counter_had_too_much() -> None:
    drafting = cells_of("sglang", "k3")
    assert len(drafting) == 6
    for cell in drafting:
        (note,) = (note.text for note in cell.notes if note.code == SCALED)
        assert cell.client_tokens is not None
        assert cell.server_tokens is not None
        too_much = cell.client_tokens / cell.server_tokens - 1
        assert -0.011 < too_much < -0.006
        assert f"usage says {too_much:+.1%} against" in note


def test_sglang_cells_know_what_was_drafted_and_accepted() -> None:
    assert swept("sglang").arm_k == {"off": None, "k3": 3}
    for cell in cells_of("sglang", "k3"):
        assert cell.k == 3
        assert cell.acceptance_length == pytest.approx(2.6, abs=0.05)
    assert all(cell.k is None and cell.drafts is None for cell in cells_of("sglang", "off"))
    assert answer("sglang").acceptance["k3"] == pytest.approx(2.6, abs=0.05)


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_step_time_model_is_fitted(sweep: str) -> None:
    found = answer(sweep)
    assert found.notes == ()
    assert found.step_model is not None
    assert found.step_model.rms < 0.06
    assert found.step_model.arms["k3"].acceptance_length == pytest.approx(2.62, abs=0.02)
