"""A sweep's cells as the estimator's points; void cells never get this far, and nothing is averaged here."""

from __future__ import annotations

from collections.abc import Sequence

from probes.crossover.capacity import KV_FULL, QUEUEING_SHARE
from probes.values import Cell, CurvePoint

PREEMPTED_SHARE = 0.01
"""Preemptions per finished request above which the KV space, not the ladder, sets the running batch."""


def cells_to_points(cells: Sequence[Cell]) -> list[CurvePoint]:
    """Valid cells with both a concurrency and a throughput, marked where admission limited them."""
    return [
        CurvePoint(
            arm=cell.arm,
            concurrency=cell.concurrency,
            output_tok_s=cell.output_tok_s,
            repeat=cell.repeat,
            limited=_limited(cell, cell.concurrency),
            running=cell.running_mean,
            kv_usage=cell.kv_usage_max,
        )
        for cell in cells
        if cell.valid and cell.concurrency is not None and cell.output_tok_s is not None
    ]


def _limited(cell: Cell, concurrency: float) -> bool:
    queueing = cell.waiting_mean is not None and cell.waiting_mean > max(1.0, QUEUEING_SHARE * concurrency)
    preempting = cell.preemptions is not None and cell.preemptions > PREEMPTED_SHARE * cell.requests
    full = cell.kv_usage_max is not None and cell.kv_usage_max > KV_FULL
    return queueing or preempting or full
