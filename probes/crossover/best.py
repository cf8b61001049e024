"""Which arm to run at which concurrency: the fastest, or the simplest of those that noise cannot tell apart.

A list of hypotheses for a schedule, not a schedule; it reads curves and decides nothing about alerts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from probes.crossover.curves import Curve
from probes.crossover.noise import Floats
from probes.crossover.ratio import ratio_on
from probes.values import BestRange

Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

GRID = 96
SLIVER = np.log(1.05)
"""Ranges narrower than this are the width of a line: their neighbour takes them."""


def best_ranges(curves: Mapping[str, Curve], baseline: str) -> tuple[BestRange, ...]:
    """The best arm per stretch of concurrency, wherever at least two curves reach.

    `margin_pct` is how much the arm leads the next fastest, median over the stretch, negative where a simpler arm
    is named although another reads faster within the noise. `confident` means that it leads every other arm that
    was measured there beyond the noise (90%).
    """
    names = sorted(curves, key=lambda name: (name != baseline, _k_of(name), name))
    if len(names) < 2:
        return ()
    ends = sorted(float(edge) for c in curves.values() for edge in (c.log_x[0], c.log_x[-1]))
    grid = np.unique(np.concatenate([np.linspace(ends[0], ends[-1], GRID), ends]))
    inside = np.array([(grid >= curves[n].log_x[0]) & (grid <= curves[n].log_x[-1]) for n in names])
    lead = np.full((len(names), len(names), grid.size), np.nan)
    noise = np.full_like(lead, np.nan)
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            shared = inside[i] & inside[j]
            if np.count_nonzero(shared) < 2:
                continue
            ratio = ratio_on(curves[one], curves[other], grid[shared])
            lead[i, j, shared], lead[j, i, shared] = ratio.value, -ratio.value
            noise[i, j, shared] = noise[j, i, shared] = ratio.half
    chosen, margin, sure = _picks(lead, noise)
    compared = np.flatnonzero(~np.all(np.isnan(lead), axis=(0, 1)))
    stretches = np.split(compared, np.flatnonzero(np.diff(compared) > 1) + 1)
    return tuple(
        found for at in stretches if at.size for found in _ranges(names, grid[at], chosen[at], margin[at], sure[at])
    )


def _k_of(name: str) -> float:
    """Draft length as arms are usually named (`k3`, `mtp-5`); a name without a number sorts as the least simple."""
    found = re.search(r"\d+", name)
    return float(found[0]) if found else float("inf")


def _picks(lead: Floats, noise: Floats) -> tuple[Ints, Floats, Bools]:
    """Per concurrency: the best arm's index, its lead over the next fastest, and whether it clears the noise.

    `lead[i, j]` is arm i's log lead over arm j, NaN where they were not both measured; arms are in order of simplicity.
    """
    at = np.arange(lead.shape[2])
    unknown = np.isnan(lead)
    measured = ~unknown.all(axis=1)
    least = np.where(measured, np.where(unknown, np.inf, lead).min(axis=1), -np.inf)
    fastest = np.argmax(least, axis=0)
    beats = lead > noise
    equal = measured & ~beats[fastest, :, at].T
    chosen = np.argmax(equal, axis=0)
    sure = np.all(beats | unknown, axis=1)
    return chosen, least[chosen, at], sure[chosen, at]


def _ranges(names: list[str], grid: Floats, chosen: Ints, margin: Floats, sure: Bools) -> list[BestRange]:
    """Neighbouring picks of the same arm and confidence as one range each, slivers joined to the range below."""
    keys = list(zip(chosen.tolist(), sure.tolist(), strict=True))
    bounds = [0, *(i for i in range(1, len(keys)) if keys[i] != keys[i - 1]), len(keys)]
    pieces: list[tuple[int, int]] = []
    for start, end in pairwise(bounds):
        narrow = grid[end - 1] - grid[start] < SLIVER
        if pieces and (narrow or keys[start] == keys[pieces[-1][0]]):
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    edges = np.exp(grid)
    return [
        BestRange(
            start=float(edges[start]),
            end=float(edges[min(end, edges.size - 1)]),
            arm=names[keys[start][0]],
            margin_pct=100 * float(np.expm1(np.median(margin[start:end]))),
            confident=keys[start][1],
        )
        for start, end in pieces
    ]
