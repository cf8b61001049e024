"""How often the intervals of a cost cover the truth, over random sweeps; `python -m benchmarks.eval_cost` prints it.

Curves are x a / step time with the roofline of `probes/sim/model.py`, its constants, K and acceptance drawn at random;
ladder, repeats, noise of cells (0.5 to 2.5%) and of runs (1 to 3%) are drawn per sweep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from probes.answer_values import Axis, CurvePoint, CurveSample
from probes.crossover import estimate
from probes.crossover.arrival import Curve, curve_of, curves_of, lead, same_rate
from probes.sim.model import StepModel

LADDERS: dict[str, tuple[int, ...]] = {
    "dense": (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128),
    "doubling": (1, 2, 4, 8, 16, 32, 64, 128, 256),
    "sparse": (1, 4, 16, 64, 256),
    "uneven": (1, 8, 32, 64, 128, 192, 256),
}
TRUE_POINTS = 200

Speed = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Cover:
    """Over the sweeps of one ladder."""

    cases: int
    """Loads at which the truth is inside what was measured, two per sweep."""
    same_rate: float
    """Share of the intervals of the concurrency at the same arrivals that cover."""
    same_concurrency: float
    """The same of the output at one concurrency."""
    width_octaves: float
    """Median, of the former."""
    error: float
    """Median, relative, of the former."""
    silent: int
    """Cases in which nothing was said though there was a truth."""


def _arms(rng: np.random.Generator) -> tuple[Speed, Speed]:
    """tok/s over concurrency, without and with speculation."""
    k = int(rng.choice([1, 3, 5]))
    model = StepModel(
        base_s=1.5e-4,
        draft_s=float(rng.uniform(2e-4, 8e-4)),
        memory_s=5e-3,
        token_s=float(10 ** rng.uniform(-5.0, -3.7)),
        corner=float(rng.uniform(1.5, 4.0)),
        request_s=float(10 ** rng.uniform(-5.5, -4.3)),
        prefill_base_s=0.0,
        prefill_s=0.0,
    )
    length = 1.0 + float(np.cumprod(rng.uniform(0.55, 0.85, size=k)).sum())
    return lambda x: x / model.step_s(x, 0, 0.0), lambda x: x * length / model.step_s(x, k, 0.0)


def _points(
    arm: str, speed: Speed, ladder: Sequence[int], repeats: int, run: float, rng: np.random.Generator
) -> list[CurvePoint]:
    off, sigma = rng.normal(0.0, run / math.sqrt(2)), rng.uniform(0.005, 0.025)
    return [
        CurvePoint(
            arm,
            x * math.exp(rng.normal(0.0, 0.003)),
            speed(float(x)) * math.exp(off + rng.normal(0.0, sigma)),
            repeat,
        )
        for x in ladder
        for repeat in range(repeats)
    ]


def coverage(ladder: Sequence[int], sweeps: int, seed: int) -> Cover:
    """Draw `sweeps` sweeps over one ladder and hold their answers against the truth."""
    rng = np.random.default_rng(seed)
    top = float(ladder[-1])
    rate_hits, same_hits, widths, errors, silent = [], [], [], [], 0
    for _ in range(sweeps):
        off, on = _arms(rng)
        repeats, run = int(rng.integers(2, 5)), float(rng.uniform(0.01, 0.03))
        points = [*_points("off", off, ladder, repeats, run, rng), *_points("on", on, ladder, repeats, run, rng)]
        curves = curves_of(estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).curves)
        true = {name: _true(speed, top) for name, speed in (("off", off), ("on", on))}
        for load in (float(rng.uniform(0.1, 1.0)), math.exp(rng.uniform(0.0, math.log(top)))):
            truth, found = same_rate(true["on"], true["off"], load), same_rate(curves["on"], curves["off"], load)
            if truth.concurrency is None:
                continue
            if found.concurrency is None:
                silent += 1
                continue
            low, high = found.low or 0.0, found.high or math.inf
            rate_hits.append(low <= truth.concurrency <= high)
            errors.append(abs(math.log(found.concurrency / truth.concurrency)))
            if found.low is not None and found.high is not None:
                widths.append(math.log2(high / low))
        load = math.exp(rng.uniform(0.0, 0.99 * math.log(top)))
        point = lead(curves["off"], curves["on"], load)
        if point is not None:
            same_hits.append(point.low <= off(load) / on(load) <= point.high)
    return Cover(
        cases=len(rate_hits) + silent,
        same_rate=float(np.mean(rate_hits)),
        same_concurrency=float(np.mean(same_hits)),
        width_octaves=median(widths),
        error=median(errors),
        silent=silent,
    )


def _true(speed: Speed, top: float) -> Curve:
    samples = [CurveSample(float(x), y, y, y) for x in np.geomspace(1.0, top, TRUE_POINTS) for y in (speed(float(x)),)]
    curve = curve_of(samples)
    assert curve is not None
    return curve
