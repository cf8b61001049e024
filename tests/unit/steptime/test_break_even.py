"""The break-even acceptance is where the moved answer says "equal", and where there is none it says why."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from probes.crossover import speedup_at
from probes.steptime.adjust import adjusted
from probes.steptime.break_even import break_even, break_even_curve, no_break_even
from probes.steptime.values import Mix
from tests.support.formula_sweeps import answer, formula_cells, tok_s

FOUND = answer(formula_cells(noise=0.01))


@pytest.mark.parametrize("concurrency", [8.0, 64.0, 128.0])
def test_at_the_break_even_acceptance_the_arm_equals_the_baseline(concurrency: float) -> None:
    even = break_even(FOUND, "k3", concurrency, None)
    assert even is not None
    assert even.low < even.ratio < even.high
    here = speedup_at(adjusted(FOUND, "k3", acceptance_length=even.ratio, mix=None), concurrency)
    assert here is not None
    assert here.ratio == pytest.approx(1.0, abs=0.01)
    assert no_break_even(FOUND, "k3", concurrency, None) is None


def test_the_interval_holds_the_true_break_even() -> None:
    for concurrency in (16.0, 64.0, 128.0):
        even = break_even(FOUND, "k3", concurrency, None)
        assert even is not None
        gains = {step / 100: tok_s(concurrency, 3, step / 100) for step in range(100, 400)}
        truth = min(gains, key=lambda a: abs(gains[a] - tok_s(concurrency, 0, 1.0)))
        assert even.low < truth < even.high


def test_higher_load_asks_for_more_acceptance() -> None:
    curve = [point for point in break_even_curve(answer(formula_cells()), "k3", None) if point.concurrency >= 4]
    assert len(curve) >= 6
    assert all(later.ratio > earlier.ratio for earlier, later in pairwise(curve))
    assert all(1.0 <= point.low <= point.ratio <= point.high <= 4.0 for point in curve)


def test_the_break_even_follows_the_mix() -> None:
    swept, now = break_even(FOUND, "k3", 64.0, None), break_even(FOUND, "k3", 64.0, Mix(300.0, 256.0))
    assert swept is not None
    assert now is not None
    assert now.high - now.low > swept.high - swept.low


def test_an_arm_that_loses_even_with_every_draft_accepted_has_no_break_even() -> None:
    cells = [
        replace(c, output_tok_s=(c.output_tok_s or 0) * 0.3) if c.arm == "k3" else c for c in formula_cells(noise=0.01)
    ]
    found = replace(answer(cells), step_model=FOUND.step_model)
    assert break_even(found, "k3", 128.0, None) is None
    reason = no_break_even(found, "k3", 128.0, None)
    assert reason is not None
    assert reason.code == "never_pays"
    assert "4 tokens per step" in reason.text


def test_an_arm_that_wins_with_nothing_accepted_has_no_break_even_either() -> None:
    cells = [replace(c, output_tok_s=(c.output_tok_s or 0) * 4) if c.arm == "k3" else c for c in formula_cells()]
    found = replace(answer(cells), step_model=FOUND.step_model)
    assert break_even(found, "k3", 4.0, None) is None
    reason = no_break_even(found, "k3", 4.0, None)
    assert reason is not None
    assert reason.code == "always_pays"


def test_outside_the_sweep_nothing_is_said() -> None:
    reason = no_break_even(FOUND, "k3", 500.0, None)
    assert break_even(FOUND, "k3", 500.0, None) is None
    assert reason is not None
    assert reason.code == "not_measured"


def test_a_withdrawn_mix_has_no_break_even() -> None:
    reason = no_break_even(FOUND, "k3", 64.0, Mix(8000.0, 64.0))
    assert break_even(FOUND, "k3", 64.0, Mix(8000.0, 64.0)) is None
    assert reason is not None
    assert reason.code == "mix_not_covered"


def test_without_a_model_there_is_no_break_even() -> None:
    bare = replace(FOUND, step_model=None)
    reason = no_break_even(bare, "k3", 64.0, None)
    assert break_even(bare, "k3", 64.0, None) is None
    assert reason is not None
    assert reason.code == "no_step_model"
