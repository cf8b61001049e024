"""What a sweep's cells say beyond throughput: latency, a schedule from the best arms, the step-time model; pure.

Results from elsewhere, which are throughput alone, do without it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from probes.answer_values import Crossover
from probes.crossover.dynamic import dynamic_arms
from probes.crossover.latency import latency_crossovers
from probes.crossover.with_schedule import with_schedule
from probes.steptime.fit import step_model_or_why
from probes.steptime.values import StepModel
from probes.values import Cell


def completed(
    found: Crossover, cells: Sequence[Cell], arm_k: Mapping[str, int | None], dynamic: Collection[str] = ()
) -> Crossover:
    """`found` with all of that.

    Without a model there is a note that says why (`no_step_model`). `arm_k` is the configured K by arm, None without
    speculation; `dynamic` names the arms that are said to change theirs with the load.
    """
    scheduled, model = with_schedule(found, cells, arm_k, dynamic), step_model_or_why(cells)
    return replace(
        scheduled,
        latency=latency_crossovers(cells, found),
        step_model=model if isinstance(model, StepModel) else None,
        acceptance=_acceptance(cells, dynamic_arms(cells, dynamic)),
        notes=scheduled.notes if isinstance(model, StepModel) else (*scheduled.notes, model),
    )


def _acceptance(cells: Sequence[Cell], dynamic: Collection[str]) -> dict[str, float]:
    """Accepted per draft over all valid cells of an arm, bonus included; not of arms whose K follows the load."""
    drafts: dict[str, float] = {}
    accepted: dict[str, float] = {}
    for cell in cells:
        if cell.valid and cell.drafts and cell.accepted_tokens is not None:
            drafts[cell.arm] = drafts.get(cell.arm, 0.0) + cell.drafts
            accepted[cell.arm] = accepted.get(cell.arm, 0.0) + cell.accepted_tokens
    return {arm: 1.0 + accepted[arm] / drafts[arm] for arm in drafts if arm not in dynamic}
