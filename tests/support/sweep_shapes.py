"""Curves of log speedup over octaves of concurrency, so that simulated sweeps have a truth; no noise is added here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probes.sim.model import H200, StepModel

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]
"""Natural log of tok/s, or of a speedup, over natural log of concurrency."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Both arms' true curves, and what was drawn to make them."""

    off: Curve
    on: Curve
    slope: float
    """Log speedup lost per octave at the crossing; 0 where there is none."""

    def speedup(self, log_x: Floats) -> Floats:
        """Natural log of the true speedup."""
        return self.on(log_x) - self.off(log_x)


def _linear(d: Floats, slope: float, rng: np.random.Generator) -> Floats:
    return -slope * d


def _roofline(d: Floats, slope: float, rng: np.random.Generator) -> Floats:
    """Gain of idle compute that a kink ends: flat below, then steady loss."""
    knee = -rng.uniform(0.3, 1.5)
    return np.asarray(-slope * np.maximum(d, knee))


def _plateau(d: Floats, slope: float, rng: np.random.Generator) -> Floats:
    """Flat gain, a smooth fall, flat loss."""
    return np.asarray(-slope * 1.5 * np.tanh(d / 1.5), dtype=np.float64)


def _step(d: Floats, slope: float, rng: np.random.Generator) -> Floats:
    """A fall within a tenth of an octave, as where a graph size or a schedule ends."""
    return np.asarray(-slope * np.tanh(d / 0.05), dtype=np.float64)


def _dip(d: Floats, slope: float, rng: np.random.Generator) -> Floats:
    """Loses around the middle and wins again above: no concurrency above which it stays slower."""
    return np.asarray(slope - 2.5 * slope * np.exp(-((d / rng.uniform(0.7, 1.5)) ** 2)))


_CROSSING = {"linear": _linear, "roofline": _roofline, "plateau": _plateau, "step": _step, "shallow": _linear}
CROSSING = (*_CROSSING, "model")
"""Shapes with a crossover inside the ladder."""
SHAPES = (*CROSSING, "dip", "never", "always", "tie")


def draw_shape(shape: str, rng: np.random.Generator, octaves: Floats, min_slope: float) -> Shape:
    """One of `SHAPES` but `model` over a ladder of these octaves, its crossing and slope drawn at random."""
    bottom, top = float(octaves[0]), float(octaves[-1])
    at = rng.uniform(bottom + 0.15 * (top - bottom), top - 0.15 * (top - bottom))
    steep = float(np.exp(rng.uniform(np.log(min_slope), np.log(0.35))))
    slope = rng.uniform(0.015, 0.04) if shape == "shallow" else steep
    seed = int(rng.integers(2**32))
    far = rng.uniform(0.03, 0.15)
    saturation = np.log(rng.uniform(30, 200))

    def gain(log_x: Floats) -> Floats:
        o = log_x / np.log(2)
        if shape == "never":
            return np.asarray(-far - slope * (o - bottom) / 4)
        if shape == "always":
            return np.asarray(far + slope * (top - o) / 4)
        if shape == "tie":
            return np.asarray(0.009 * np.sin(o * slope * 6 + at))
        curve = _dip if shape == "dip" else _CROSSING[shape]
        return curve(o - at, slope, np.random.default_rng(seed))

    def off(log_x: Floats) -> Floats:
        return np.asarray(np.log(210) + log_x - np.logaddexp(0, log_x - saturation))

    return Shape(off, lambda log_x: off(log_x) + gain(log_x), slope if shape in _CROSSING else 0.0)


def _arm(model: StepModel, k: int, acceptance_length: float, prompt: float, output: float) -> Curve:
    """Closed loop: each step yields `x * a` tokens and computes the prompts of the requests that came meanwhile."""

    def log_tok_s(log_x: Floats) -> Floats:
        x = np.exp(log_x)
        ended = x * acceptance_length / output
        seconds = [model.step_s(float(b), k, float(p)) for b, p in zip(x, ended * prompt, strict=True)]
        # A step pays the fixed price of prefill only where a request began with it.
        spared = model.prefill_base_s * np.exp(-ended)
        return np.asarray(np.log(x * acceptance_length) - np.log(np.array(seconds) - spared))

    return log_tok_s


def draw_model(rng: np.random.Generator) -> tuple[Shape, float]:
    """Curves as real steps make them (weights, compute, drafts, prompts), of a random server; and where they cross."""
    grid = np.linspace(0, np.log(512), 120)
    while True:
        server = replace(
            H200,
            memory_s=H200.memory_s * np.exp(rng.uniform(-0.7, 1.4)),
            token_s=H200.token_s * np.exp(rng.uniform(-0.7, 1.6)),
            draft_s=H200.draft_s * np.exp(rng.uniform(-0.7, 0.7)),
            request_s=H200.request_s * np.exp(rng.uniform(-0.7, 1.1)),
        )
        k = int(rng.integers(1, 6))
        accepted = rng.uniform(0.4, 0.85) * rng.uniform(0.55, 0.8) ** np.arange(k)
        prompt, output = np.exp(rng.uniform(np.log(100), np.log(1500))), np.exp(rng.uniform(np.log(100), np.log(800)))
        off, on = _arm(server, 0, 1.0, prompt, output), _arm(server, k, 1.0 + accepted.sum(), prompt, output)
        gain = on(grid) - off(grid)
        falls = np.flatnonzero((gain[:-1] > 0) & (gain[1:] <= 0))
        if falls.size == 1 and gain[-1] < 0 and 3 < np.exp(grid[falls[0]]) < 300:
            at = falls[0]
            slope = (gain[at] - gain[at + 1]) / (grid[at + 1] - grid[at])
            return Shape(off, on, float(slope * np.log(2))), float(np.exp(grid[at] + gain[at] / slope))
