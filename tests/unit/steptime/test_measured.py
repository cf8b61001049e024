"""On cells of a real server: an arm that was never measured is where the others say it is, nearly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from probes.steptime.fit import fit_step_model
from probes.steptime.shape import Load, output_tok_s
from probes.steptime.values import StepModel
from probes.values import Cell
from tests.support.formula_sweeps import answer
from tests.support.measured_cells import h200_cells

CELLS = h200_cells()
FOUND = answer(CELLS)


def fitted(cells: list[Cell]) -> StepModel:
    model = fit_step_model(cells)
    assert model is not None
    return model


def predicted(model: StepModel, arm: str, concurrency: float) -> float:
    """Log output tok/s of an arm with the K and the acceptance that it really had."""
    traffic = fitted(CELLS).arms[arm]
    numbers = (concurrency, traffic.k, traffic.acceptance_length, traffic.mix.prompt_tokens, traffic.mix.output_tokens)
    return math.log(
        float(output_tok_s(np.log(np.array(model.values)), Load(*(np.array(number) for number in numbers))))
    )


@pytest.mark.parametrize(("arm", "worst"), [("k1", 0.06), ("k3", 0.05), ("k5", 0.08)])
def test_an_arm_left_out_is_predicted_from_the_others(arm: str, worst: float) -> None:
    others = fitted([cell for cell in CELLS if cell.arm != arm])
    misses = [
        predicted(others, arm, cell.concurrency or 0) - math.log(cell.output_tok_s or 0)
        for cell in CELLS
        if cell.arm == arm
    ]
    assert float(np.sqrt(np.mean(np.square(misses)))) < worst


def test_the_crossing_of_an_arm_left_out_is_near_the_measured_one() -> None:
    others = fitted([cell for cell in CELLS if cell.arm != "k3"])
    crossing = FOUND.arms["k3"].crossover
    assert crossing is not None
    assert predicted(others, "k3", crossing) - predicted(others, "off", crossing) == pytest.approx(0.0, abs=0.04)
