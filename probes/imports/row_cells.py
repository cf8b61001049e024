"""Runs of other tools as the estimator's points and, where they say enough, as cells; pure.

A cell of another tool is one whole run, ramp and drain included, and its tokens are the client's usage counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from probes.answer_values import Axis, CurvePoint
from probes.imports.rows import Row
from probes.values import Cell, Reason


def points_and_cells(rows: Sequence[Row], axis: Axis) -> tuple[tuple[CurvePoint, ...], tuple[Cell, ...]]:
    """One point a run; a cell only where the run's length and requests are known. Every row has its engines.

    Repeats are numbered in the order read, over all files, so that the same load in two files is a repeat.
    """
    counts: dict[tuple[str, float | None, float | None], int] = {}
    points: list[CurvePoint] = []
    cells: list[Cell] = []
    for row in rows:
        key = (row.arm, row.clients, row.rate)
        repeat = counts[key] = counts.get(key, -1) + 1
        engines = row.engines or 1
        x = _concurrency(row, axis, engines)
        k = row.drafting.k if row.drafting is not None else None
        points.append(CurvePoint(row.arm, x, row.output_tok_s, repeat, engines=engines, k=k))
        if row.duration_s is not None and row.completed is not None:
            cells.append(_cell(row, axis, x, repeat, len(cells), engines))
    return tuple(points), tuple(cells)


def _concurrency(row: Row, axis: Axis, engines: int) -> float:
    if axis is Axis.CLIENTS:
        assert row.clients is not None
        return row.clients
    if row.in_system is not None:
        return row.in_system
    assert row.in_flight is not None
    return row.in_flight / engines


def _cell(row: Row, axis: Axis, x: float, repeat: int, order: int, engines: int) -> Cell:
    assert row.duration_s is not None
    assert row.completed is not None
    drafting = row.drafting
    load = f", {row.clients:g} clients" if row.clients is not None else f", {row.rate:g} requests/s" if row.rate else ""
    note = Reason("imported", f"{row.tool}{load}: {row.path.name}, {row.where}")
    return Cell(
        arm=row.arm,
        rung=max(1, round(row.clients if row.clients is not None else x * engines)),
        repeat=repeat,
        order=order,
        started_at_s=(row.ended_at_s - row.duration_s) if row.ended_at_s is not None else 0.0,
        window_s=row.duration_s,
        concurrency=x if axis is Axis.CONCURRENCY_PER_ENGINE else None,
        output_tok_s=row.output_tok_s,
        server_tok_s=None,
        client_tok_s=row.output_tok_s,
        requests=row.completed,
        errors=row.failed,
        capped_share=None,
        ttft=row.ttft,
        tpot=row.tpot,
        e2e=row.e2e,
        prompt_tokens_mean=row.prompt_tokens_mean,
        output_tokens_mean=row.output_tokens_mean,
        running_mean=None,
        waiting_mean=None,
        kv_usage_max=None,
        preemptions=None,
        drafts=drafting.drafts if drafting is not None else None,
        draft_tokens=drafting.draft_tokens if drafting is not None else None,
        accepted_tokens=drafting.accepted_tokens if drafting is not None else None,
        accepted_per_pos=drafting.accepted_per_pos if drafting is not None else (),
        prefix_hit_ratio=None,
        client_tokens=None,
        server_tokens=None,
        foreign_requests=None,
        loop_lag_p99_ms=None,
        client_cpu_share=None,
        in_flight_mean=row.in_flight,
        k=row.k,
        engine_count=engines,
        notes=(note,),
    )
