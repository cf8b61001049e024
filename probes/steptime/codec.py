"""Reads the step-time model back from JSON; `dataclasses.asdict` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.steptime.values import ArmTraffic, Mix, StepModel


def model_from_json(document: Mapping[str, Any]) -> StepModel:
    """The model that `asdict` wrote; KeyError or TypeError where it is something else."""
    return StepModel(
        names=tuple(str(name) for name in document["names"]),
        values=tuple(float(value) for value in document["values"]),
        covariance=tuple(tuple(float(v) for v in row) for row in document["covariance"]),
        rms=float(document["rms"]),
        arms={
            str(name): ArmTraffic(float(arm["k"]), float(arm["acceptance_length"]), _mix(arm["mix"]))
            for name, arm in document["arms"].items()
        },
        mixes=tuple(_mix(mix) for mix in document["mixes"]),
    )


def _mix(document: Mapping[str, Any]) -> Mix:
    return Mix(float(document["prompt_tokens"]), float(document["output_tokens"]))
