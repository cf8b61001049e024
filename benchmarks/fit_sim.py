"""Fits the simulator's step times to the measured H200 cells and tells the errors; it prints, it changes no file.

Run from the repository root: `.venv/bin/python -m benchmarks.fit_sim [--fit]`. Without `--fit` it only compares the
constants in `probes/sim/model.py` with the cells. Every cell is replayed as it was measured: closed loop, three
requests per client (four at one client), all of 256 tokens, the waves starting together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, fields
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from probes.sim.engine import Engine
from probes.sim.model import H200, OUTPUT_TOKENS, PROMPT_TOKENS, StepModel
from probes.sim.request import Request
from probes.sim.spec import SimSpec
from probes.sim.truth import ClosedLoop

Floats = npt.NDArray[np.float64]

DATA = Path(__file__).parent.parent / "tests" / "data" / "h200"
ARMS = {"off": 0, "k1": 1, "k3": 3, "k5": 5}
MAX_MODEL_LEN = 2048
TURNAROUND_S = 0.0074
"""From one answer's end to the next request's arrival in the scheduler: HTTP and tokenising, fitted with the model and
no part of it, since a live client brings its own."""
STEP = 0.05
ROUNDS = 6
HELD = "prefill_base_s"
"""Not fitted: fixed-length waves hold few mixed steps, so these cells cannot tell it from the turnaround (rms 1.3% at
1.2 ms and at 5 ms), while 5 ms would move the steady-state crossing of k3, where most steps are mixed, to 500."""


def measured(folder: Path) -> dict[tuple[str, int], float]:
    """Mean output tok/s by (arm, clients)."""
    cells: dict[tuple[str, int], list[float]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            cell = json.loads(line)
            cells[cell["server"], cell["concurrency"]].append(cell["output_tok_s"])
    return {key: fmean(values) for key, values in cells.items()}


def replay(k: int, clients: int, model: StepModel, turnaround_s: float, seeds: Sequence[int] = (0,)) -> float:
    """Output tok/s of one cell in virtual time."""
    return fmean(_replay(k, clients, model, turnaround_s, seed) for seed in seeds)


def _replay(k: int, clients: int, model: StepModel, turnaround_s: float, seed: int) -> float:
    spec = SimSpec(
        k=k,
        seed=seed,
        start_noise=0.0,
        step_noise=0.0,
        prefix_caching=False,
        max_model_len=MAX_MODEL_LEN,
    )
    engine = Engine(spec, model=model, stretch=1.0)
    total = clients * (4 if clients == 1 else 3)
    to_start = iter(range(total))

    def make(now_s: float) -> Request | None:
        started = next(to_start, None)
        return None if started is None else Request(PROMPT_TOKENS, OUTPUT_TOKENS, OUTPUT_TOKENS, now_s)

    loop = ClosedLoop(engine, clients, make, turnaround_s=turnaround_s)
    while engine.counters.finished["length"] < total:
        loop.step()
    return total * OUTPUT_TOKENS / loop.now_s


def residuals(theta: Floats, cells: dict[tuple[str, int], float]) -> Floats:
    """Log of simulated over measured for every cell."""
    model, turnaround_s = _constants(theta)
    return np.array(
        [np.log(replay(ARMS[arm], clients, model, turnaround_s) / tok_s) for (arm, clients), tok_s in cells.items()]
    )


def fit(cells: dict[tuple[str, int], float]) -> tuple[StepModel, float]:
    """Damped Gauss-Newton on the logarithms of the constants, which keeps them positive."""
    theta = np.log(np.array([*astuple(H200), TURNAROUND_S]))
    free = [index for index in range(len(theta)) if index >= len(fields(H200)) or fields(H200)[index].name != HELD]
    damping = 1e-2
    errors = residuals(theta, cells)
    for _ in range(ROUNDS):
        columns = []
        for index in free:
            moved = theta.copy()
            moved[index] += STEP
            columns.append((residuals(moved, cells) - errors) / STEP)
        jacobian = np.stack(columns, axis=1)
        for _ in range(6):
            normal = jacobian.T @ jacobian + damping * np.eye(len(free))
            trial = theta.copy()
            trial[free] -= np.clip(np.linalg.solve(normal, jacobian.T @ errors), -1.0, 1.0)
            trial_errors = residuals(trial, cells)
            if trial_errors @ trial_errors < errors @ errors:
                theta, errors, damping = trial, trial_errors, damping / 4
                break
            damping *= 6
        else:
            break
        sys.stderr.write(
            f"rms {np.sqrt(np.mean(errors**2)):.4f}  worst {np.max(np.abs(errors)):.4f}  {np.exp(theta)}\n"
        )
    return _constants(theta)


def _constants(theta: Floats) -> tuple[StepModel, float]:
    *model, turnaround_s = (float(value) for value in np.exp(theta))
    return StepModel(*model), turnaround_s


def crossing(curve: dict[int, float], baseline: dict[int, float]) -> float | None:
    """Log-linear crossing of two curves over clients, the way the measured ones are quoted."""
    rungs = sorted(curve.keys() & baseline.keys())
    for low, high in pairwise(rungs):
        before, after = (np.log(curve[rung] / baseline[rung]) for rung in (low, high))
        if before > 0 >= after:
            return float(np.exp(np.log(low) + (np.log(high) - np.log(low)) * before / (before - after)))
    return None


def report(cells: dict[tuple[str, int], float], model: StepModel, turnaround_s: float, seeds: Sequence[int]) -> str:
    """Markdown: errors in percent per arm and rung, then the crossings."""
    simulated = {(arm, clients): replay(ARMS[arm], clients, model, turnaround_s, seeds) for arm, clients in cells}
    rungs = sorted({clients for _, clients in cells})
    lines = ["| clients | " + " | ".join(ARMS) + " |", "|---" * (len(ARMS) + 1) + "|"]
    for rung in rungs:
        row = [f"{100 * (simulated[arm, rung] / cells[arm, rung] - 1):+.1f}%" for arm in ARMS]
        lines.append(f"| {rung} | " + " | ".join(row) + " |")
    lines += ["", "| arm | measured crossing | simulated |", "|---|---|---|"]
    for arm in [name for name in ARMS if name != "off"]:
        pair = []
        for source in (cells, simulated):
            curves = [{clients: v for (name, clients), v in source.items() if name == one} for one in (arm, "off")]
            value = crossing(curves[0], curves[1])
            pair.append("none" if value is None else f"{value:.0f}")
        lines.append(f"| {arm} | {pair[0]} | {pair[1]} |")
    return "\n".join(lines)


def main() -> None:
    """Fit or compare, and write the tables to stdout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="search the constants anew (minutes)")
    parser.add_argument("--seeds", type=int, default=3, help="replays per cell in the table")
    arguments = parser.parse_args()
    cells = measured(DATA)
    model, turnaround_s = fit(cells) if arguments.fit else (H200, TURNAROUND_S)
    constants = [f"{field.name}={value:.4g}" for field, value in zip(fields(model), astuple(model), strict=True)]
    sys.stdout.write(f"StepModel({', '.join(constants)}), turnaround {turnaround_s:.4g} s\n\n")
    sys.stdout.write(report(cells, model, turnaround_s, range(arguments.seeds)) + "\n")


if __name__ == "__main__":
    main()
