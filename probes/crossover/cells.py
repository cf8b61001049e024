"""A sweep's cells as the estimator's points; void cells never get this far, and nothing is averaged here."""

from __future__ import annotations

from collections.abc import Sequence

from probes.values import Cell, CurvePoint


def cells_to_points(cells: Sequence[Cell]) -> list[CurvePoint]:
    """Valid cells with both a concurrency and a throughput, marked where admission limited them."""
    return [
        CurvePoint(
            arm=cell.arm,
            concurrency=cell.concurrency,
            output_tok_s=cell.output_tok_s,
            repeat=cell.repeat,
            limited=cell.limited,
            running=cell.running_mean,
            kv_usage=cell.kv_usage_max,
            start=cell.start,
            engines=cell.engine_count or 1,
            k=effective_k(cell),
        )
        for cell in cells
        if cell.valid and cell.concurrency is not None and cell.output_tok_s is not None
    ]


def effective_k(cell: Cell) -> float | None:
    """Draft tokens per step by the cell's counters; 0 where it drafted nothing, None where they do not tell."""
    if cell.drafts == 0:
        return 0.0
    return None if not cell.drafts or cell.draft_tokens is None else cell.draft_tokens / cell.drafts
