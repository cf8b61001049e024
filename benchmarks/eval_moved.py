"""Holds one measured sweep's answer, moved to the traffic of another, against what that other sweep measured.

Run from the repository root: `.venv/bin/python -m benchmarks.eval_moved SWEPT NOW [--arm NAME=NAME] [--also FILE]`.
Files are those of `specwatch sweep --out`, or cells as in `tests/data/h200/*.jsonl`. `--arm k3=k3poor` says that the
second file calls an arm by another name; the one that has that name there is left out. `--also` is an earlier sweep
under another mix, which the model is fitted to as well. The last table is of what the model says of each arm alone,
also where the product withdraws the answer. It changes no file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.eval_steptime import last_fall, means
from probes.answer_values import BandPoint, Crossover
from probes.crossover import speedup_at
from probes.imports.sweep_file import read_sweep
from probes.steptime.adjust import adjusted
from probes.steptime.shift import output_shift
from probes.steptime.values import Mix, StepModel
from probes.values import Cell
from tests.support.formula_sweeps import answer
from tests.support.measured_cells import cells_of_rows

SAME_MIX = 0.02
"""Sweeps whose lengths differ by less (natural log) had one mix: lengths are drawn anew for each."""
SAME_RUNG = 0.05
"""The same of concurrency: between rungs that are octaves apart a straight line would be off by more than the model."""


def cells_of(path: Path) -> list[Cell]:
    """All cells of a file."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    if ".jsonl" in path.suffixes:
        return cells_of_rows([json.loads(line) for line in text.splitlines()])
    return list(read_sweep(path, json.loads(text)).cells)


def table(swept: Crossover, now: Crossover) -> list[str]:
    """Crossing and speedups of every arm that both sweeps have."""
    lines = ["| arm | acceptance | mix | crossing swept | as of now | measured now | scaled by acceptance |"]
    lines.append("|---" * 7 + "|")
    details: list[str] = []
    for arm in [name for name in now.arms if name in swept.arms]:
        model, there = _model(swept), _model(now).arms[arm]
        was = model.arms[arm]
        mix = None if _near(was.mix, there.mix) else there.mix
        moved = adjusted(swept, arm, acceptance_length=there.acceptance_length, mix=mix)
        truth = now.arms[arm]
        scaled = _scaled(swept.arms[arm].speedup, there.acceptance_length / was.acceptance_length)
        lines.append(
            f"| {arm} | {was.acceptance_length:.2f} -> {there.acceptance_length:.2f} | {_mix(was.mix)} -> "
            f"{_mix(there.mix)} | {_span(swept.arms[arm].crossover, None, None)} "
            f"| {_span(moved.crossover, moved.low, moved.high)} {moved.verdict.value} "
            f"| {_span(truth.crossover, truth.low, truth.high)} {truth.verdict.value} "
            f"| {_span(scaled, None, None)} |"
        )
        for point in truth.speedup:
            here = speedup_at(moved, point.concurrency)
            if here is not None:
                details.append(
                    f"| {arm} | {point.concurrency:.0f} | {point.ratio:.3f} | {here.ratio:.3f} "
                    f"[{here.low:.3f}, {here.high:.3f}] | {100 * (here.ratio / point.ratio - 1):+.1f}% |"
                )
    head = ["", "| arm | concurrency | speedup measured now | as of now | error |", "|---" * 5 + "|"]
    return [*lines, *head, *details]


def outputs(swept: Sequence[Cell], now: Sequence[Cell], model: StepModel, there: StepModel) -> list[str]:
    """Output tok/s of every arm at the rungs that both sweeps have."""
    lines = ["", "| arm | concurrency | tok/s measured now | swept there | moved by | error |", "|---" * 6 + "|"]
    for arm in [name for name in there.arms if name in model.arms]:
        x, log_y = means(swept, arm)
        at, log_now = means(now, arm)
        both = np.array([np.min(np.abs(x - here)) < SAME_RUNG for here in at], dtype=bool)
        at, log_now = at[both], log_now[both]
        traffic = there.arms[arm]
        moved, _ = output_shift(model, arm, np.exp(at), traffic.acceptance_length, traffic.mix)
        level = np.interp(at, x, log_y)
        lines += [
            f"| {arm} | {math.exp(here):.0f} | {math.exp(made):,.0f} | {math.exp(then):,.0f} "
            f"| {100 * math.expm1(by):+.1f}% | {100 * math.expm1(then + by - made):+.1f}% |"
            for here, made, then, by in zip(at, log_now, level, moved, strict=True)
        ]
    return lines


def _scaled(band: Sequence[BandPoint], factor: float) -> float | None:
    x, gain = (np.log(column) for column in zip(*((p.concurrency, p.ratio) for p in band), strict=True))
    return last_fall(x, gain + math.log(factor))


def _near(one: Mix, two: Mix) -> bool:
    pairs = ((one.prompt_tokens, two.prompt_tokens), (one.output_tokens, two.output_tokens))
    return all(abs(math.log(a / b)) < SAME_MIX for a, b in pairs)


def _model(found: Crossover) -> StepModel:
    if found.step_model is None:
        raise SystemExit("one of the files has no step-time model: it needs an arm with and one without drafts.")
    return found.step_model


def _mix(mix: Mix) -> str:
    return f"{mix.prompt_tokens:.0f}+{mix.output_tokens:.0f}"


def _span(value: float | None, low: float | None, high: float | None) -> str:
    middle = "none" if value is None else f"{value:.0f}"
    if low is None and high is None:
        return middle
    edges = ["open" if edge is None else f"{edge:.0f}" for edge in (low, high)]
    return f"{middle} [{edges[0]}, {edges[1]}]"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("swept", type=Path)
    parser.add_argument("now", type=Path)
    parser.add_argument("--arm", action="append", default=[], metavar="NAME=NAME", help="first file's name=second's")
    parser.add_argument("--also", type=Path, action="append", default=[], help="an earlier sweep under another mix")
    arguments = parser.parse_args()
    names = {new: old for old, new in (pair.split("=", 1) for pair in arguments.arm)}
    taken = set(names.values())
    now = [
        replace(cell, arm=names.get(cell.arm, cell.arm))
        for cell in cells_of(arguments.now)
        if cell.arm in names or cell.arm not in taken
    ]
    then = [cell for cell in cells_of(arguments.swept) if cell.valid]
    now = [cell for cell in now if cell.valid]
    swept, there = answer(then, [cells_of(path) for path in arguments.also]), answer(now)
    lines = [*table(swept, there), *outputs(then, now, _model(swept), _model(there))]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
