"""A front end that holds requests back is said, in the cell and in the answer; long prompts are not taken for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from monitor.store.codec import from_text
from probes import imports
from probes.answer_values import Axis, Crossover
from probes.crossover import cells_to_points, estimate
from probes.sweep.answer import Refining, finished
from probes.sweep.assemble import assemble
from probes.sweep.judge_front_end import FRONT_END, FRONT_ENDS_DIFFER, outside_share, with_front_end
from probes.values import Cell
from tests.support.evidence import evidence, with_pages
from tests.support.plans import plan

STREAMING = Path(__file__).parents[2] / "data" / "h200" / "streaming"


def cells(name: str) -> list[Cell]:
    document: Mapping[str, Any] = json.loads((STREAMING / f"{name}.json").read_text())
    return [from_text(Cell, json.dumps(cell)) for cell in document["cells"]]


def held_back(name: str) -> set[tuple[str, int]]:
    return {(cell.arm, cell.rung) for cell in cells(name) if outside_share(cell) is not None}


def test_the_one_api_server_of_a_real_vllm_is_seen_where_it_was_full() -> None:
    assert held_back("static") == {("off", 192), ("off", 256)}


def test_the_same_on_the_other_gpu_at_temperature_0() -> None:
    assert held_back("temperature-0") == {("off", 192)}


def test_a_server_with_several_api_servers_is_judged_by_the_gaps_between_outputs() -> None:
    full = next(cell for cell in cells("static") if (cell.arm, cell.rung) == ("off", 256))
    assert full.steps is not None
    assert full.window_s is not None
    step_ms = 1000 * full.window_s / full.steps
    uncounted = replace(full, steps=None)

    assert outside_share(replace(uncounted, output_gap_ms=step_ms)) == outside_share(full)
    assert outside_share(replace(uncounted, output_gap_ms=20 * step_ms)) is None, "then TTFT is a few steps only"
    assert outside_share(uncounted) is None


def test_prompts_that_take_several_steps_are_not_a_front_end() -> None:
    assert not {(arm, rung) for arm, rung in held_back("second-mix") if rung < 96}


def test_one_client_between_two_requests_is_not_a_front_end() -> None:
    assert all(rung > 1 for name in ("static", "second-mix") for _, rung in held_back(name))


def answer(name: str, *, refine_octaves: float = 0.3) -> Crossover:
    found = cells(name)
    whole = estimate(cells_to_points(found), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    return finished(plan(refine_octaves=refine_octaves), whole, found, Refining())


@pytest.mark.parametrize("refine_octaves", [0.3, 0.0], ids=["refined", "the ladder only"])
def test_the_answer_says_from_where_the_baseline_was_held_back(refine_octaves: float) -> None:
    arms = answer("static", refine_octaves=refine_octaves).arms
    said = {arm: [r.text for r in v.reasons if r.code == FRONT_END] for arm, v in arms.items()}
    assert all(len(texts) == 1 and "off from 256 concurrent" in texts[0] for texts in said.values())


@pytest.mark.parametrize(("name", "code"), [("static", FRONT_END), ("static-178", FRONT_ENDS_DIFFER)])
def test_results_that_are_read_again_say_it_too(name: str, code: str) -> None:
    arms = imports.answer(imports.read_results([STREAMING / f"{name}.json"])).arms
    assert all(code in {reason.code for reason in arms[arm].reasons} for arm in arms)


def test_an_answer_without_such_cells_says_nothing_of_it() -> None:
    assert not [r for v in answer("poor-acceptance").arms.values() for r in v.reasons if r.code == FRONT_END]


def differing(found: list[Cell]) -> dict[str, list[str]]:
    whole = estimate(cells_to_points(found), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    arms = with_front_end(whole, found).arms
    return {arm: [r.text for r in v.reasons if r.code == FRONT_ENDS_DIFFER] for arm, v in arms.items()}


def test_an_arm_with_another_number_of_api_servers_than_the_baseline_is_said_to_compare_them_too() -> None:
    found = cells("static-178")
    said = differing(found)
    assert set(said) == {"k3", "k5", "dyn"}
    assert all(texts and "off runs several API server processes" in texts[0] for texts in said.values())
    swapped = [replace(cell, arm={"off": "k3", "k3": "off"}.get(cell.arm, cell.arm)) for cell in found]
    assert "k3 runs several API server processes and off a single one" in differing(swapped)["k3"][0]


@pytest.mark.parametrize("name", ["static-178", "sglang", "static"])
def test_like_front_ends_and_such_as_no_page_tells_of_are_not(name: str) -> None:
    one = [replace(cell, steps=None) if name == "static-178" else cell for cell in cells(name)]
    assert differing(one) == {arm: [] for arm in {cell.arm for cell in one} - {"off"}}


@pytest.mark.parametrize("running", [4.0, 3.9])
def test_a_sound_cell_carries_no_such_note(running: float) -> None:
    cell = assemble(with_pages(evidence(), running=running))
    assert FRONT_END not in [note.code for note in cell.notes]
