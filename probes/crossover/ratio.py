"""The speedup of one arm over another wherever their curves overlap, with the 90% band that everything else reads.

It divides and says how sure it is; what that means is for `verdict.py` and `best.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from probes.crossover.curves import Curve
from probes.crossover.noise import COMMON_SIGMA, Z_BAND, Z_STRONG, Floats, t_quantile

GRID = 256
"""Points between the ends of an overlap, beside the rungs themselves."""
STATION_GAP = np.log(1.10)
"""Rungs of the two arms closer than this are one station of the band."""
MIN_OVERLAP = np.log(1.05)
"""Curves that share less than this much of the axis do not overlap."""
BEND_WEIGHT = 0.6
"""How much of the bend seen at a gap's two ends may hide inside the gap (1 sd of the interpolation)."""
STEP_Z = 2.0
"""How clearly, in sd of the noise, both ends of a gap must turn opposite ways to be a step."""
STEP_STEEPER = 3.0
"""How many times steeper than the gaps beside it a gap must be to be a step: a smooth fall is not."""
STEP_WEIGHT = 0.3
"""Share of a step's height that is allowed for over its whole gap (1 sd): 90% of a uniform position."""
STEP_EDGE = 0.05
"""share * (1 - share) below which that allowance fades to the station's own band."""
UNSEEN_BEND = 0.05
"""Curvature of log speedup per squared octave that is always allowed for (1 sd)."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Log speedup on a grid over natural-log concurrency."""

    log_x: Floats
    value: Floats
    half: Floats
    """Half width of the 90% band."""
    half_strong: Floats
    """Half width beyond which a sign counts for a verdict."""
    stations: Floats
    """Log concurrency of the rungs, both arms' taken together."""
    steps: Floats = field(default_factory=lambda: np.empty((0, 2)))
    """Gaps between two stations (log concurrency, a row each) in which the speedup may fall in a step."""


def ratio_of(arm: Curve, base: Curve) -> Ratio | None:
    """Divide `arm` by `base` over their overlap; None where they share too little of the axis."""
    low = max(arm.log_x[0], base.log_x[0])
    high = min(arm.log_x[-1], base.log_x[-1])
    if high - low < MIN_OVERLAP:
        return None
    knots = np.clip(np.concatenate([arm.log_x, base.log_x]), low, high)
    return ratio_on(arm, base, np.unique(np.concatenate([np.linspace(low, high, GRID), knots])))


def ratio_on(arm: Curve, base: Curve, grid: Floats) -> Ratio:
    """Divide `arm` by `base` on an ascending grid inside both ranges."""
    stations = _stations(np.concatenate([arm.log_x, base.log_x]), grid[0], grid[-1])
    value, arm_var, base_var = _difference(arm, base, grid)
    bend_sd, stepped = _bend(arm, base, stations, grid)
    bend_var = bend_sd**2
    arm_start, base_start = arm.start_noise, base.start_noise
    start_var = arm_start.variance + base_start.variance
    variance = arm_var + base_var + max(COMMON_SIGMA**2, start_var) + bend_var
    # Welch-Satterthwaite: only the two arms' own noise, of cells and of starts, was estimated from few numbers.
    few = arm_var**2 / arm.noise.df + base_var**2 / base.noise.df
    if start_var > COMMON_SIGMA**2:
        few = few + arm_start.variance**2 / arm_start.df + base_start.variance**2 / base_start.df
    df = variance**2 / few
    sd = np.sqrt(variance)
    steps = np.stack([stations[:-1], stations[1:]], axis=1)[stepped]
    return Ratio(grid, value, t_quantile(Z_BAND, df) * sd, t_quantile(Z_STRONG, df) * sd, stations, steps)


def _difference(arm: Curve, base: Curve, log_x: Floats) -> tuple[Floats, Floats, Floats]:
    arm_y, arm_var = arm.at(log_x)
    base_y, base_var = base.at(log_x)
    return arm_y - base_y, arm_var, base_var


def _stations(knots: Floats, low: float, high: float) -> Floats:
    inside = np.unique(np.clip(knots, low, high))
    groups = np.split(inside, np.flatnonzero(np.diff(inside) > STATION_GAP) + 1)
    stations = np.array([g.mean() for g in groups])
    if stations.size < 2:
        return np.array([low, high])
    stations[0], stations[-1] = low, high
    return stations


def _bend(arm: Curve, base: Curve, stations: Floats, log_x: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """How far the truth may leave the straight line between two stations, 1 sd, and the gaps that may hide a step.

    What may hide inside a gap shows as a change of slope at its ends, less what noise alone would show. Two turns the
    same way are a bend or kink: the allowance is widest in the middle. Two clear turns opposite ways around a gap much
    steeper than both its neighbours are a step, which may sit anywhere in the gap. An outermost gap has one neighbour
    and one turn; the only gap of two rungs may hide anything. The allowance vanishes at the stations themselves.
    """
    gaps = np.diff(stations) / np.log(2)
    left = np.clip(np.searchsorted(stations, log_x, side="right") - 1, 0, gaps.size - 1)
    share = (log_x - stations[left]) / (stations[left + 1] - stations[left])
    shape = share * (1 - share)
    value, arm_var, base_var = _difference(arm, base, stations)
    if gaps.size == 1:
        step, both = np.array([True]), np.abs(np.diff(value))
    else:
        step, both = _hidden(value, arm_var + base_var, gaps)
    bend = shape * np.hypot(BEND_WEIGHT * both, UNSEEN_BEND * gaps**2 / 2)[left]
    jump = np.minimum(1.0, shape / STEP_EDGE) * STEP_WEIGHT * both[left]
    return np.where(step[left], jump, bend), step


def _hidden(value: Floats, variance: Floats, gaps: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Per gap: whether it may hide a step, and the height (log speedup) that its ends' turns speak of."""
    slope = np.diff(value) / gaps
    turn = np.diff(slope)
    inverse = 1 / gaps
    turn_var = (
        variance[2:] * inverse[1:] ** 2
        + variance[:-2] * inverse[:-1] ** 2
        + variance[1:-1] * (inverse[1:] + inverse[:-1]) ** 2
    )
    seen = np.sqrt(np.maximum(0.0, turn**2 - turn_var))
    both = gaps * np.sqrt(np.concatenate([seen[:1], seen]) * np.concatenate([seen, seen[-1:]]))
    clear = np.sign(turn) * (turn**2 > STEP_Z**2 * turn_var)
    steep = np.abs(slope)
    beside = STEP_STEEPER * np.maximum(np.append(steep[1:], 0.0), np.append(0.0, steep[:-1]))
    turned = np.concatenate([[clear[0] != 0], clear[:-1] * clear[1:] < 0, [clear[-1] != 0]])
    return turned & (steep > beside), both
