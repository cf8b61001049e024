"""A sweep's cells as the estimator's points; void cells never get this far, and nothing is averaged here."""

from __future__ import annotations

from collections.abc import Sequence

from probes.values import Cell, CurvePoint

LIMITED = "limited"
"""The note by which a sweep says that admission, not the ladder, set the batch; it saw every poll, we do not."""


def cells_to_points(cells: Sequence[Cell]) -> list[CurvePoint]:
    """Valid cells with both a concurrency and a throughput, marked where admission limited them."""
    return [
        CurvePoint(
            arm=cell.arm,
            concurrency=cell.concurrency,
            output_tok_s=cell.output_tok_s,
            repeat=cell.repeat,
            limited=any(note.code == LIMITED for note in cell.notes),
            running=cell.running_mean,
            kv_usage=cell.kv_usage_max,
            start=cell.start,
            engines=cell.engine_count or 1,
        )
        for cell in cells
        if cell.valid and cell.concurrency is not None and cell.output_tok_s is not None
    ]
