"""Sweeps with a known crossover, so that what the estimator claims can be counted against the truth.

Shapes, ladders and noise are drawn at random; nothing here knows how the estimator works.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probes.values import CurvePoint

Floats = NDArray[np.float64]
LADDERS: tuple[tuple[int, ...], ...] = (
    (1, 2, 4, 8, 16, 32, 64),
    (1, 2, 4, 8, 16, 32, 64, 128, 256),
    (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
    (2, 5, 10, 25, 50, 75, 100, 150),
    (1, 4, 16, 64, 256),
)
COMMON_SIGMA = 0.02


@dataclass(frozen=True, slots=True)
class Sweep:
    """Points of the arms `off` and `on`, and the concurrency above which `on` stays slower (None: there is none)."""

    points: list[CurvePoint]
    crossover: float | None
    slope: float
    """Log speedup lost per octave at the crossover; 0 where there is none."""


Shape = Callable[[Floats, float, float, np.random.Generator], Floats]
"""Log speedup over octaves, given the octave of the crossing and the slope there."""


def _linear(o: Floats, at: float, slope: float, rng: np.random.Generator) -> Floats:
    return -slope * (o - at)


def _roofline(o: Floats, at: float, slope: float, rng: np.random.Generator) -> Floats:
    """Gain of idle compute that a kink ends: flat below, then steady loss."""
    knee = at - rng.uniform(0.3, 1.5)
    return np.asarray(slope * (at - np.maximum(o, knee)))


def _plateau(o: Floats, at: float, slope: float, rng: np.random.Generator) -> Floats:
    """Flat gain, a smooth fall, flat loss."""
    return np.asarray(-slope * 1.5 * np.tanh((o - at) / 1.5), dtype=np.float64)


def _step(o: Floats, at: float, slope: float, rng: np.random.Generator) -> Floats:
    """A fall within a tenth of an octave, as where a graph size or a schedule ends."""
    return np.asarray(-slope * np.tanh((o - at) / 0.05), dtype=np.float64)


def _dip(o: Floats, at: float, slope: float, rng: np.random.Generator) -> Floats:
    """Loses around the middle and wins again above: no concurrency above which it stays slower."""
    return np.asarray(slope - 2.5 * slope * np.exp(-(((o - at) / 0.9) ** 2)))


CROSSING: dict[str, Shape] = {"linear": _linear, "roofline": _roofline, "plateau": _plateau, "step": _step}
SHAPES = (*CROSSING, "shallow", "dip", "never", "always")


def simulate(
    shape: str,
    rng: np.random.Generator,
    *,
    noise: float | None = None,
    repeats: int | None = None,
    ladder: tuple[int, ...] | None = None,
    common: float = COMMON_SIGMA,
    min_slope: float = 0.05,
) -> Sweep:
    """One sweep. Noise is the relative sd of a cell (None: 0.5% to 3% per arm); `common` is the sd of the ratio."""
    ladder = ladder or LADDERS[rng.integers(len(LADDERS))]
    repeats = repeats or int(rng.integers(2, 5))
    octaves = np.log2(np.array(ladder, dtype=np.float64))
    at = rng.uniform(octaves[0] + 0.2 * np.ptp(octaves), octaves[-1] - 0.2 * np.ptp(octaves))
    slope = rng.uniform(0.015, 0.04) if shape == "shallow" else rng.uniform(min_slope, 0.35)
    crossover: float | None = float(2**at)

    def speedup(o: Floats) -> Floats:
        if shape == "never":
            return np.asarray(-0.08 - slope * (o - octaves[0]) / 4, dtype=np.float64)
        if shape == "always":
            return np.asarray(0.08 + slope * (octaves[-1] - o) / 4, dtype=np.float64)
        if shape == "dip":
            return _dip(o, at, slope, rng)
        return bend(o, at, slope, np.random.default_rng(bend_seed))

    bend = CROSSING.get(shape, _linear)
    bend_seed = int(rng.integers(2**32))
    if shape in ("never", "always", "dip"):
        crossover, slope_there = None, 0.0
    else:
        slope_there = slope
    shift = rng.normal(0, common)
    saturation = rng.uniform(30, 200)
    points = []
    for arm in ("off", "on"):
        sigma = rng.uniform(0.005, 0.03) if noise is None else noise
        reach = rng.uniform(0.96, 1.0)
        for rung in ladder:
            for repeat in range(repeats):
                x = rung * reach * math.exp(rng.normal(0, 0.003))
                log_y = math.log(210 * x / (1 + x / saturation)) + rng.normal(0, sigma)
                if arm == "on":
                    log_y += float(speedup(np.log2(np.array([x])))[0]) + shift
                points.append(CurvePoint(arm, x, math.exp(log_y), repeat))
    return Sweep(points, crossover, slope_there)


def same_server_twice(rng: np.random.Generator, *, common: float = COMMON_SIGMA) -> list[CurvePoint]:
    """An A/A sweep: both arms are the same server, 7 rungs, 2 to 4 repeats, 1-2% noise, one shift between the runs."""
    noise, repeats, shift = rng.uniform(0.01, 0.02), int(rng.integers(2, 5)), rng.normal(0, common)
    points = []
    for arm, offset in (("off", 0.0), ("again", shift)):
        for rung in LADDERS[0]:
            for repeat in range(repeats):
                x = rung * math.exp(rng.normal(0, 0.003))
                log_y = math.log(210 * x / (1 + x / 80)) + offset + rng.normal(0, noise)
                points.append(CurvePoint(arm, x, math.exp(log_y), repeat))
    return points
