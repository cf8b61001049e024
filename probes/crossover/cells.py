"""A sweep's cells as the estimator's points; void cells never get this far, and nothing is averaged here."""

from __future__ import annotations

from collections.abc import Sequence

from probes.answer_values import CurvePoint
from probes.values import SCALED, Cell


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
            k=draft_length(cell),
        )
        for cell in cells
        if cell.valid and cell.concurrency is not None and cell.output_tok_s is not None
    ]


def draft_length(cell: Cell) -> float | None:
    """Draft tokens per request and step over the whole cell; None where the counters do not tell.

    Steps that drafted nothing count too, which drafted over drafts (the effective K) leaves out: a schedule at K = 0
    would look as if it drafted as long as in the few steps of its ramp. Such a step makes one token, any other one more
    than it accepts, and the first token of an answer comes from its prompt:

        steps = output tokens - accepted tokens - requests, and at least the drafts

    Tokens are the server's, or where a note says that usage counts (SGLang, whose counter has some that no answer
    has) the answers'.
    """
    if cell.drafts is None or cell.draft_tokens is None:
        return None
    by_usage = cell.server_tokens is None or any(note.code == SCALED for note in cell.notes)
    tokens = cell.client_tokens if by_usage else cell.server_tokens
    steps = cell.drafts
    if tokens is not None and cell.accepted_tokens is not None:
        steps = max(steps, tokens - cell.accepted_tokens - cell.requests)
    return cell.draft_tokens / steps if steps else 0.0
