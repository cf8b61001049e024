"""Sweeps with a known truth, so that what the estimator claims can be counted against it.

Ladder, crossing, slope, noise, tails, drift and the difference between runs are drawn at random for each sweep, and its
cells come in the order in which a real sweep measures them. Nothing here knows how the estimator works.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from probes.answer_values import CurvePoint
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec, SweepPlan, cell_order
from probes.values import Target
from tests.support.sweep_shapes import CROSSING, SHAPES, Floats, Shape, draw_model, draw_shape

__all__ = ["CROSSING", "LADDER", "SHAPES", "Noise", "Sweep", "draw_noise", "same_server_twice", "simulate"]

LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BETWEEN_RUNS = (0.01, 0.03)
"""Sd of the difference between two runs of one server, drawn evenly: 2-3% have been measured, 1% is a calm machine."""
FINE = 400
"""Points of the true curve."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What one sweep suffers; relative numbers."""

    off: float
    """Sd of one cell of the baseline."""
    on: float
    between_runs: float
    """Sd of the ratio of two runs of one server, which no repeat of either sees."""
    tails_df: float | None = None
    """Degrees of freedom of Student's t; None is normal."""
    drift: float = 0.0
    """Log throughput gained from the first cell to the last, by both arms."""
    wander: float = 0.0
    """Sd at the last cell of a random walk that both arms follow."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Points of the arms `off` and `on`, and the truth where both were measured."""

    shape: str
    points: list[CurvePoint]
    noise: Noise
    crossover: float | None
    """Concurrency above which `on` stays slower; None where there is none inside the ladder."""
    slope: float
    """Log speedup lost per octave at the crossover; 0 where there is none."""
    log_x: Floats
    """A fine grid from the lowest to the highest concurrency that both arms ran, natural log."""
    gain: Floats
    """True log speedup on it."""


def draw_noise(rng: np.random.Generator, *, least: float = 0.005) -> Noise:
    """0.5% (or `least`) to 3% per arm; half of the sweeps with heavy tails, half with drift, half wandering."""
    off, on = np.exp(rng.uniform(np.log(least), np.log(0.03), 2))
    return Noise(
        off=float(off),
        on=float(on),
        between_runs=float(rng.uniform(*BETWEEN_RUNS)),
        tails_df=float(rng.uniform(3, 4)) if rng.random() < 0.5 else None,
        drift=float(rng.normal(0, 0.02)) if rng.random() < 0.5 else 0.0,
        wander=0.01 if rng.random() < 0.5 else 0.0,
    )


def draw_ladder(rng: np.random.Generator, first: float, top: float, rungs: int) -> tuple[int, ...]:
    """Rising clients whose steps differ by up to a factor of two in octaves, as people write them."""
    steps = rng.uniform(0.7, 1.4, rungs - 1)
    share = np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])
    return tuple(sorted({round(float(x)) for x in first * (top / first) ** share}))


def simulate(
    shape: str,
    rng: np.random.Generator,
    *,
    noise: Noise | None = None,
    repeats: int | None = None,
    ladder: tuple[int, ...] | None = None,
    min_slope: float = 0.05,
    restarts: bool = False,
) -> Sweep:
    """One sweep of a shape; what is not given is drawn. With `restarts` every pass of an arm has a start of its own."""
    noise = noise or draw_noise(rng)
    repeats = repeats or int(rng.integers(2, 6))
    rungs = int(rng.integers(6, 13))
    if shape == "model":
        truth, crossover = draw_model(rng)
        ladder = ladder or draw_ladder(rng, 1, max(8, crossover * 2 ** rng.uniform(0.6, 2.0)), rungs)
    else:
        first = int(rng.choice([1, 1, 2, 4]))
        ladder = ladder or draw_ladder(rng, first, first * 2 ** rng.uniform(4.5, 8), rungs)
        truth = draw_shape(shape, rng, np.log2(np.array(ladder, dtype=np.float64)), min_slope)
    return _measured(shape, truth, ladder, repeats, noise, rng, restarts)


def _measured(
    shape: str,
    truth: Shape,
    ladder: tuple[int, ...],
    repeats: int,
    noise: Noise,
    rng: np.random.Generator,
    restarts: bool = False,
) -> Sweep:
    slots = _slots(ladder, repeats, restarts)
    on = np.array([slot.arm == "on" for slot in slots])
    reach = rng.uniform(0.96, 1.0, 2)
    log_x = np.log([slot.rung for slot in slots]) + np.log(reach[on.astype(int)]) + rng.normal(0, 0.003, len(slots))
    log_y = np.where(on, truth.on(log_x), truth.off(log_x))
    if noise.tails_df is None:
        cell = rng.normal(0, 1, len(slots))
    else:
        cell = rng.standard_t(noise.tails_df, len(slots)) / np.sqrt(noise.tails_df / (noise.tails_df - 2))
    log_y += cell * np.where(on, noise.on, noise.off)
    late = np.arange(len(slots)) / len(slots)
    log_y += noise.drift * late + noise.wander * np.cumsum(rng.normal(0, 1, len(slots))) / np.sqrt(len(slots))
    if restarts:
        starts = np.array([slot.start for slot in slots])
        log_y += (noise.between_runs / np.sqrt(2) * rng.normal(0, 1, 2 * repeats))[starts]
    else:
        log_y += noise.between_runs * rng.normal() * on
    points = [
        CurvePoint(slot.arm, x, y, slot.repeat, start=slot.start)
        for slot, x, y in zip(slots, np.exp(log_x).tolist(), np.exp(log_y).tolist(), strict=True)
    ]
    shared = np.linspace(
        max(log_x[on].min(), log_x[~on].min()), min(log_x[on].max(), log_x[~on].max()), FINE, dtype=np.float64
    )
    gain = truth.speedup(shared)
    return Sweep(shape, points, noise, _last_fall(shared, gain), truth.slope, shared, gain)


def _last_fall(log_x: Floats, gain: Floats) -> float | None:
    """Where the speedup falls through 1 for good; None where it ends above 1 or never was."""
    faster = np.flatnonzero(gain > 0)
    if not faster.size or faster[-1] == gain.size - 1:
        return None
    at = int(faster[-1])
    share = gain[at] / (gain[at] - gain[at + 1])
    return float(np.exp(log_x[at] + share * (log_x[at + 1] - log_x[at])))


@lru_cache(maxsize=256)
def _slots(ladder: tuple[int, ...], repeats: int, restarts: bool) -> tuple[CellSlot, ...]:
    arms = tuple(
        ArmPlan(name, Target(name, "http://127.0.0.1"), name == "on", restart="restart" if restarts else None)
        for name in ("off", "on")
    )
    return cell_order(
        SweepPlan(
            pool="simulated",
            endpoint="simulated",
            baseline="off",
            live_arm=None,
            arms=arms,
            ladder=ladder,
            repeats=repeats,
            cell_s=45,
            warmup_s=10,
            load=LoadSpec(),
            max_foreign=0,
            max_minutes=240,
        )
    )


def same_server_twice(rng: np.random.Generator, *, between_runs: float = 0.02) -> list[CurvePoint]:
    """An A/A sweep: both arms are the same server, 7 rungs, 2 to 4 repeats, 1-2% noise, one shift between the runs."""
    sigma = float(rng.uniform(0.01, 0.02))

    def curve(log_x: Floats) -> Floats:
        return np.asarray(np.log(210) + log_x - np.logaddexp(0, log_x - np.log(80)))

    noise = Noise(sigma, sigma, between_runs)
    return _measured("same", Shape(curve, curve, 0.0), LADDER[:7], int(rng.integers(2, 5)), noise, rng).points
