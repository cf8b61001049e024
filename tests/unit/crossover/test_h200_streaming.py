"""Replays the streaming sweeps that specwatch ran on H200: the answers an operator was given there must not wander."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from probes.answer_values import ArmVerdict, Axis, Crossover, Verdict
from probes.crossover import completed, estimate, speedup_at
from probes.crossover.cells import cells_to_points
from probes.imports.sweep_file import read_sweep
from probes.steptime.adjust import adjusted
from probes.values import Cell

FOLDER = Path(__file__).parents[2] / "data" / "h200" / "streaming"
SWEEPS = ("static", "static-again", "poor-acceptance", "second-mix", "temperature-0")
ASKED = {
    "k1": (0.72,),
    "k3": (0.72, 0.52, 0.38),
    "k5": (0.72, 0.52, 0.38, 0.28, 0.20),
    "k3poor": (0.45, 0.20, 0.09),
}
"""Acceptance by position that the servers were told to have."""


@cache
def cells_of(sweep: str) -> tuple[Cell, ...]:
    path = FOLDER / f"{sweep}.json"
    return read_sweep(path, json.loads(path.read_text())).cells


@cache
def answer(sweep: str) -> Crossover:
    return estimate(cells_to_points(cells_of(sweep)), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)


def arm(sweep: str, name: str) -> ArmVerdict:
    return answer(sweep).arms[name]


@pytest.mark.parametrize(
    ("sweep", "name", "between"),
    [
        ("static", "k5", (76.0, 90.0)),
        ("poor-acceptance", "k3poor", (58.0, 70.0)),
        ("second-mix", "k3poor", (42.0, 64.0)),
        ("temperature-0", "k3", (140.0, 175.0)),
    ],
)
def test_crossings_are_where_the_means_cross(sweep: str, name: str, between: tuple[float, float]) -> None:
    found = arm(sweep, name)
    assert found.verdict is Verdict.CROSSES
    assert found.crossover is not None
    assert between[0] < found.crossover < between[1]
    assert found.low is not None
    assert found.low < found.crossover
    assert found.high is None or found.high > found.crossover


def test_poor_acceptance_moves_the_crossing_below_every_crossing_at_good_acceptance() -> None:
    poor = arm("poor-acceptance", "k3poor")
    good = arm("static", "k3")
    assert poor.high is not None
    assert good.low is not None
    assert poor.high < good.low


@pytest.mark.parametrize(("sweep", "name", "top"), [("static", "k1", 256), ("second-mix", "k3", 96)])
def test_an_arm_that_never_lost_is_faster_up_to_the_highest_measured(sweep: str, name: str, top: float) -> None:
    found = arm(sweep, name)
    assert found.verdict is Verdict.ALWAYS_FASTER
    assert found.crossover is None
    assert found.low == pytest.approx(top, rel=0.01)
    assert found.high is None


def test_an_arm_that_only_ties_above_its_gain_gets_no_crossing_and_keeps_the_edge_of_its_gain() -> None:
    found = arm("static", "k3")
    assert found.verdict is Verdict.UNCLEAR
    assert found.crossover is None
    assert found.low is not None
    assert 96 < found.low < 145


def test_the_step_where_a_batch_outgrows_the_largest_cuda_graph_is_inside_the_interval() -> None:
    found = arm("static", "k5")
    assert found.low is not None
    assert found.high is not None
    assert found.low < 512 / 6 < found.high * 1.05


def test_no_cell_is_void_and_none_met_a_limit_or_a_busy_client() -> None:
    for cell in (cell for sweep in SWEEPS for cell in cells_of(sweep)):
        assert cell.valid, cell.void
        assert not cell.limited
        assert cell.loop_lag_p99_ms is not None
        assert cell.loop_lag_p99_ms < 2
        assert cell.client_cpu_share is not None
        assert cell.client_cpu_share < 0.3


@pytest.mark.parametrize("name", ASKED)
def test_acceptance_by_position_is_what_the_servers_were_told(name: str) -> None:
    drafting = [cell for sweep in SWEEPS for cell in cells_of(sweep) if cell.arm == name and cell.rung >= 8]
    assert drafting
    drafts = sum(cell.drafts or 0.0 for cell in drafting)
    for position, asked in enumerate(ASKED[name]):
        accepted = sum((cell.drafts or 0.0) * cell.accepted_per_pos[position] for cell in drafting)
        assert accepted / drafts == pytest.approx(asked, abs=0.003)


def test_a_dynamic_schedule_is_seen_to_draft_less_at_high_load() -> None:
    k = {point.concurrency: point.k for point in cells_to_points(cells_of("poor-acceptance")) if point.arm == "dyn"}
    assert all(drafts == pytest.approx(3, abs=0.05) for at, drafts in k.items() if at < 66 and drafts is not None)
    assert all(drafts < 1.2 for at, drafts in k.items() if at > 90 and drafts is not None)


def test_a_loss_that_is_no_verdict_yet_is_not_called_smaller_than_the_noise() -> None:
    tie = next(r.text for r in arm("static-again", "k5").reasons if r.code == "near_tie")
    assert "23.8% slower, at 96" in tie
    assert "less than the noise" not in tie


@pytest.mark.parametrize("sweep", SWEEPS)
def test_no_best_range_is_the_width_of_a_line(sweep: str) -> None:
    assert all(best.end > 1.04 * best.start for best in answer(sweep).best)


def test_the_answer_moved_to_a_poorer_draft_meets_the_sweep_that_measured_one() -> None:
    swept = completed(answer("static"), cells_of("static"), {})
    measured = arm("poor-acceptance", "k3poor")
    moved = adjusted(swept, "k3", acceptance_length=1.0 + sum(ASKED["k3poor"]), mix=None)
    assert measured.crossover is not None
    assert moved.low is not None
    assert moved.high is not None
    assert moved.low < measured.crossover < moved.high
    assert moved.crossover == pytest.approx(measured.crossover, rel=0.1)
    for point in measured.speedup:
        as_of_now = speedup_at(moved, point.concurrency)
        assert as_of_now is not None
        assert as_of_now.low < point.ratio < as_of_now.high
        assert as_of_now.ratio == pytest.approx(point.ratio, rel=0.07)
