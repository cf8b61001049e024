"""Prints how far the intervals of latency crossovers can be trusted when cells have few requests and few repeats.

A report for people (`python -m benchmarks.eval_latency [SWEEPS]`); what must hold is asserted by tests/unit/crossover.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Sequence

from probes.answer_values import ArmVerdict, Axis, Crossover, Verdict
from probes.crossover.latency import latency_crossovers
from probes.values import Cell
from tests.support.latency_sweeps import LatencySweep, latency_sweep

SWEEPS = 1000
METRICS = ("tpot_p50", "tpot_p99")
NOTHING = Crossover("off", Axis.CONCURRENCY_PER_ENGINE, {})


def out(line: str = "") -> None:
    sys.stdout.write(line + "\n")


def main(sweeps: int) -> None:
    """One row per metric and number of repeats."""
    out(f"{sweeps} simulated sweeps a row, seeds from 0, 7 rungs, 40 requests a cell at one client, lognormal TPOT")
    out("| metric | repeats | interval holds the crossing | median width, octaves | unclear | same server: decisive |")
    out("|---|---|---|---|---|---|")
    for metric in METRICS:
        for repeats in (1, 2, 4):
            found = [(made.crossover, _verdict(metric, made.cells)) for made in _sweeps(sweeps, repeats, same=False)]
            crosses = [(x, v) for x, v in found if v.verdict is Verdict.CROSSES]
            held = statistics.fmean((v.low or 0.0) <= x <= (v.high or math.inf) for x, v in crosses)
            widths = [math.log2(v.high / v.low) for _, v in crosses if v.low and v.high]
            unclear = statistics.fmean(v.verdict is Verdict.UNCLEAR for _, v in found)
            equal = [_verdict(metric, made.cells) for made in _sweeps(sweeps, repeats, same=True)]
            wrong = statistics.fmean(v.verdict is not Verdict.UNCLEAR for v in equal)
            out(
                f"| {metric} | {repeats} | {held:.1%} | {statistics.median(widths):.2f} | {unclear:.1%} | {wrong:.1%} |"
            )


def _sweeps(count: int, repeats: int, *, same: bool) -> Iterator[LatencySweep]:
    return (latency_sweep(seed, repeats=repeats, same=same) for seed in range(count))


def _verdict(metric: str, cells: Sequence[Cell]) -> ArmVerdict:
    return latency_crossovers(cells, NOTHING)[metric]["on"]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SWEEPS)
