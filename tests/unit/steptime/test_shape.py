"""The formula against sums done by hand, one term at a time, and its changes against their stated errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from probes.steptime.fit import fit_step_model
from probes.steptime.shape import NAMES, Floats, Load, life_steps, output_tok_s, step_s
from probes.steptime.shift import ACCEPTANCE_ERROR, UNSWEPT_ERROR, speedup_shift
from probes.steptime.values import Mix, StepModel
from tests.support.formula_sweeps import MIX, formula_cells

TINY = 1e-15


def constants(**values: float) -> Floats:
    """All terms next to nothing but those given."""
    alone = {"corner": 40.0, "entry_steps": 2.0, **values}
    return np.array([math.log(alone.get(name, TINY)) for name in NAMES])


def load(x: float = 10.0, k: float = 0.0, a: float = 1.0, prompt: float = 100.0, output: float = 99.0) -> Load:
    return Load(*(np.array(value) for value in (x, k, a, prompt, output)))


def test_a_request_s_life_is_its_decode_steps_and_its_entry() -> None:
    assert float(life_steps(constants(), load())) == pytest.approx(98 + 2)
    # 3 tokens a step, and on average one of them lies past the end: (98 + 1) / 3 steps.
    assert float(life_steps(constants(), load(k=3, a=3.0))) == pytest.approx(33 + 2)


@pytest.mark.parametrize(
    ("term", "given", "expected"),
    [
        # 98 of 100 steps are decode, so 9.8 of 10 requests are in the batch, and 0.1 come in each step.
        ("memory_s", load(), 1.0),
        ("token_s", load(k=3.0), 4 * 9.8),
        ("draft_s", load(k=3.0), 3.0),
        ("draft_token_s", load(k=3.0), 3 * 9.8),
        ("request_s", load(), 9.8),
        ("context_token_s", load(), 9.8 * 149.5),
        ("emitted_s", load(k=3.0, a=3.0), 3 * 10 * 33 / 35),
        ("prompt_token_s", load(), 100 * 0.1),
        ("prompt_extra_s", load(), 100 * 0.1),
    ],
)
def test_each_term_alone(term: str, given: Load, expected: float) -> None:
    assert float(step_s(constants(**{term: 1.0}), given)) == pytest.approx(expected, rel=1e-6)


def test_output_is_answers_by_little_s_law() -> None:
    # Life of 100 steps of 20 ms: 5 answers of 99 tokens a second.
    assert float(output_tok_s(constants(memory_s=0.02), load())) == pytest.approx(5 * 99)


def test_prompts_hide_behind_the_weights_as_far_as_there_is_room() -> None:
    # One step in a hundred brings a prompt of 0.1 s, ten times the weights' time.
    bare = float(step_s(constants(memory_s=0.01), load(x=1.0)))
    hidden = float(step_s(constants(memory_s=0.01, prompt_token_s=5e-5), load(x=1.0)))
    shown = float(step_s(constants(memory_s=0.01, prompt_token_s=1e-3), load(x=1.0)))
    assert hidden == pytest.approx(bare)
    assert shown == pytest.approx(bare + (0.1 - 0.01) * 0.01, rel=0.01)


def exact() -> StepModel:
    model = fit_step_model(formula_cells())
    assert model is not None
    return replace(model, covariance=tuple((0.0,) * len(NAMES) for _ in NAMES))


def test_a_change_of_acceptance_carries_the_formula_s_own_error_even_if_all_terms_were_known() -> None:
    shift = speedup_shift(exact(), "k3", "off", np.array([16.0, 128.0]), np.array(1.31), None)
    assert shift.sd == pytest.approx(ACCEPTANCE_ERROR * math.log(2.62 / 1.31) * np.ones(2))
    assert np.all(shift.value < 0)
    assert np.all(shift.value > -math.log(2))


def test_so_does_a_mix_and_more_so_the_farther_it_is_from_what_was_swept() -> None:
    near, far = (
        speedup_shift(exact(), "k3", "off", np.array([64.0]), np.array(2.62), Mix(MIX.prompt_tokens * factor, 256.0))
        for factor in (2.0, 4.0)
    )
    assert far.mix_sd[0] - near.mix_sd[0] > 0.9 * UNSWEPT_ERROR * math.log(2) / 2
    assert near.mix_sd[0] >= UNSWEPT_ERROR * math.log(2 / 1.25)
    none = speedup_shift(exact(), "k3", "off", np.array([64.0]), np.array(2.62), None)
    assert (none.value[0], none.sd[0], none.mix_sd[0]) == (0.0, 0.0, 0.0)
