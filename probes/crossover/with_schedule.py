"""Adds to a sweep's answer the schedule that its static arms imply and how arms that ran one did; pure.

It only brings the parts together: which arms are best is `best.py`, the steps `schedule.py`, the arms that ran one
`dynamic.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from probes.answer_values import Crossover, Schedule, Verdict
from probes.crossover.best import best_ranges
from probes.crossover.best import draft_lengths as shown_lengths
from probes.crossover.cells import cells_to_points
from probes.crossover.curves import fit_curve
from probes.crossover.dynamic import against_static, dynamic_arms, k_by_rung, ran_these
from probes.crossover.schedule import HYPOTHESIS, draft_lengths, lengths_by_name, schedule_of
from probes.values import Cell, Reason

UNDECIDED = (Verdict.UNCLEAR, Verdict.INSUFFICIENT)
BY_NAME = Reason(
    "schedule_by_name",
    "K is read from the arms' names, and one engine without data parallelism is assumed.",
)


def with_schedule(
    found: Crossover, cells: Sequence[Cell], arm_k: Mapping[str, int | None], declared: Collection[str]
) -> Crossover:
    """`found` with its schedule, or with a note why it has none.

    `arm_k` is the configured K by arm; `declared` names the arms that are said to change theirs with the load.
    """
    ran = [arm for arm in dynamic_arms(cells, declared) if arm != found.baseline]
    best, notes = found.best, []
    if ran:
        points = cells_to_points(cells)
        by_arm = {arm: [p for p in points if p.arm == arm] for arm in dict.fromkeys(p.arm for p in points)}
        curves = {arm: curve for arm, own in by_arm.items() if (curve := fit_curve(arm, own)) is not None}
        static = {arm: curve for arm, curve in curves.items() if arm not in ran}
        best = best_ranges(static, found.baseline, shown_lengths(points))
        notes = [r for arm in ran if arm in curves for r in against_static(arm, {**static, arm: curves[arm]}, best)]
    engines = {cell.engine_count for cell in cells if cell.valid}
    lengths = draft_lengths(arm_k, found.baseline, cells)
    implied, why_none = schedule_of(best, lengths, engines.pop() if len(engines) == 1 else None)
    if implied is None or (not ran and (why_none := _too_unsure(found))):
        return replace(found, schedule=None, notes=(*found.notes, *why_none, *notes))
    return replace(found, schedule=_measured(implied, ran, cells, notes))


def with_schedule_by_name(found: Crossover, engines: int | None = 1) -> Crossover:
    """The same for results measured elsewhere, which show nothing of the server but throughput: K by `k3` and such."""
    lengths = lengths_by_name(tuple(found.arms), found.baseline)
    implied, why_none = schedule_of(found.best, lengths, engines)
    if implied is None or (why_none := _too_unsure(found)):
        return replace(found, schedule=None, notes=(*found.notes, *why_none))
    return replace(found, schedule=replace(implied, reasons=(*implied.reasons, BY_NAME)))


def _too_unsure(found: Crossover) -> tuple[Reason, ...]:
    """Why the best arms are too uncertain to copy: a schedule needs a verdict, and a range with a clear winner."""
    if all(verdict.verdict in UNDECIDED for verdict in found.arms.values()):
        text = f"No schedule: no arm has a clear verdict against {found.baseline}."
    elif not any(one.confident for one in found.best):
        text = "No schedule: no arm leads beyond the noise at any concurrency."
    else:
        return ()
    return (Reason("no_schedule_unsure", text),)


def _measured(schedule: Schedule, ran: Sequence[str], cells: Sequence[Cell], notes: Sequence[Reason]) -> Schedule:
    reasons: list[Reason] = []
    measured_as = None
    for arm in ran:
        rungs = k_by_rung(cells, arm)
        if ran_these(rungs, schedule.steps):
            measured_as = measured_as or arm
            continue
        shown = ", ".join(f"{k:.2g} at {x:.3g}" for x, k in rungs) or "not shown by its counters"
        text = f"{arm} ran another schedule than this, as far as can be told: its K was {shown}."
        reasons.append(Reason("schedule_other", text))
    own = [r for r in schedule.reasons if measured_as is None or r is not HYPOTHESIS]
    return replace(schedule, measured_as=measured_as, reasons=(*notes, *reasons, *own))
