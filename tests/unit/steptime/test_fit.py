"""The fit finds what cells can tell, says how unsure the rest is, and gives nothing where they cannot tell."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.steptime.codec import model_from_json
from probes.steptime.fit import NO_STEP_MODEL, fit_step_model, step_model_or_why
from probes.steptime.values import Mix, StepModel
from probes.values import Cell, Reason
from tests.support.formula_sweeps import LADDER, MIX, SERVER, formula_cells
from tests.support.measured_cells import h200_cells
from tests.support.sweep_cells import FOREIGN

TWO = {"off": (0, 1.0), "k3": (3, 2.62)}
LIMITED = (Reason("limited", "admission is the limit here: KV cache 97% full"),)


def value(model: StepModel, name: str) -> float:
    return model.values[model.names.index(name)]


def spread(model: StepModel, name: str) -> float:
    """1 sd of the logarithm."""
    at = model.names.index(name)
    return math.sqrt(model.covariance[at][at])


def fitted(cells: list[Cell], *earlier: list[Cell]) -> StepModel:
    model = fit_step_model(cells, earlier)
    assert model is not None
    return model


def test_an_h200_s_cells_are_described_within_three_percent() -> None:
    model = fitted(h200_cells())
    assert model.rms < 0.03
    assert all(number > 0 for number in model.values)
    assert {arm: round(traffic.k) for arm, traffic in model.arms.items()} == {"off": 0, "k1": 1, "k3": 3, "k5": 5}
    assert model.arms["k3"].acceptance_length == pytest.approx(2.62, abs=0.01)


def test_what_cells_show_plainly_is_found_within_its_own_error() -> None:
    model = fitted(formula_cells(noise=0.01, repeats=4))
    for name in ("memory_s", "token_s", "draft_s", "entry_steps"):
        assert math.log(value(model, name) / SERVER[name]) == pytest.approx(0, abs=2 * spread(model, name))
        assert spread(model, name) < 0.25


def test_one_mix_leaves_the_price_of_a_prompt_open_and_a_second_mix_tells_it() -> None:
    one = fitted(formula_cells())
    both = fitted(formula_cells(), formula_cells(mix=Mix(1500.0, 128.0)))

    def spread_of_sum(model: StepModel) -> float:
        parts = [model.names.index(name) for name in ("prompt_token_s", "prompt_extra_s")]
        share = np.array([model.values[p] for p in parts])
        share /= share.sum()
        return float(np.sqrt(share @ np.array(model.covariance)[np.ix_(parts, parts)] @ share))

    assert spread_of_sum(one) > 0.15
    assert spread_of_sum(both) < 0.1
    assert both.mixes == (MIX, Mix(1500.0, 128.0))
    assert both.arms["k3"].mix == MIX


def test_noisier_cells_leave_more_open() -> None:
    quiet, noisy = (fitted(formula_cells(noise=noise, seed=3)) for noise in (0.002, 0.05))
    assert noisy.rms > quiet.rms
    assert spread(noisy, "token_s") > 1.5 * spread(quiet, "token_s")


def test_the_server_s_own_count_of_steps_tells_how_long_a_request_waits_to_enter() -> None:
    short = Mix(40.0, 24.0)
    told, untold = (fitted(formula_cells(mix=short, with_steps=steps)) for steps in (True, False))
    assert spread(told, "entry_steps") < spread(untold, "entry_steps") / 2
    assert value(told, "entry_steps") == pytest.approx(SERVER["entry_steps"], rel=0.03)


def test_a_count_of_steps_that_no_answer_can_take_is_not_believed() -> None:
    twice = [replace(c, steps=2 * (c.steps or 0)) for c in formula_cells()]
    assert fitted(twice) == fitted(formula_cells(with_steps=False))


def test_output_of_several_engines_is_counted_per_engine() -> None:
    one = fitted(formula_cells())
    two = fitted(
        [
            replace(c, engine_count=2, output_tok_s=2 * (c.output_tok_s or 0), steps=2 * (c.steps or 0))
            for c in formula_cells()
        ]
    )
    assert two.values == pytest.approx(one.values)


def test_prompt_tokens_from_the_prefix_cache_are_not_computed() -> None:
    model = fitted(formula_cells(prompt_tokens_mean=356.0, prefix_hit_ratio=0.5))
    assert model.mixes == (MIX,)


def test_void_and_admission_limited_cells_do_not_count() -> None:
    clean = formula_cells()
    void = [replace(c, void=FOREIGN, output_tok_s=1.0) for c in formula_cells(repeats=1)]
    limited = [replace(c, notes=LIMITED, output_tok_s=1.0) for c in formula_cells(repeats=1)]
    assert fit_step_model([*clean, *void, *limited]) == fit_step_model(clean)


def test_a_sweep_without_a_baseline_or_without_speculation_tells_nothing() -> None:
    assert fit_step_model(formula_cells({"off": (0, 1.0)})) is None
    assert fit_step_model(formula_cells({"k1": (1, 1.72), "k3": (3, 2.62)})) is None
    assert fit_step_model([]) is None


def test_two_rungs_tell_nothing_and_three_tell_something() -> None:
    assert fit_step_model(formula_cells(ladder=(4, 64))) is None
    assert fit_step_model(formula_cells(ladder=(4, 64, 128))) is not None


def test_an_arm_whose_counters_do_not_show_what_it_drafted_is_left_out() -> None:
    silent: dict[str, Any] = {"drafts": None, "draft_tokens": None, "accepted_tokens": None}
    cells = [replace(c, **silent) if c.arm == "k5" else c for c in formula_cells()]
    assert set(fitted(cells).arms) == {"off", "k1", "k3"}
    only_silent = [replace(c, **silent) if c.arm != "off" else c for c in formula_cells(TWO)]
    assert fit_step_model(only_silent) is None


def test_an_arm_that_changes_its_k_with_the_load_is_left_out() -> None:
    cells = [replace(c, draft_tokens=(1e5 if c.rung >= 64 else 3e5)) if c.arm == "k3" else c for c in formula_cells()]
    assert set(fitted(cells).arms) == {"off", "k1", "k5"}


def test_cells_that_no_step_time_explains_give_no_model() -> None:
    rng = np.random.default_rng(5)
    wild = [replace(c, output_tok_s=(c.output_tok_s or 0) * float(np.exp(rng.normal(0, 0.4)))) for c in formula_cells()]
    assert fit_step_model(wild) is None


def test_a_model_survives_json() -> None:
    model = fitted(h200_cells())
    assert model_from_json(json.loads(json.dumps(asdict(model)))) == model


NUMBERS = st.one_of(
    st.floats(min_value=0.5, max_value=5000),
    st.sampled_from([None, 0.0, -1.0, math.nan, math.inf, 1e-9, 1e-300, 1e12, 1e300]),
)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["off", "k3"]), *[NUMBERS] * 6), min_size=8, max_size=30))
def test_any_cells_give_a_finite_model_or_none(rows: list[Any]) -> None:
    template = {c.arm: c for c in formula_cells(TWO, repeats=1)}
    cells = [
        replace(
            template[arm],
            concurrency=x,
            output_tok_s=y,
            prompt_tokens_mean=prompt,
            output_tokens_mean=output,
            steps=steps,
            drafts=drafts if arm == "k3" else None,
        )
        for arm, x, y, prompt, output, steps, drafts in rows
    ]
    model = fit_step_model(cells)
    if model is not None:
        assert np.all(np.isfinite(model.values))
        assert np.all(np.isfinite(model.covariance))


def test_the_ladder_s_order_does_not_matter() -> None:
    cells = formula_cells(noise=0.01)
    assert fitted(cells[::-1]).values == pytest.approx(fitted(cells).values, rel=1e-4)
    assert {c.rung for c in cells} == set(LADDER)


SILENT: dict[str, Any] = {"drafts": None, "draft_tokens": None, "accepted_tokens": None}


def scattered() -> list[Cell]:
    rng = np.random.default_rng(5)
    return [replace(c, output_tok_s=(c.output_tok_s or 0) * float(np.exp(rng.normal(0, 0.4)))) for c in formula_cells()]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (formula_cells(TWO, ladder=(4, 64)), "only 2 rungs are usable of off, where 3 are needed"),
        (
            [replace(c, notes=LIMITED) if c.arm == "k3" and c.rung > 4 else c for c in formula_cells(TWO)],
            "only 2 rungs are usable of k3, where 3 are needed, valid and below its admission limit",
        ),
        (
            [replace(c, **SILENT) if c.arm == "k3" else c for c in formula_cells(TWO)],
            "the server's pages do not tell how many tokens k3 drafted",
        ),
        (
            [replace(c, draft_tokens=1e5) if c.arm == "k3" and c.rung >= 64 else c for c in formula_cells(TWO)],
            "k3 drafts more at one load than at another",
        ),
        ([replace(c, void=FOREIGN) for c in formula_cells(TWO)], "only 0 rungs are usable of off"),
        (formula_cells({"off": (0, 1.0)}), "no arm drafted anything"),
        (formula_cells({"k3": (3, 2.62)}), "no arm ran without drafts"),
        (scattered(), "Sweep again with longer cells (`cell_s`)"),
    ],
)
def test_where_there_is_no_model_it_is_said_why(cells: list[Cell], says: str) -> None:
    why = step_model_or_why(cells)
    assert isinstance(why, Reason)
    assert why.code == NO_STEP_MODEL
    assert says in why.text
    assert "will not follow today's acceptance and requests" in why.text


def test_how_far_the_cells_scatter_is_told() -> None:
    why = step_model_or_why(scattered())
    assert isinstance(why, Reason)
    assert re.search(r"scatter by \d\d\.\d% around the best \(up to 6% will do\)", why.text)
