"""Replays two sweeps of real vLLM on a CPU, whose n-gram drafter often proposes fewer tokens than it may."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from monitor.moved_curves import moved_result
from probes.answer_values import Crossover
from probes.crossover import from_json, speedup_at, to_json
from probes.imports.sweep_file import read_sweep
from probes.steptime.adjust import adjusted
from probes.steptime.break_even import break_even
from probes.steptime.values import Mix
from probes.values import Cell
from tests.support.formula_sweeps import answer as joint_answer

FOLDER = Path(__file__).parents[2] / "data" / "cpu"
SHORT, LONG = "ngram-139+128", "ngram-770+32"
BETWEEN = Mix(356.0, 64.0)


def cells(name: str) -> Sequence[Cell]:
    path = FOLDER / f"{name}.json"
    return read_sweep(path, json.loads(path.read_text())).cells


@cache
def answer(name: str, *earlier: str) -> Crossover:
    return joint_answer(cells(name), [cells(one) for one in earlier])


def codes(found: Crossover, acceptance_length: float, mix: Mix | None = None, k: float | None = None) -> set[str]:
    return {r.code for r in adjusted(found, "ngram", acceptance_length=acceptance_length, mix=mix, k=k).reasons}


def test_drafts_that_are_often_short_do_not_make_a_full_one_impossible() -> None:
    """Swept at 3.65 drafted a step; short prompts then brought 4.8 tokens a step of 3.9 drafted, which K = 4 allows."""
    model = answer(LONG).step_model
    assert model is not None
    assert model.arms["ngram"].k == pytest.approx(3.65, abs=0.02)
    assert "acceptance_impossible" not in codes(answer(LONG), 4.8)
    assert "acceptance_impossible" not in codes(answer(LONG), 4.8, k=3.9)
    assert "acceptance_impossible" in codes(answer(LONG), 5.2)


def swept_at(k: float) -> Crossover:
    """The same sweep, had its drafts been so long on average."""
    found = answer(LONG)
    assert found.step_model is not None
    arms = found.step_model.arms
    arm = replace(arms["ngram"], k=k, acceptance_length=min(2.5, k))
    return replace(found, step_model=replace(found.step_model, arms={**arms, "ngram": arm}))


@pytest.mark.parametrize(
    ("swept_k", "k", "k_most", "code"),
    [
        (2.9, 3.1, 4, "as_of_now"),
        (3.02, 3.06, 4, "as_of_now"),
        (3.2, 3.75, 4, "as_of_now"),
        (3.0, 4.0, 4, "as_of_now"),
        (3.0, 4.0, 3, "acceptance_impossible"),
        (3.0, 4.0, None, "acceptance_impossible"),
        (2.6, 3.0, None, "as_of_now"),
        (1.5, 7.5, 8, "drafts_not_covered"),
    ],
)
def test_what_the_server_is_configured_for_bounds_the_drafts_and_what_was_swept_the_answer(
    swept_k: float, k: float, k_most: int | None, code: str
) -> None:
    now = adjusted(swept_at(swept_k), "ngram", acceptance_length=2.6, mix=None, k=k, k_most=k_most)
    assert now.reasons[0].code == code


def test_the_break_even_is_of_the_drafts_of_now() -> None:
    short, long = (break_even(answer(LONG), "ngram", 16.0, None, k) for k in (3.2, 4.0))
    assert short is not None
    assert long is not None
    assert short.ratio < long.ratio
    assert long.high <= 5.0


def test_a_stored_answer_keeps_the_ends_of_the_curves_that_are_moved() -> None:
    """Its bands and its curves are rounded to different digits."""
    found = from_json(json.loads(json.dumps(to_json(answer(LONG)))))
    now = adjusted(found, "ngram", acceptance_length=4.4, mix=None)
    moved = moved_result(found, {"ngram": now}).curves["ngram"]
    assert [s.concurrency for s in moved] == pytest.approx([p.concurrency for p in now.speedup])


def test_a_step_that_drafts_more_costs_more() -> None:
    def at_16(k: float | None, acceptance_length: float = 4.5) -> float:
        now = adjusted(answer(LONG), "ngram", acceptance_length=acceptance_length, mix=None, k=k)
        here = speedup_at(now, 16.0)
        assert here is not None
        return here.ratio

    assert at_16(3.2) > at_16(None) > at_16(4.0)
    assert at_16(None, 4.9) == pytest.approx(at_16(3.9, 4.9)), "no fewer are drafted than accepted"


@pytest.mark.parametrize(
    ("concurrency", "acceptance_length", "measured"),
    [(8.0, 4.51, 386.7 / 289.8), (4.0, 4.52, 332.8 / 225.7)],
)
def test_a_mix_between_two_swept_ones_is_foretold(
    concurrency: float, acceptance_length: float, measured: float
) -> None:
    now = adjusted(answer(LONG, SHORT), "ngram", acceptance_length=acceptance_length, mix=BETWEEN, k=3.8)
    said = speedup_at(now, concurrency)
    assert said is not None
    assert said.low < measured < said.high
    assert said.ratio == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("name", "mix"), [(SHORT, Mix(788.0, 32.0)), (SHORT, BETWEEN), (LONG, BETWEEN)])
def test_from_one_mix_alone_it_is_not(name: str, mix: Mix) -> None:
    assert "mix_not_covered" in codes(answer(name), 4.0, mix)


def test_curves_that_would_be_moved_too_far_say_so_and_not_that_nothing_near_was_swept() -> None:
    (reason,) = adjusted(answer(LONG, SHORT), "ngram", acceptance_length=4.8, mix=Mix(151.0, 128.0)).reasons
    assert reason.code == "mix_not_covered"
    assert "were 771 prompt and 32 output tokens in the sweep" in reason.text
    assert "unsure by ±" in reason.text
