"""Prints what following the named best arm would lose against the truly best one, on simulated sweeps of four arms.

A report for people (`python -m benchmarks.eval_best [SWEEPS]`). Throughput comes from the fitted step model, with
compute, draft cost and acceptance drawn at random, so that arms change places at random loads; noise is drawn per arm,
with a bias per arm that repeats cannot see.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probes.answer_values import Axis, BestRange, CurvePoint
from probes.crossover import estimate
from probes.sim.model import H200

SWEEPS = 1000
SEED = 3
ARMS = {"off": 0, "k1": 1, "k3": 3, "k5": 5}
LADDERS = ((1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 4, 16, 64, 256), (1, 2, 4, 8, 16, 32, 64))
BETWEEN_RUNS = 0.015
GRID = 80
CLEARLY = 0.03
"""A confident pick that is further than this behind the best is wrong."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One sweep and the true log tok/s of its arms on a grid."""

    points: list[CurvePoint]
    grid: Floats
    truth: Mapping[str, Floats]


def draw(rng: np.random.Generator) -> Drawn:
    """Arms whose drafts are accepted at a rate that decays with the position."""
    first, decay = rng.uniform(0.5, 0.85), rng.uniform(0.75, 1.0)
    passed = np.cumprod([first * decay**i for i in range(max(ARMS.values()))])
    model = replace(
        H200, token_s=H200.token_s * np.exp(rng.normal(0, 0.7)), draft_s=H200.draft_s * np.exp(rng.normal(0, 0.4))
    )

    def log_tok_s(k: int, x: float) -> float:
        return float(np.log(x * (1 + passed[:k].sum()) / model.step_s(x, k, 0)))

    ladder, repeats = LADDERS[rng.integers(len(LADDERS))], int(rng.integers(2, 5))
    points = []
    for arm, k in ARMS.items():
        sigma, bias = rng.uniform(0.005, 0.03), rng.normal(0, BETWEEN_RUNS)
        for x in ladder:
            for repeat in range(repeats):
                y = log_tok_s(k, x) + bias + rng.normal(0, sigma)
                points.append(CurvePoint(arm, float(x), float(np.exp(y)), repeat, k=float(k)))
    grid = np.exp(np.linspace(0, np.log(0.999 * ladder[-1]), GRID))
    return Drawn(points, grid, {arm: np.array([log_tok_s(k, x) for x in grid]) for arm, k in ARMS.items()})


def behind(made: Drawn, best: BestRange) -> Floats:
    """Log tok/s by which the named arm is behind the truly best one, at the grid's points inside the range."""
    inside = (made.grid >= best.start) & (made.grid <= best.end)
    return np.asarray((np.max(list(made.truth.values()), axis=0) - made.truth[best.arm])[inside], dtype=np.float64)


def main(sweeps: int) -> None:
    """One paragraph."""
    rng = np.random.default_rng(SEED)
    mean, single = [], []
    confident = wrong = points = 0
    for _ in range(sweeps):
        made = draw(rng)
        found = estimate(made.points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).best
        losses = [behind(made, best) for best in found]
        mean.append(float(np.mean(np.concatenate(losses))))
        top = np.max(list(made.truth.values()), axis=0)
        single.append(min(float(np.mean(top - own)) for own in made.truth.values()))
        for best, loss in zip(found, losses, strict=True):
            points += loss.size
            confident += loss.size if best.confident else 0
            wrong += int(np.count_nonzero(loss > CLEARLY)) if best.confident else 0
    sys.stdout.write(
        f"{sweeps} sweeps, seed {SEED}. The named arms are {np.mean(mean):.1%} behind the best ones on average over "
        f"log concurrency (95% of sweeps: {np.percentile(mean, 95):.1%}); the best single arm is {np.mean(single):.1%} "
        f"behind. A pick is confident on {confident / points:.0%} of the axis, and wrong there by more than "
        f"{CLEARLY:.0%} on {wrong / confident:.2%} of it.\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SWEEPS)
