"""An answer as of now follows what changed, says how sure it still is, and is withdrawn where nothing covers it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.answer_values import Axis, Crossover, Verdict
from probes.crossover import estimate, speedup_at
from probes.steptime.adjust import adjusted
from probes.steptime.fit import fit_step_model
from probes.steptime.shift import output_shift
from probes.steptime.values import Mix
from tests.support.formula_sweeps import MIX, answer, formula_cells, tok_s, true_crossing
from tests.support.measured_cells import h200_cells
from tests.support.simulated_sweeps import simulate

FOUND = answer(formula_cells(noise=0.01))


def octaves(one: float | None, two: float) -> float:
    assert one is not None
    return abs(math.log2(one / two))


def test_the_traffic_of_the_sweep_gives_the_sweep_s_own_answer() -> None:
    for found in (FOUND, answer(h200_cells())):
        for arm, measured in found.arms.items():
            assert found.step_model is not None
            swept = found.step_model.arms[arm]
            assert adjusted(found, arm, acceptance_length=None, mix=None) == measured
            assert adjusted(found, arm, acceptance_length=swept.acceptance_length, mix=None) == measured


def test_a_change_too_small_to_see_moves_nothing() -> None:
    found = answer(h200_cells())
    for arm, measured in found.arms.items():
        assert found.step_model is not None
        almost = found.step_model.arms[arm].acceptance_length * 1.0001
        now = adjusted(found, arm, acceptance_length=almost, mix=None)
        assert measured.crossover is not None
        assert now.verdict is measured.verdict
        assert octaves(now.crossover, measured.crossover) < 0.02
        for point in measured.speedup:
            moved = speedup_at(now, point.concurrency)
            assert moved is not None
            assert (moved.ratio, moved.low, moved.high) == pytest.approx((point.ratio, point.low, point.high), rel=5e-3)


def test_near_ties_stay_what_the_sweep_called_them() -> None:
    """Signs must be as clear for a moved verdict as for a measured one; at 98% three of these would be decisive."""
    rng = np.random.default_rng(7)
    assert FOUND.step_model is not None
    arms = FOUND.step_model.arms
    model = replace(FOUND.step_model, arms={"off": arms["off"], "on": arms["k3"]})
    changed = []
    for _ in range(150):
        measured = estimate(simulate("tie", rng).points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
        found = replace(measured, step_model=model)
        now = adjusted(found, "on", acceptance_length=arms["k3"].acceptance_length * (1 + 1e-6), mix=None)
        if now.verdict is not found.arms["on"].verdict:
            changed.append((found.arms["on"].verdict, now.verdict))
    assert not changed


def test_what_admission_held_back_in_the_sweep_is_said_of_the_moved_answer_too() -> None:
    found = answer(h200_cells())
    now = adjusted(found, "k3", acceptance_length=3.0, mix=None)
    assert now.crossover is not None
    assert now.crossover > 200, "beyond the last rung that admission left alone"
    assert "admission_limited" in [reason.code for reason in found.arms["k3"].reasons]
    assert "admission_limited" in [reason.code for reason in now.reasons]


def test_points_that_the_band_has_between_rungs_are_not_taken_for_rungs() -> None:
    gain = {1: 1.5, 4: 1.4, 16: 1.25, 64: 1.03, 256: 1.02}
    off = {c.rung: c.output_tok_s or 0 for c in formula_cells({"off": (0, 1.0)}, ladder=tuple(gain))}
    cells = [
        replace(c, output_tok_s=gain[c.rung] * off[c.rung]) if c.arm == "k3" else c
        for c in formula_cells(ladder=tuple(gain))
    ]
    found = replace(answer(cells), step_model=FOUND.step_model)
    measured = found.arms["k3"]
    assert len(measured.speedup) > len(gain)
    assert measured.verdict is Verdict.ALWAYS_FASTER
    now = adjusted(found, "k3", acceptance_length=2.619, mix=None)
    assert now.verdict is measured.verdict
    assert [p.concurrency for p in now.speedup] == pytest.approx([p.concurrency for p in measured.speedup])


@pytest.mark.parametrize("acceptance_length", [2.2, 1.9, 1.7, 2.9])
def test_the_crossover_follows_the_acceptance(acceptance_length: float) -> None:
    now = adjusted(FOUND, "k3", acceptance_length=acceptance_length, mix=None)
    truth = true_crossing(3, acceptance_length)
    assert now.verdict is Verdict.CROSSES
    assert octaves(now.crossover, truth) < 0.25
    assert now.low is None or now.low < truth
    assert now.high is None or truth < now.high
    assert now.reasons[0].code == "as_of_now"


def test_acceptance_alone_would_put_it_far_too_low() -> None:
    measured = FOUND.arms["k3"]
    poor = adjusted(FOUND, "k3", acceptance_length=1.7, mix=None)
    x = np.array([point.concurrency for point in measured.speedup])
    scaled = np.array([point.ratio for point in measured.speedup]) * 1.7 / 2.62
    naive = float(np.exp(np.interp(0.0, -np.log(scaled), np.log(x))))
    truth = true_crossing(3, 1.7)
    assert octaves(naive, truth) > 2 * octaves(poor.crossover, truth)
    assert naive < truth


def test_the_band_widens_with_the_change() -> None:
    widths = []
    for acceptance_length in (2.62, 2.3, 1.9, 1.4):
        here = speedup_at(adjusted(FOUND, "k3", acceptance_length=acceptance_length, mix=None), 64.0)
        assert here is not None
        widths.append(math.log(here.high / here.low))
    assert all(later > earlier for earlier, later in pairwise(widths))


def test_what_the_caller_doubts_of_the_traffic_widens_the_band() -> None:
    sure, unsure = (
        speedup_at(adjusted(FOUND, "k3", acceptance_length=2.0, mix=None, traffic_half=half), 64.0)
        for half in (0.0, 0.1)
    )
    assert sure is not None
    assert unsure is not None
    assert unsure.low < sure.low < sure.high < unsure.high


def test_an_acceptance_that_this_k_cannot_have_is_no_answer() -> None:
    for impossible in (0.5, 4.5):
        now = adjusted(FOUND, "k3", acceptance_length=impossible, mix=None)
        assert now.verdict is Verdict.INSUFFICIENT
        assert [reason.code for reason in now.reasons] == ["acceptance_impossible"]
        assert now.capacity == FOUND.arms["k3"].capacity


def test_without_a_model_there_is_no_answer_as_of_now() -> None:
    bare = replace(FOUND, step_model=None)
    assert [r.code for r in adjusted(bare, "k3", acceptance_length=2.0, mix=None).reasons] == ["no_step_model"]
    assert FOUND.step_model is not None
    others = {name: traffic for name, traffic in FOUND.step_model.arms.items() if name != "k3"}
    partly = replace(FOUND, step_model=replace(FOUND.step_model, arms=others))
    assert [r.code for r in adjusted(partly, "k3", acceptance_length=2.0, mix=None).reasons] == ["no_step_model"]


def test_a_mix_far_from_every_sweep_withdraws_the_answer_and_asks_for_a_sweep() -> None:
    now = adjusted(FOUND, "k3", acceptance_length=None, mix=Mix(8000.0, 64.0))
    assert now.verdict is Verdict.INSUFFICIENT
    assert now.crossover is None
    assert now.speedup == ()
    assert [reason.code for reason in now.reasons] == ["mix_not_covered"]
    assert "8000 prompt and 64 output tokens" in now.reasons[0].text
    assert "178 prompt and 256 output tokens" in now.reasons[0].text


LONG = Mix(1500.0, 128.0)
BETWEEN = Mix(520.0, 180.0)


def both_swept() -> Crossover:
    cells, earlier = formula_cells(noise=0.005), formula_cells(mix=LONG, noise=0.005, seed=1)
    return replace(answer(cells), step_model=fit_step_model(cells, [earlier]))


def test_a_second_mix_covers_itself_and_what_lies_between() -> None:
    alone, both = answer(formula_cells(noise=0.005)), both_swept()
    assert adjusted(alone, "k3", acceptance_length=None, mix=LONG).verdict is Verdict.INSUFFICIENT
    for mix in (LONG, BETWEEN):
        now = adjusted(both, "k3", acceptance_length=None, mix=mix)
        truth = tok_s(64.0, 3, 2.62, mix) / tok_s(64.0, 0, 1.0, mix)
        here = speedup_at(now, 64.0)
        assert here is not None
        assert here.low < truth < here.high
        assert math.log(here.high / here.low) < 0.25


def test_a_mix_near_the_sweep_s_widens_the_band_and_keeps_the_answer() -> None:
    measured = speedup_at(FOUND.arms["k3"], 64.0)
    now = speedup_at(adjusted(FOUND, "k3", acceptance_length=None, mix=Mix(300.0, 200.0)), 64.0)
    assert measured is not None
    assert now is not None
    truth = tok_s(64.0, 3, 2.62, Mix(300.0, 200.0)) / tok_s(64.0, 0, 1.0, Mix(300.0, 200.0))
    assert now.low < truth < now.high
    assert math.log(now.high / now.low) > math.log(measured.high / measured.low)


def test_the_baseline_s_own_output_follows_the_mix() -> None:
    assert FOUND.step_model is not None
    mix = Mix(300.0, 256.0)
    change, sd = output_shift(FOUND.step_model, "off", np.array([16.0, 128.0]), None, mix)
    for number, x in enumerate((16.0, 128.0)):
        truth = math.log(tok_s(x, 0, 1.0, mix) / tok_s(x, 0, 1.0, MIX))
        assert change[number] == pytest.approx(truth, abs=1.645 * sd[number])
        assert change[number] < 0
    none, zero = output_shift(FOUND.step_model, "off", np.array([16.0]), None, None)
    assert (none[0], zero[0]) == (0.0, 0.0)


@settings(max_examples=100)
@given(
    st.one_of(st.none(), st.floats(min_value=0.1, max_value=6.0)),
    st.one_of(
        st.none(),
        st.builds(
            Mix,
            st.floats(min_value=0, max_value=1e6),
            st.floats(min_value=0, max_value=1e6),
        ),
    ),
)
def test_any_traffic_gives_a_sound_answer_or_a_reason(acceptance_length: float | None, mix: Mix | None) -> None:
    for arm in FOUND.arms:
        now = adjusted(FOUND, arm, acceptance_length=acceptance_length, mix=mix)
        assert now.reasons
        assert (now.verdict is Verdict.INSUFFICIENT) == (not now.speedup)
        assert all(0 < point.low < point.ratio < point.high < math.inf for point in now.speedup)
        if now.crossover is not None:
            assert (now.low or 0) <= now.crossover <= (now.high or math.inf)
