"""The step-time model as a value, so that a sweep's answer can carry it; no fit and no prediction is made here.

It must import nothing of the project: `probes.values` builds on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mix:
    """What requests look like to the engine, in tokens."""

    prompt_tokens: float
    """Mean prompt tokens that are really computed: those found in the prefix cache are left out."""
    output_tokens: float
    """Mean tokens per answer."""


@dataclass(frozen=True, slots=True)
class ArmTraffic:
    """What one arm ran with while it was measured."""

    k: float
    """Draft tokens per step as the counters show them; 0 without speculation."""
    acceptance_length: float
    """Mean tokens emitted per step and request, bonus included; 1 without speculation."""
    mix: Mix


@dataclass(frozen=True, slots=True)
class StepModel:
    """Seconds of one engine step, fitted jointly over all arms of one or more sweeps."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    """One per name, in the units the name ends in."""
    covariance: tuple[tuple[float, ...], ...]
    """Of the logarithms of `values`."""
    rms: float
    """Relative error of the fit over the cells."""
    arms: Mapping[str, ArmTraffic]
    mixes: tuple[Mix, ...]
    """Every prompt/output mix that went into the fit."""
