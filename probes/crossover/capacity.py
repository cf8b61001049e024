"""Where an arm's server stops admitting more, a second limit that is reported beside the crossover.

It needs the running batch of each point; without it (results measured elsewhere) the capacity is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from probes.answer_values import Capacity, CurvePoint
from probes.crossover.curves import rungs_of, usable

KV_FULL = 0.90
"""Fullest engine's KV cache from which the next rung would be preempted."""
TOP_OF_LADDER = "top_of_ladder"
"""`limited_by` of an arm that met no limit: what it can hold beyond is not known."""
QUEUEING_SHARE = 0.10
"""Share of the requests in the system that wait when admission, not the ladder, sets the running batch."""


def capacity_of(points: Sequence[CurvePoint]) -> Capacity | None:
    """One engine's highest running batch and tok/s (means of a rung) below the first limited rung, and what limits it.

    Where every rung is limited, the best of them is what the arm can sustain.
    """
    rungs = rungs_of([p for p in points if usable(p) and p.running is not None])
    if not rungs:
        return None
    limits = [_limit(rung) for rung in rungs]
    first = next((i for i, limit in enumerate(limits) if limit is not None), len(rungs))
    sustained = rungs[:first] or rungs
    return Capacity(
        running=max(fmean(p.running for p in rung if p.running is not None) for rung in sustained),
        tok_s=max(fmean(p.output_tok_s / p.engines for p in rung) for rung in sustained),
        limited_by=next((limit for limit in limits if limit is not None), TOP_OF_LADDER),
    )


def _limit(rung: Sequence[CurvePoint]) -> str | None:
    """`waiting`, `kv` or `preemption` where most of a rung's points met a limit."""
    found = [limit for limit in map(_point_limit, rung) if limit is not None]
    if 2 * len(found) <= len(rung):
        return None
    return max(sorted(set(found)), key=found.count)


def _point_limit(point: CurvePoint) -> str | None:
    if point.running is not None and point.limited and point.running < (1 - QUEUEING_SHARE) * point.concurrency:
        return "waiting"
    if point.kv_usage is not None and point.kv_usage > KV_FULL:
        return "kv"
    return "preemption" if point.limited else None
