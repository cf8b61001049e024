"""Whether admission, not the ladder, set the running batch of a cell: preemptions, a full KV cache, a queue; pure.

`limited` sums up what `crossover` leaves out of an arm's curve; the single signs have codes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from probes.crossover.capacity import KV_FULL
from probes.sweep.evidence import Evidence
from probes.sweep.totals import in_system
from probes.values import Cell, Reason

PREEMPTED_SHARE = 0.01
"""Preemptions per finished request above which the KV space, not the ladder, sets the running batch."""
WAITING_SHARE = 0.10
"""Waiting requests in every poll, and on average this share of the concurrency: the batch is full."""
WAITING_POLLS_MIN = 3


def limited(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Each sign, then the sum."""
    why = []
    if cell.preemptions:
        yield Reason("preemptions", f"the server preempted requests {cell.preemptions:g} times")
        if cell.preemptions > PREEMPTED_SHARE * cell.requests:
            why.append("preemptions")
    if cell.kv_usage_max is not None and cell.kv_usage_max > KV_FULL:
        why.append(f"KV cache {cell.kv_usage_max:.0%} full")
        yield Reason("kv_limit", f"the KV cache was {cell.kv_usage_max:.0%} full")
    if _kept_waiting(evidence):
        why.append(f"{cell.waiting_mean:.1f} requests waiting per engine")
        yield Reason("waiting", f"{cell.waiting_mean:.1f} requests per engine waited for a place in the batch")
    if why:
        yield Reason("limited", f"admission is the limit here: {', '.join(why)}")


def _kept_waiting(evidence: Evidence) -> bool:
    waiting = [sum(engine.waiting or 0.0 for engine in reading.engines) for reading in evidence.samples]
    load = sum(in_system(reading) or 0.0 for reading in evidence.samples)
    return len(waiting) >= WAITING_POLLS_MIN and min(waiting) >= 1 and sum(waiting) > WAITING_SHARE * load
