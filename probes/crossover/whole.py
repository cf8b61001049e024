"""What a sweep's cells say beyond throughput: latency, a schedule from the best arms, the step-time model; pure.

Results from elsewhere, which are throughput alone, do without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from probes.crossover.latency import latency_crossovers
from probes.crossover.schedule import schedule_of
from probes.steptime.fit import fit_step_model
from probes.values import Cell, Crossover


def completed(found: Crossover, cells: Sequence[Cell], arm_k: Mapping[str, int | None]) -> Crossover:
    """`found` with all of that. `arm_k` is the configured K by arm, None without speculation."""
    counts = {cell.engine_count for cell in cells if cell.valid}
    engines = counts.pop() if len(counts) == 1 else None
    return replace(
        found,
        latency=latency_crossovers(cells, found.baseline),
        schedule=schedule_of(found, arm_k, engines),
        step_model=fit_step_model(cells),
    )
