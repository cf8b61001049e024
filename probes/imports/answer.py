"""The crossover of results measured elsewhere: the same estimator as for a sweep, and what qualifies such results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from probes.answer_values import ArmVerdict, Axis, Crossover, Verdict
from probes.crossover import completed, estimate
from probes.crossover.with_schedule import with_schedule_by_name
from probes.imports.rows import Imported
from probes.sweep.judge_front_end import with_front_end
from probes.values import Reason


def answer(imported: Imported) -> Crossover:
    """Estimate, then add latency, schedule and step-time model where the files have what these need."""
    found = estimate(imported.points, baseline=imported.baseline, axis=imported.axis)
    if imported.cells:
        found = _completed(found, imported)
    else:
        found = with_schedule_by_name(found, max((point.engines for point in imported.points), default=None))
    if len(imported.models) > 1:
        found = replace(found, schedule=None, notes=(*found.notes, _of_models(imported)))
    arms = {name: _qualified(verdict, imported) for name, verdict in found.arms.items()}
    arms |= {
        arm: ArmVerdict(arm, Verdict.INSUFFICIENT, None, None, None, (), None, (why,))
        for arm, why in imported.refused.items()
    }
    return replace(found, arms=arms)


def _of_models(imported: Imported) -> Reason:
    text = (
        f"No schedule: the files name {len(imported.models)} models ({', '.join(imported.models)}); if these are not "
    )
    return Reason("several_models", text + "names of one, every verdict here compares models, not speculation.")


def _completed(found: Crossover, imported: Imported) -> Crossover:
    if imported.axis is Axis.CONCURRENCY_PER_ENGINE:
        whole = with_front_end(completed(found, imported.cells, imported.arm_k), imported.cells)
        return whole if _drafting_known(imported) else replace(whole, step_model=None)
    x_of = {(p.arm, p.output_tok_s, p.repeat): p.concurrency for p in imported.points}
    by_clients = [
        replace(cell, concurrency=x_of.get((cell.arm, cell.output_tok_s or 0.0, cell.repeat)))
        for cell in imported.cells
    ]
    # Latency can be compared at equal clients; how long a step takes needs the batch, which clients do not tell.
    return replace(completed(found, by_clients, imported.arm_k), step_model=None)


def _drafting_known(imported: Imported) -> bool:
    """The step-time model takes an arm without drafts for one without speculation; here silence may mean either."""
    others = [cell for cell in imported.cells if cell.valid and cell.arm != imported.baseline]
    return imported.origin is not None or all(cell.drafts for cell in others)


def _qualified(verdict: ArmVerdict, imported: Imported) -> ArmVerdict:
    said: Mapping[str, tuple[Reason, ...]] = imported.reasons
    return replace(verdict, reasons=(*verdict.reasons, *said.get(verdict.arm, ()), *said.get(imported.baseline, ())))
