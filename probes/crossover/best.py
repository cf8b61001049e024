"""Which arm to run at which concurrency: the fastest, or the simplest of those that noise cannot tell apart.

A list of hypotheses for a schedule, not a schedule; it reads curves and decides nothing about alerts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from probes.answer_values import BestRange, CurvePoint
from probes.crossover.curves import Curve
from probes.crossover.noise import UNBOUNDED, Floats
from probes.crossover.ratio import ratio_on

Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

GRID = 96
SLIVER = np.log(1.05)
"""Ranges narrower than this are the width of a line: their neighbour takes them."""
WORTH_NAMING = 0.1
"""Share of a range from which on an arm there is named as next fastest, or as equal."""
K_APART = 0.5
"""Draft tokens per step by which an arm's rungs must differ to say that its K changes with the load."""


def draft_lengths(points: Sequence[CurvePoint]) -> dict[str, float]:
    """K by arm as its counters show it; infinite where it changes with the load, absent where nothing tells."""
    seen: dict[str, list[float]] = {}
    for point in points:
        if point.k is not None:
            seen.setdefault(point.arm, []).append(point.k)
    return {arm: float("inf") if max(own) - min(own) > K_APART else median(own) for arm, own in seen.items()}


def best_ranges(
    curves: Mapping[str, Curve], baseline: str, drafts: Mapping[str, float] | None = None
) -> tuple[BestRange, ...]:
    """The best arm per stretch of concurrency, wherever at least two curves reach.

    The baseline is the simplest arm, then fewer draft tokens per step (`drafts`, else the number in the arm's name)
    are simpler than more. `BestRange` says what its numbers mean.
    """
    lengths = drafts or {}
    names = sorted(curves, key=lambda name: (name != baseline, lengths.get(name, _k_of(name)), name))
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
    field = _Field(names, grid, lead, noise)
    compared = np.flatnonzero(~np.all(np.isnan(lead), axis=(0, 1)))
    stretches = np.split(compared, np.flatnonzero(np.diff(compared) > 1) + 1)
    return tuple(
        _range(field.cut(piece), arm, sure, curves[names[arm]], float(end))
        for at in stretches
        if at.size
        for piece, arm, sure, end in _pieces(field, at)
    )


def _k_of(name: str) -> float:
    """Draft length as arms are usually named (`k3`, `mtp-5`, `eagle3-k1`); a name without a number is the least simple.

    A number behind a `k` of its own counts before any other, the last number otherwise.
    """
    found = re.findall(r"(?<![a-z])k[-_=]?(\d+)", name.lower()) or re.findall(r"\d+", name)
    return float(found[-1]) if found else float("inf")


@dataclass(frozen=True, slots=True)
class _Field:
    """Every arm against every other; `lead[i, j]` is arm i's log lead over arm j, NaN where not both were measured."""

    names: list[str]
    """In order of simplicity."""
    grid: Floats
    lead: Floats
    noise: Floats

    def cut(self, at: Ints) -> _Field:
        """The same at some of the grid's points."""
        return _Field(self.names, self.grid[at], self.lead[:, :, at], self.noise[:, :, at])


def _picks(field: _Field) -> tuple[Ints, Bools]:
    """Per concurrency: the best arm's index, and whether its lead clears the noise against every other arm."""
    at = np.arange(field.grid.size)
    unknown = np.isnan(field.lead)
    measured = ~unknown.all(axis=1)
    least = np.where(measured, np.where(unknown, np.inf, field.lead).min(axis=1), -np.inf)
    fastest = np.argmax(least, axis=0)
    beats = field.lead > field.noise
    equal = measured & ~beats[fastest, :, at].T
    chosen = np.argmax(equal, axis=0)
    return chosen, np.all(beats | unknown, axis=1)[chosen, at]


def _pieces(field: _Field, at: Ints) -> list[tuple[Ints, int, bool, float]]:
    """Neighbouring picks of the same arm and confidence as one piece, slivers joined to the piece below (the lowest
    to the one above).

    Each with its arm, its confidence and its upper end, where the next one begins.
    """
    chosen, sure = _picks(field.cut(at))
    grid = field.grid[at]
    keys = list(zip(chosen.tolist(), sure.tolist(), strict=True))
    bounds = [0, *(i for i in range(1, len(keys)) if keys[i] != keys[i - 1]), len(keys)]
    pieces: list[tuple[int, int, tuple[int, bool]]] = []
    for start, end in pairwise(bounds):
        narrow = grid[end - 1] - grid[start] < SLIVER
        first, before, key = pieces[-1] if pieces else (start, start, keys[start])
        if pieces and (narrow or keys[start] == key):
            pieces[-1] = (first, end, key)
        elif pieces and grid[before - 1] - grid[first] < SLIVER:
            pieces[-1] = (first, end, keys[start])
        else:
            pieces.append((start, end, keys[start]))
    return [(at[start:end], *key, np.exp(grid[min(end, grid.size - 1)])) for start, end, key in pieces]


def _range(field: _Field, arm: int, sure: bool, curve: Curve, end: float) -> BestRange:
    lead, noise = field.lead[arm], field.noise[arm]
    distance = np.where(np.isnan(lead), np.inf, lead)
    close = np.isfinite(distance) & (distance == distance.min(axis=0) if sure else lead <= noise)
    named = sorted(np.flatnonzero(close.mean(axis=1) >= WORTH_NAMING), key=lambda i: int(np.argmax(close[i])))
    distance = distance[named]
    known = np.flatnonzero(np.isfinite(distance.min(axis=0)))
    nearest = distance[:, known].argmin(axis=0)
    margin, half = distance[nearest, known], noise[named][nearest, known]
    start, edge = float(np.exp(field.grid[0])), curve.limited_above
    return BestRange(
        start=start,
        end=end,
        arm=field.names[arm],
        margin_pct=pct(np.median(margin)),
        confident=sure,
        over=tuple(field.names[i] for i in named),
        low_pct=pct(margin.min()),
        high_pct=pct(margin.max()),
        noise_pct=pct(np.median(half)),
        limited_above=edge if edge is not None and start <= edge < end else None,
    )


def pct(log_ratio: float | Floats) -> float:
    """A logarithm of a ratio as percent more."""
    return 100 * float(np.expm1(np.clip(log_ratio, -UNBOUNDED, UNBOUNDED)))


def short(concurrency: float) -> str:
    """An edge of a range in words: no finer than where rungs were measured."""
    return f"{concurrency:.2g}" if concurrency < 10 else f"{concurrency:.0f}"
