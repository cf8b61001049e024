"""How long one estimate of five arms takes on one thread; the target is under 50 ms."""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.crossover.table import say
from probes.answer_values import Axis, CurvePoint
from probes.crossover import estimate
from tests.support.simulated_sweeps import simulate

LADDER = (1, 2, 4, 8, 16, 32, 64, 128, 192, 256)
TIMES = 40


def report(seed: int) -> None:
    """Print the median."""
    rng = np.random.default_rng(seed)
    points = [
        CurvePoint(arm, p.concurrency, p.output_tok_s, p.repeat)
        for arm in ("off", "k1", "k2", "k3", "k5")
        for p in simulate("linear", rng, repeats=5, ladder=LADDER).points
        if p.arm == "on"
    ]
    times_ms = []
    for _ in range(TIMES):
        start = time.perf_counter()
        estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
        times_ms.append(1000 * (time.perf_counter() - start))
    say(f"## Speed: 5 arms, 10 rungs, 5 repeats: {statistics.median(times_ms):.1f} ms (median of {TIMES})")
