"""Sweeps whose cells obey the step-time formula with known constants, so that tests know what a fit should find."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from probes.answer_values import Axis, Crossover
from probes.crossover import cells_to_points, completed, estimate
from probes.steptime.fit import fit_step_model
from probes.steptime.shape import NAMES, Floats, Load, life_steps, output_tok_s
from probes.steptime.values import Mix
from probes.values import Cell
from tests.support.sweep_cells import cell

SERVER = {
    "memory_s": 4.8e-3,
    "token_s": 2.4e-5,
    "corner": 2.2,
    "draft_s": 5e-4,
    "draft_token_s": 2.4e-6,
    "request_s": 5e-6,
    "context_token_s": 2.4e-8,
    "emitted_s": 5e-6,
    "prompt_token_s": 2.4e-5,
    "prompt_extra_s": 6e-6,
    "entry_steps": 2.0,
}
"""About an H200 with a model of 8B; seconds."""
MIX = Mix(178.0, 256.0)
ARMS = {"off": (0, 1.0), "k1": (1, 1.72), "k3": (3, 2.62), "k5": (5, 3.1)}
"""K and acceptance length."""
LADDER = (1, 4, 16, 32, 64, 128, 256)


def tok_s(concurrency: float, k: int, acceptance_length: float, mix: Mix = MIX) -> float:
    """Output tok/s of one engine of that server."""
    return float(output_tok_s(_constants(), _load(concurrency, k, acceptance_length, mix)))


def formula_cells(
    arms: Mapping[str, tuple[int, float]] = ARMS,
    *,
    mix: Mix = MIX,
    ladder: Sequence[int] = LADDER,
    repeats: int = 2,
    noise: float = 0.0,
    seed: int = 0,
    with_steps: bool = True,
    **changes: Any,
) -> list[Cell]:
    """One sweep of that server; `noise` is the relative sd of a cell, `changes` go into every cell."""
    rng = np.random.default_rng(seed)
    cells: list[Cell] = []
    for name, (k, acceptance_length) in arms.items():
        for clients in ladder:
            load = _load(clients, k, acceptance_length, mix)
            step_s = clients * mix.output_tokens / tok_s(clients, k, acceptance_length, mix)
            step_s /= float(life_steps(_constants(), load))
            for repeat in range(repeats):
                slow = float(np.exp(rng.normal(0, noise))) if noise else 1.0
                values: dict[str, Any] = {
                    "output_tok_s": tok_s(clients, k, acceptance_length, mix) / slow,
                    "window_s": 10.0,
                    "steps": 10.0 / (step_s * slow) if with_steps else None,
                    "prompt_tokens_mean": mix.prompt_tokens,
                    "output_tokens_mean": mix.output_tokens,
                    "prefix_hit_ratio": None,
                    "drafts": 1e5 if k else None,
                    "draft_tokens": k * 1e5 if k else None,
                    "accepted_tokens": (acceptance_length - 1) * 1e5 if k else None,
                    "k": k or None,
                    "engine_count": 1,
                }
                cells.append(cell(name, clients, repeat, len(cells), **{**values, **changes}))
    return cells


def answer(cells: Sequence[Cell], earlier: Sequence[Sequence[Cell]] = ()) -> Crossover:
    """What a sweep of these cells says, with a model of all of them."""
    found = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    found = completed(found, cells, {name: k or None for name, (k, _) in ARMS.items()})
    return replace(found, step_model=fit_step_model(cells, earlier)) if earlier else found


def true_crossing(k: int, acceptance_length: float, mix: Mix = MIX) -> float:
    """Concurrency at which an arm equals the baseline on that server."""
    x = np.exp(np.linspace(0.0, np.log(LADDER[-1]), 2000))
    gain = np.log(output_tok_s(_constants(), _load(x, k, acceptance_length, mix)))
    gain -= np.log(output_tok_s(_constants(), _load(x, 0, 1.0, mix)))
    return float(x[np.flatnonzero(gain > 0)[-1]])


def _constants() -> Floats:
    return np.array([math.log(SERVER[name]) for name in NAMES])


def _load(concurrency: Any, k: int, acceptance_length: float, mix: Mix) -> Load:
    return Load(
        np.asarray(concurrency, dtype=np.float64),
        np.array(float(k)),
        np.array(acceptance_length),
        np.array(mix.prompt_tokens),
        np.array(mix.output_tokens),
    )
