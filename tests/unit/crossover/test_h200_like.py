"""Replays three H200 sweeps whose arms all had four API server processes: like front ends, three mixes of requests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from probes.answer_values import ArmVerdict, Crossover, Verdict
from probes.sweep.judge_front_end import FRONT_END, FRONT_ENDS_DIFFER, with_front_end
from probes.values import Cell
from tests.support.alert_replay import answer as stored_answer
from tests.support.alert_replay import swept_in

FOLDER = Path(__file__).parents[2] / "data" / "h200" / "streaming"
LIKE = ("static-like", "mix-1284", "mix-1024")


def cells_of(sweep: str) -> tuple[Cell, ...]:
    return swept_in(FOLDER / f"{sweep}.json").cells


@cache
def answer(sweep: str) -> Crossover:
    return with_front_end(stored_answer(FOLDER / f"{sweep}.json").result, cells_of(sweep))


def codes(verdict: ArmVerdict) -> set[str]:
    return {reason.code for reason in verdict.reasons}


@pytest.mark.parametrize("sweep", LIKE)
def test_no_cell_is_void_and_no_front_end_is_spoken_of(sweep: str) -> None:
    assert all(cell.valid for cell in cells_of(sweep))
    for found in answer(sweep).arms.values():
        assert not codes(found) & {FRONT_END, FRONT_ENDS_DIFFER}


@pytest.mark.parametrize("sweep", LIKE)
def test_a_step_time_model_is_fitted_where_no_page_counts_steps(sweep: str) -> None:
    found = answer(sweep)
    assert all(cell.steps is None for cell in cells_of(sweep))
    assert found.step_model is not None
    assert found.step_model.rms < 0.045
    assert found.acceptance["k3"] == pytest.approx(2.62, abs=0.01)


@pytest.mark.parametrize(
    ("sweep", "sure", "top"), [("static-like", 151.3, 160.0), ("mix-1284", 73.5, 80.0), ("mix-1024", 64.0, 64.0)]
)
def test_good_drafts_do_not_cross_where_the_front_ends_are_alike(sweep: str, sure: float, top: float) -> None:
    found = answer(sweep).arms["k3"]
    assert found.verdict is Verdict.ALWAYS_FASTER
    assert found.crossover is None
    assert found.high is None
    assert found.low == pytest.approx(sure, rel=0.01)
    assert found.speedup[-1].concurrency == pytest.approx(top, rel=0.01)
    assert found.speedup[-1].ratio > 1
    assert "open_high" in codes(found)


def test_the_same_mix_with_a_larger_front_end_for_the_baseline_alone_had_a_crossing_and_a_word_of_it() -> None:
    unlike = answer("static-178").arms["k3"]
    assert unlike.verdict is Verdict.CROSSES
    assert FRONT_ENDS_DIFFER in codes(unlike)


def test_poor_drafts_cross_inside_the_ladder_and_the_interval_stays_open_above() -> None:
    found = answer("mix-1024").arms["poor"]
    assert found.verdict is Verdict.CROSSES
    assert found.crossover == pytest.approx(52.5, rel=0.02)
    assert found.low == pytest.approx(42, rel=0.02)
    assert found.high is None
    assert answer("mix-1024").acceptance["poor"] == pytest.approx(1.74, abs=0.01)


def test_longer_prompts_take_the_gain_away_sooner() -> None:
    """At 64 concurrent: 178 + 256 tokens, and 1,024 + 128."""
    short, longer = (
        next(p.ratio for p in answer(sweep).arms["k3"].speedup if abs(p.concurrency - 64) < 1)
        for sweep in ("static-like", "mix-1024")
    )
    assert short == pytest.approx(1.28, abs=0.02)
    assert longer == pytest.approx(1.05, abs=0.02)
