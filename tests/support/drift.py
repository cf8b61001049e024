"""A real sweep as the store gives it, and live pages whose acceptance, mix and output a test can choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from monitor.now_values import LiveMix
from monitor.values import StoredCrossover, StoredReading
from probes.answer_values import Axis, Crossover
from probes.crossover import cells_to_points, estimate
from probes.crossover.whole import completed
from probes.steptime.shift import output_shift
from probes.steptime.values import Mix
from probes.values import Cell
from tests.support.measured_cells import h200_cells
from tests.support.readings import NOW_S, engine, reading

SWEPT = (0.72, 0.52, 0.38)
"""Acceptance by position that the arms of the H200's sweep had; k3's length is 2.62."""
SWEPT_MIX = Mix(178.0, 256.0)
ARM_K: dict[str, int | None] = {"off": None, "k1": 1, "k3": 3, "k5": 5}


@cache
def h200() -> Crossover:
    """The H200's answer with curves and step-time model: k5 crosses at 91, k3 at 162, k1 at 234."""
    cells = h200_cells()
    found = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    return completed(found, cells, ARM_K)


def stored_h200(**changes: object) -> StoredCrossover:
    """The same from the store, an hour old; changes are the answer's."""
    return StoredCrossover(
        sweep_id=7,
        pool="chat",
        fingerprint="f" * 12,
        measured_at_s=NOW_S - 3600.0,
        result=replace(h200(), **changes),  # type: ignore[arg-type]
        arm_k=ARM_K,
        live_arm=None,
    )


def live_minute(
    concurrency: float | Sequence[float],
    *,
    accepted: Sequence[float] = SWEPT,
    k: int | None = 3,
    output_tok_s: float = 9000.0,
    drafts_per_s: float | None = None,
    live_counter: bool = True,
    answer_tokens: float = 256.0,
) -> list[StoredReading]:
    """Thirteen pages of a minute; `accepted` is the share of drafts that each position gets accepted."""
    loads = [concurrency] * 13 if isinstance(concurrency, int | float) else list(concurrency)
    rate = output_tok_s / (1 + sum(accepted)) if drafts_per_s is None else drafts_per_s
    pages = []
    for number, load in enumerate(loads):
        moved_s = 5.0 * number
        drafts = moved_s * rate
        one = replace(
            engine(running=load, tokens=1000.0 + moved_s * output_tok_s),
            generation_tokens_live=live_counter,
            finished=moved_s * output_tok_s // answer_tokens,
            drafts=drafts if k else None,
            draft_tokens=drafts * k if k else None,
            accepted_tokens=drafts * sum(accepted) if k else None,
            accepted_per_pos=tuple(drafts * share for share in accepted) if k else (),
        )
        at_s = NOW_S - 5.0 * (len(loads) - 1 - number)
        pages.append(StoredReading(reading(at_s, [one], k=k), None))
    return pages


def live_mix_of(prompt_tokens: float, output_tokens: float, requests: float = 800.0) -> LiveMix:
    """What requests of the last quarter of an hour looked like."""
    return LiveMix(Mix(prompt_tokens, output_tokens), requests, 900.0)


def cells_with(mix: Mix) -> list[Cell]:
    """The H200's cells as another mix would have made them, by the model that was fitted to them."""
    model = h200().step_model
    assert model is not None
    cells = []
    for cell in h200_cells():
        assert cell.concurrency
        assert cell.output_tok_s
        change, _ = output_shift(model, cell.arm, np.array(cell.concurrency), None, mix)
        cells.append(
            replace(
                cell,
                output_tok_s=cell.output_tok_s * float(np.exp(change)),
                prompt_tokens_mean=mix.prompt_tokens,
                output_tokens_mean=mix.output_tokens,
            )
        )
    return cells
