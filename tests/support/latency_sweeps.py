"""Sweeps whose requests have drawn latencies and a known crossing, so that intervals can be counted against it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from probes.sweep.window import latency
from probes.values import Cell
from tests.support.sweep_cells import CLEAN

LADDER = (1, 2, 4, 8, 16, 32, 64)
BETWEEN_RUNS = 0.02
CELL_SIGMA = 0.01
"""Relative sd of a whole cell, beside what its requests scatter."""


@dataclass(frozen=True, slots=True)
class LatencySweep:
    """Cells of the arms `off` and `on`, and the concurrency at which their TPOT is equal."""

    cells: list[Cell]
    crossover: float


def latency_sweep(seed: int, *, repeats: int, same: bool = False) -> LatencySweep:
    """One sweep: 40 requests a cell at one client, more above; TPOT lognormal with a spread of 5% to 50% by request.

    `same` makes both arms the same server, so that no verdict but `unclear` is right.
    """
    rng = np.random.default_rng(seed)
    at, slope, spread = rng.uniform(2, 5), rng.uniform(0.08, 0.3), rng.uniform(0.05, 0.5)
    shift = rng.normal(0, BETWEEN_RUNS)
    cells = []
    for arm in ("off", "on"):
        for rung in LADDER:
            for repeat in range(repeats):
                requests = int(40 * rung**0.8 * rng.uniform(0.9, 1.1))
                ms = 10 * (1 + rung / 30) * np.exp(rng.normal(0, CELL_SIGMA))
                if arm == "on":
                    ms *= np.exp(shift + (0 if same else slope * (np.log2(rung) - at)))
                tpot_s = ms / 1e3 * np.exp(rng.normal(0, spread, requests))
                cell = replace(CLEAN, arm=arm, rung=rung, repeat=repeat, concurrency=float(rung), requests=requests)
                cells.append(replace(cell, tpot=latency([float(v) for v in tpot_s])))
    return LatencySweep(cells, float(2**at))
