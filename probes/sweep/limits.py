"""Says at which cell an arm's climb ends: the first rung at which the server gives way; pure.

That rung is the arm's capacity. Climbing on would only queue up requests and lose none of the answer by staying away.
"""

from __future__ import annotations

from probes.crossover.capacity import KV_FULL
from probes.values import Cell, Reason


def ttft_note(cell: Cell, max_ttft_s: float | None) -> Reason | None:
    """The note on a cell whose TTFT p99 is above what the plan allows."""
    p99_ms = cell.ttft.p99_ms
    if max_ttft_s is None or p99_ms is None or p99_ms <= 1e3 * max_ttft_s:
        return None
    return Reason("ttft_limit", f"TTFT p99 was {p99_ms / 1e3:.2g} s, max_ttft_s allows {max_ttft_s:g} s")


def ends_climb(cell: Cell, max_ttft_s: float | None) -> str | None:
    """What the arm met at this cell (`preemption`, `kv`, `waiting` or `ttft`), or None where it may climb on."""
    if cell.preemptions:
        return "preemption"
    if cell.kv_usage_max is not None and cell.kv_usage_max > KV_FULL:
        return "kv"
    if cell.limited:
        return "waiting"
    return "ttft" if ttft_note(cell, max_ttft_s) is not None else None
