"""What the same arrivals are said to do where requests are no longer the sweep's, held against the simulated server.

`python -m benchmarks.moved_cost` prints the table of `docs/cost.md`. The baseline's curve stays at the swept level; the
last column moves it, too, by the model, which is no better: what is left is the queue's own error with long prompts.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from monitor.moved_curves import moved_result
from probes.answer_values import Axis, CurveSample
from probes.crossover import cells_to_points, estimate
from probes.crossover.arrival import curves_of, same_rate
from probes.crossover.whole import completed
from probes.sim.arrivals import poisson, serve
from probes.sim.engine import Engine
from probes.steptime.adjust import adjusted
from probes.steptime.shift import output_shift
from probes.steptime.values import Mix, StepModel
from tests.support.drifting_server import OFF, ON, swept_cells

MIXES = ((64, 512), (64, 256), (178, 64), (178, 512), (300, 256), (300, 400), (500, 256))
SHARES = (0.25, 0.5, 0.75)
"""Of what the moved curves say can be made at most."""
REQUESTS = 2500
Curves = Mapping[str, Sequence[CurveSample]]


def with_baseline(curves: Curves, model: StepModel, mix: Mix) -> dict[str, list[CurveSample]]:
    """All curves moved by what the model says the mix does to the baseline."""
    base = curves["off"]
    x = np.array([s.concurrency for s in base])
    change, _ = output_shift(model, "off", x, None, mix)

    def moved(s: CurveSample) -> CurveSample:
        factor = math.exp(float(np.interp(math.log(s.concurrency), np.log(x), change)))
        return replace(s, tok_s=s.tok_s * factor, low=s.low * factor, high=s.high * factor)

    return {arm: [moved(s) for s in samples] for arm, samples in curves.items()}


def said(curves: Curves, load: float, truth: float) -> str:
    """Error and whether the interval holds the truth."""
    read = curves_of(curves)
    there = same_rate(read["k3"], read["off"], load)
    if there.concurrency is None:
        return there.reason
    held = (there.low or 0.0) <= truth <= (there.high or math.inf)
    return f"{100 * (there.concurrency / truth - 1):+.1f}%{'' if held else ', outside'}"


def report() -> Iterator[str]:
    """The table, as Markdown."""
    cells = list(swept_cells())
    found = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    found = completed(found, cells, {"off": None, "k3": 3})
    assert found.step_model is not None
    yield "| prompt + output tokens | in system k3 | in system off | as swept | as of now | baseline moved too |"
    yield "|---|---|---|---|---|---|"
    for prompts, outputs in MIXES:
        mix = Mix(float(prompts), float(outputs))
        verdict = adjusted(found, "k3", acceptance_length=None, mix=mix)
        now = moved_result(found, {"k3": verdict}).curves
        moved = with_baseline(now, found.step_model, mix)
        most = min(max(s.tok_s for s in samples) for samples in moved.values())
        for share in SHARES:
            arrivals = poisson(share * most / outputs, REQUESTS, outputs, 3)
            on, off = (serve(Engine(spec), arrivals, prompt_tokens=prompts) for spec in (ON, OFF))
            errors = " | ".join(said(one, on.concurrency, off.concurrency) for one in (found.curves, now, moved))
            yield f"| {prompts} + {outputs} | {on.concurrency:.2f} | {off.concurrency:.2f} | {errors} |"


if __name__ == "__main__":
    for line in report():
        sys.stdout.write(line + "\n")
