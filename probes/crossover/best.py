"""Which arm to run at which concurrency: the fastest, or the simplest of those that noise cannot tell apart.

A list of hypotheses for a schedule, not a schedule; it reads curves and decides nothing about alerts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from probes.crossover.curves import Curve
from probes.crossover.noise import Floats
from probes.crossover.ratio import ratio_on
from probes.values import BestRange

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
    compared = np.flatnonzero(~np.all(np.isnan(lead), axis=(0, 1)))
    picks = [_pick(lead[:, :, at], noise[:, :, at]) for at in compared]
    return tuple(_ranges(names, grid[compared], picks))


def _k_of(name: str) -> float:
    """Draft length as arms are usually named (`k3`, `mtp-5`); a name without a number sorts as the least simple."""
    found = re.search(r"\d+", name)
    return float(found[0]) if found else float("inf")


_Pick = tuple[int, float, bool]


def _pick(lead: Floats, noise: Floats) -> _Pick:
    """Index of the best arm at one concurrency, its lead over the next fastest, and whether it clears the noise."""
    here = np.flatnonzero(~np.all(np.isnan(lead), axis=1))
    lead, noise = lead[np.ix_(here, here)], noise[np.ix_(here, here)]
    behind = np.nan_to_num(-lead, nan=-np.inf)
    fastest = int(np.argmin(behind.max(axis=1)))
    equal = [i for i in range(here.size) if i == fastest or not lead[fastest, i] > noise[fastest, i]]
    chosen = equal[0]
    margin = float(np.nanmin(lead[chosen]))
    sure = bool(np.all((lead[chosen] > noise[chosen]) | np.isnan(lead[chosen])))
    return int(here[chosen]), margin, sure


def _ranges(names: list[str], grid: Floats, picks: list[_Pick]) -> list[BestRange]:
    bounds = [0, *(i for i in range(1, len(picks)) if _key(picks[i]) != _key(picks[i - 1])), len(picks)]
    pieces: list[tuple[int, int]] = []
    for start, end in pairwise(bounds):
        narrow = grid[end - 1] - grid[start] < SLIVER
        if pieces and (narrow or _key(picks[start]) == _key(picks[pieces[-1][0]])):
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    ranges = []
    for start, end in pieces:
        chosen, _, sure = picks[start]
        margin = float(np.median([lead for _, lead, _ in picks[start:end]]))
        upper = grid[min(end, len(picks) - 1)]
        ranges.append(
            BestRange(
                float(np.exp(grid[start])), float(np.exp(upper)), names[chosen], 100 * float(np.expm1(margin)), sure
            )
        )
    return ranges


def _key(pick: _Pick) -> tuple[int, bool]:
    return pick[0], pick[2]
