"""From the cells of a sweep to its answer: the crossover, where each climb ended, what refining came to; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from probes.answer_values import ArmVerdict, Axis, Capacity, Crossover
from probes.crossover import cells_to_points, estimate
from probes.crossover.capacity import capacity_of
from probes.sweep.judge_front_end import with_front_end
from probes.sweep.plan import SweepPlan
from probes.sweep.refine import between_runs_share, is_dominated, refined, too_wide, width_octaves
from probes.values import Cell, Reason


def answer(plan: SweepPlan, cells: Sequence[Cell], tops: Mapping[str, tuple[int, str]]) -> Crossover:
    """The crossover of these cells; `tops` says at which rung an arm's climb ended and what ended it.

    An arm's capacity is what it sustained below that rung, or on it where there is none below.
    """
    found = estimate(cells_to_points(cells), baseline=plan.baseline, axis=Axis.CONCURRENCY_PER_ENGINE)
    arms = {
        name: replace(verdict, capacity=_capacity(name, verdict.capacity, cells, tops.get(name)))
        for name, verdict in found.arms.items()
    }
    baseline = _capacity(found.baseline, found.baseline_capacity, cells, tops.get(found.baseline))
    return replace(found, arms=arms, baseline_capacity=baseline)


def _capacity(arm: str, seen: Capacity | None, cells: Sequence[Cell], top: tuple[int, str] | None) -> Capacity | None:
    if top is None:
        return seen
    rung, limit = top
    own = [cell for cell in cells if cell.arm == arm]
    capacity = capacity_of(cells_to_points([cell for cell in own if cell.rung < rung])) or seen
    return None if capacity is None else replace(capacity, limited_by=limit)


@dataclass(frozen=True, slots=True)
class Refining:
    """What refinement started from and why it ended where it did."""

    before: Crossover | None = None
    """The ladder's own answer."""
    stopped: str = ""
    """Why no further cell was measured, where the intervals are not the reason."""


def finished(plan: SweepPlan, found: Crossover, cells: Sequence[Cell], refining: Refining) -> Crossover:
    """The answer with all that its arms have to be told by: refining, and front ends that were compared too."""
    return with_front_end(with_refining(plan, found, cells, refining), cells)


def with_refining(plan: SweepPlan, found: Crossover, cells: Sequence[Cell], refining: Refining) -> Crossover:
    """The answer with the reasons `refined` and `refine_stopped` on the arms they are about."""
    if plan.refine_octaves <= 0 or refining.before is None:
        return found
    arms = {
        name: replace(verdict, reasons=(*verdict.reasons, *_reasons(plan, verdict, cells, refining)))
        for name, verdict in found.arms.items()
    }
    return replace(found, arms=arms)


def _reasons(plan: SweepPlan, verdict: ArmVerdict, cells: Sequence[Cell], refining: Refining) -> list[Reason]:
    reasons = []
    added = [cell for cell in refined(plan, cells) if cell.arm == verdict.arm]
    if added:
        rungs = ", ".join(str(rung) for rung in sorted({cell.rung for cell in added}))
        text = f"{len(added)} more cells of {verdict.arm} at {rungs} clients"
        was = width_octaves(refining.before.arms[verdict.arm]) if refining.before else None
        now = width_octaves(verdict)
        if was is not None and now is not None:
            text += f" took the interval from {was:.2g} to {now:.2g} octaves"
        reasons.append(Reason("refined", text + "."))
    if too_wide(plan, verdict):
        share = between_runs_share(verdict) or 0.0
        why = (
            f"two runs of one server differ by more than cells can average out ({share:.0%} of the interval)"
            if is_dominated(verdict)
            else refining.stopped
        )
        width = width_octaves(verdict) or 0.0
        text = f"The interval is {width:.2g} octaves wide, {plan.refine_octaves:g} were wanted: {why}."
        reasons.append(Reason("refine_stopped", text))
    return reasons
