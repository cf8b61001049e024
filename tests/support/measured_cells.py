"""Cells that somebody measured, read from tests/data into whole cells, for what needs more than a curve."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from probes.values import Cell, Reason
from tests.support.sweep_cells import cell

H200 = Path(__file__).parent.parent / "data" / "h200"
H200_PROMPT_TOKENS = 178.0
"""By the server's counter; the file has the answers' tokens only."""


def h200_cells() -> list[Cell]:
    """The sweep of one H200 with vLLM 0.26.0: lockstep waves of three requests per client, in the system by Little."""
    text = (H200 / "llama8b-eagle3-sweep.jsonl").read_text()
    return cells_of_rows([json.loads(line) for line in text.splitlines()])


def cells_of_rows(rows: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Cells of rows as that file has them."""
    cells = []
    for order, row in enumerate(rows):
        each = row["output_tokens"] / row["requests"]
        e2e_s = row["ttft_mean"] + (each - 1) * row["tpot_mean"]
        drafting = row["drafts"] > 0
        one = cell(
            row["server"],
            row["concurrency"],
            row["rep"],
            order,
            concurrency=row["requests"] * e2e_s / row["seconds"],
            output_tok_s=row["output_tok_s"],
            window_s=row["seconds"],
            prompt_tokens_mean=H200_PROMPT_TOKENS,
            output_tokens_mean=each,
            prefix_hit_ratio=None,
            drafts=row["drafts"] if drafting else None,
            draft_tokens=row["draft_tokens"] if drafting else None,
            accepted_tokens=row["accepted_tokens"] if drafting else None,
            k=round(row["draft_tokens"] / row["drafts"]) if drafting else None,
            running_mean=row["running"],
            kv_usage_max=row["kv"],
            engine_count=1,
            requests=row["requests"],
            server_tokens=float(row["output_tokens"]),
            client_tokens=row["output_tokens"],
            steps=None,
        )
        if row["kv"] > 0.95:
            one = replace(one, notes=(Reason("limited", "the KV cache was full"),))
        cells.append(one)
    return cells
