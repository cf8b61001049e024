"""Says which cells of an interrupted sweep a later one may go on after, so that nothing is measured twice; pure.

Whether the servers are still the same ones is the caller's business (the fingerprint), as is how long ago that was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from probes.sweep.limits import ends_climb
from probes.sweep.plan import SweepPlan
from probes.values import Cell

LASTING = frozenset(
    {
        "no_usage",
        "token_mismatch",
        "prefix_hits",
        "too_few_requests",
        "too_few_tokens",
    }
)
"""Void reasons that the same plan would meet again; every other one had to do with the moment."""


START = "first answers cut and awaited"
"""How a cell's clients begin; cells that began otherwise may differ by some percent."""


def signature(plan: SweepPlan) -> str:
    """Equal for two plans whose cells may stand in one answer: 16 hex digits.

    Covers the arms, the baseline, the ladder, repeats, the window, the load and its start. Lengths that follow live
    traffic are held still by whoever makes the plan, for as long as they are about right; the prefix-hit target that
    follows it is taken to a tenth. Budgets, limits and workers do not matter.
    """
    load = plan.load
    told = {
        "baseline": plan.baseline,
        "arms": [
            [a.name, a.target.url, a.target.api_path, a.target.model, a.speculative, a.hardware, a.restart]
            + (["dynamic"] if a.dynamic else [])
            for a in plan.arms
        ],
        "ladder": list(plan.ladder),
        "repeats": plan.repeats,
        "cell_s": plan.cell_s,
        "load": [load.prompts, load.max_tokens, load.temperature, load.top_p, load.seed, load.prompts_sha256],
        "shape": None if load.shape is None else [load.shape.prompt_tokens, load.shape.output_tokens],
        "prefix": round(load.prefix_hit_target, 1),
        "start": START,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def counts_as_done(cell: Cell) -> bool:
    """Whether measuring this cell again would be of no use.

    One passing reason is enough to try: a server that died leaves too few requests as well.
    """
    return all(reason.code in LASTING for reason in cell.void)


def usable(plan: SweepPlan, cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells that a sweep of this plan goes on after, in their order; the others are measured again.

    Arms at addresses of their own are compared pass by pass, so a pass over the arms that broke off is measured again
    as a whole: half of it from another night would count the nights' difference as the arms'. Restarted arms differ by
    their starts anyhow, so there every cell counts that is done.
    """
    names = {arm.name for arm in plan.arms}
    done = [cell for cell in cells if cell.arm in names and counts_as_done(cell)]
    if plan.restarts:
        return tuple(done)
    return tuple(cell for cell in done if _pass_is_whole(plan, cell, done))


def _pass_is_whole(plan: SweepPlan, cell: Cell, done: Sequence[Cell]) -> bool:
    if cell.rung not in plan.ladder or cell.repeat >= plan.repeats:
        return cell.valid
    there = {one.arm for one in done if (one.rung, one.repeat) == (cell.rung, cell.repeat)}
    return all(arm.name in there or _stopped_below(plan, arm.name, cell.rung, done) for arm in plan.arms)


def _stopped_below(plan: SweepPlan, arm: str, rung: int, done: Sequence[Cell]) -> bool:
    return any(c.arm == arm and c.rung < rung and c.valid and ends_climb(c, plan.max_ttft_s) for c in done)
