"""Fits a finished sweep's step-time model again, together with earlier sweeps of the same servers under other mixes.

One sweep tells little of what prompts cost; a second mix does, and everything between the two is then covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from monitor.live_mix import SAME_MIX, mix_distance
from monitor.store.db import Store
from monitor.store.sweeps import load_cells, pool_sweeps
from probes.answer_values import Crossover
from probes.steptime.fit import NO_STEP_MODEL, fit_step_model
from probes.steptime.values import Mix
from probes.values import Cell

LOOK_BACK = 50
"""Newest sweeps of the pool among which other mixes are looked for."""
OTHER_MIXES = 3
"""Newest ones that are taken: older cells say less of the servers as they are."""


def refitted(store: Store, pool: str, fingerprint: str, found: Crossover, cells: Sequence[Cell]) -> Crossover:
    """`found` with a model of all mixes that this pool was swept with on the same servers. Raises StoreError.

    `cells` are the finished sweep's own: its curves are what the model moves.
    """
    mix = mix_of(cells)
    if mix is None or not fingerprint:
        return found
    taken, added = [mix], list[Sequence[Cell]]()
    for sweep in pool_sweeps(store, pool, LOOK_BACK):
        if len(taken) > OTHER_MIXES:
            break
        if sweep.result is None or sweep.fingerprint != fingerprint:
            continue
        earlier = load_cells(store, sweep.id)
        other = mix_of(earlier)
        if other is not None and not any(mix_distance(other, one) <= SAME_MIX for one in taken):
            taken.append(other)
            added.append(earlier)
    model = fit_step_model(cells, added) if added else None
    # Sweeps that contradict each other fit nothing together; the newest alone still speaks for its own mix.
    if model is None:
        return found
    return replace(found, step_model=model, notes=tuple(note for note in found.notes if note.code != NO_STEP_MODEL))


def mix_of(cells: Sequence[Cell]) -> Mix | None:
    """Mean lengths over a sweep's valid cells, what the prefix cache had left out; None where no cell tells them."""
    seen = [
        (cell.prompt_tokens_mean * (1.0 - (cell.prefix_hit_ratio or 0.0)), cell.output_tokens_mean)
        for cell in cells
        if cell.valid and cell.prompt_tokens_mean is not None and cell.output_tokens_mean
    ]
    if not seen:
        return None
    return Mix(fmean(prompt for prompt, _ in seen), fmean(output for _, output in seen))
