"""A smooth line through one arm's rungs, because throughput bends between them and straight pieces cut the bend off.

Monotone piecewise cubic (F. N. Fritsch, R. E. Carlson, "Monotone piecewise cubic interpolation", 1980, with
the harmonic mean of Fritsch and Butland for the slopes): it never overshoots, and noise at a rung makes no dip beside
it. Pure.
"""

from __future__ import annotations

import numpy as np

from probes.crossover.noise import Floats


def monotone_cubic(x: Floats, y: Floats, at: Floats) -> Floats:
    """The line through (x, y), x ascending and at least two, at points inside x's range."""
    if x.size == 2:
        return np.interp(at, x, y)
    width = np.diff(x)
    slope = np.diff(y) / width
    ends = _slopes(width, slope)
    left = np.clip(np.searchsorted(x, at, side="right") - 1, 0, width.size - 1)
    h, t = width[left], (at - x[left]) / width[left]
    return np.asarray(
        y[left] * (1 + 2 * t) * (1 - t) ** 2
        + y[left + 1] * t**2 * (3 - 2 * t)
        + h * ends[left] * t * (1 - t) ** 2
        - h * ends[left + 1] * t**2 * (1 - t),
        dtype=np.float64,
    )


def _slopes(width: Floats, slope: Floats) -> Floats:
    """At each point: 0 where the line turns, else the weighted harmonic mean of both sides."""
    before, after = slope[:-1], slope[1:]
    one, two = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    same = before * after > 0
    safe = np.where(same, before * after, 1.0)
    inner = np.where(same, (one + two) * safe / np.where(same, one * after + two * before, 1.0), 0.0)
    first = _end(width[0], width[1], slope[0], slope[1])
    last = _end(width[-1], width[-2], slope[-1], slope[-2])
    return np.concatenate([[first], inner, [last]])


def _end(width: float, next_width: float, slope: float, next_slope: float) -> float:
    """The three-point slope at an end, kept from overshooting."""
    found = ((2 * width + next_width) * slope - width * next_slope) / (width + next_width)
    if found * slope <= 0:
        return 0.0
    return 3 * slope if slope * next_slope < 0 and abs(found) > 3 * abs(slope) else float(found)
