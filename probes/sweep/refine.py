"""Decides, once the ladder is done, where a few more cells would narrow the crossover most, and when they cannot; pure.

Only arms that cross are refined, each together with the baseline: A B B A on one rung at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from statistics import median

from probes.answer_values import ArmVerdict, Crossover, Verdict
from probes.crossover import speedup_at
from probes.crossover.noise import COMMON_SIGMA, Z_BAND
from probes.sweep.plan import CellSlot, SweepPlan, cell_order
from probes.values import Cell

NEW_RUNG = math.log(1.2)
"""A rung closer than this to a measured one tells no more of the curve's shape: repeats serve better."""
DOMINATED = 0.85
"""Share of the interval that the difference between two runs makes by itself, from which cells hardly narrow it."""


@dataclass(frozen=True, slots=True)
class Round:
    """The next cells of a refinement."""

    arm: str
    rung: int
    slots: tuple[CellSlot, ...]


def width_octaves(verdict: ArmVerdict) -> float | None:
    """Width of a crossover's interval; an open edge counts as the end of what was measured. None for other verdicts."""
    edges = _edges(verdict)
    return None if edges is None else math.log2(edges[1] / edges[0])


def too_wide(plan: SweepPlan, verdict: ArmVerdict) -> bool:
    """Whether the plan asks for a narrower interval."""
    width = width_octaves(verdict)
    return plan.refine_octaves > 0 and width is not None and width > plan.refine_octaves


def between_runs_share(verdict: ArmVerdict) -> float | None:
    """The part of the interval, 0..1, that remains however many cells are added: two runs of one server differ.

    The band is read at both edges and at the crossover: a step has its rungs for edges, and is open between them.
    """
    edges = _edges(verdict)
    if edges is None or verdict.crossover is None:
        return None
    at = [speedup_at(verdict, x) for x in (*edges, verdict.crossover)]
    halves = [math.log(point.high / point.low) / 2 for point in at if point is not None]
    return Z_BAND * COMMON_SIGMA / (sum(halves) / len(halves)) if halves and sum(halves) > 0 else None


def refined(plan: SweepPlan, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that are none of the ladder's."""
    return [cell for cell in cells if cell.rung not in plan.ladder or cell.repeat >= plan.repeats]


def cells_left(plan: SweepPlan, cells: Sequence[Cell]) -> int:
    """How many cells refinement may still add: all in all as many as the ladder has."""
    return len(cell_order(plan)) - len(refined(plan, cells))


def next_round(plan: SweepPlan, cells: Sequence[Cell], crossover: Crossover, order: int, start: int) -> Round | None:
    """The cells that serve best now, numbered from `order` and `start`; None where no arm can be refined.

    The arm with the widest interval is next: first on the crossing itself, then half-way to the rungs beside it, then
    on whichever of those has the fewest repeats. Where the interval is open, noise at the ladder's end is in the way,
    and one more rung would only be one more tie, which can cost the verdict: there repeats alone serve. A start of
    its own (restart plans) also measures the two rungs beside, or its shift would be taken for the curve's shape there.
    """
    open_ones = [arm for arm in crossover.arms.values() if too_wide(plan, arm) and not is_dominated(arm)]
    for verdict in sorted(open_ones, key=lambda one: -(width_octaves(one) or 0.0)):
        found = _rung(plan, cells, verdict)
        if found is None:
            continue
        rung, beside = found
        rungs = tuple(sorted({rung, *beside})) if plan.restarts else (rung,)
        return Round(verdict.arm, rung, _slots(plan, cells, verdict.arm, rungs, order, start))
    return None


def is_dominated(verdict: ArmVerdict) -> bool:
    """Whether more cells would hardly narrow the interval."""
    return (between_runs_share(verdict) or 0.0) >= DOMINATED


def _edges(verdict: ArmVerdict) -> tuple[float, float] | None:
    if verdict.verdict is not Verdict.CROSSES or not verdict.speedup:
        return None
    low = verdict.speedup[0].concurrency if verdict.low is None else verdict.low
    high = verdict.speedup[-1].concurrency if verdict.high is None else verdict.high
    return low, high


def _rung(plan: SweepPlan, cells: Sequence[Cell], verdict: ArmVerdict) -> tuple[int, tuple[int, int]] | None:
    """The clients to measure with next, and the measured rungs below and above the crossing."""
    pair = (verdict.arm, plan.baseline)
    valid = [c for c in cells if c.arm in pair and c.valid and c.concurrency]
    times = {arm: [c.rung for c in valid if c.arm == arm] for arm in pair}
    both = sorted(set(times[pair[0]]) & set(times[pair[1]]))
    edges = _edges(verdict)
    if len(both) < 2 or edges is None or verdict.crossover is None:
        return None
    near = sorted(valid, key=lambda c: abs(math.log((c.concurrency or 1.0) / (verdict.crossover or 1.0))))[:8]
    per_concurrency = median(c.rung / c.concurrency for c in near if c.concurrency)
    wanted, low, high = (per_concurrency * x for x in (verdict.crossover, *edges))
    below = max((rung for rung in both if rung <= wanted), default=both[0])
    above = min((rung for rung in both if rung > wanted), default=both[-1])
    closed = verdict.low is not None and verdict.high is not None
    for clients in (wanted, math.sqrt(below * wanted), math.sqrt(wanted * above)) if closed else ():
        new = round(clients)
        if below < new < above and all(abs(math.log(new / rung)) > NEW_RUNG for rung in both):
            return new, (below, above)
    inside = [rung for rung in both if low <= rung <= high or rung in (below, above)]
    fewest = min(inside, key=lambda rung: (min(times[arm].count(rung) for arm in pair), abs(math.log(rung / wanted))))
    return fewest, (below, above)


def _slots(
    plan: SweepPlan, cells: Sequence[Cell], arm: str, rungs: Sequence[int], order: int, start: int
) -> tuple[CellSlot, ...]:
    orders, starts = count(order), count(start)
    repeats = {
        (name, rung): count(1 + max((c.repeat for c in cells if (c.arm, c.rung) == (name, rung)), default=-1))
        for name in (plan.baseline, arm)
        for rung in rungs
    }
    slots: list[CellSlot] = []
    for name in (plan.baseline, arm, arm, plan.baseline):
        own_start = next(starts) if plan.restarts else None
        slots += [CellSlot(name, rung, next(repeats[name, rung]), next(orders), own_start) for rung in rungs]
    return tuple(slots)
