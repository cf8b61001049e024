"""Prints how good the crossover estimator is: coverage and width by shape, measured sweeps, published tables, speed.

A report for people (`make eval`); what must hold is asserted by tests/unit/crossover, not here.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections import Counter

import numpy as np

from probes.crossover import estimate
from probes.values import ArmVerdict, Axis, CurvePoint, Verdict
from tests.support.measured_sweeps import h200_points, published_sweeps
from tests.support.simulated_sweeps import LADDERS, SHAPES, same_server_twice, simulate

SWEEPS = 300
SEED = 1


def out(line: str = "") -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    """Print every section."""
    coverage()
    same_server()
    measured()
    published()
    speed()


def judged(points: list[CurvePoint], arm: str) -> ArmVerdict:
    return estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms[arm]


def coverage() -> None:
    for common in (0.02, 0.0, 0.03):
        out(f"## Coverage of the 90% interval: {SWEEPS} sweeps a shape, {100 * common:.0f}% between runs")
        out(f"{'shape':10} {'verdicts':54} {'covered':>8} {'width':>6} {'|error|':>8}   (octaves, medians)")
        pooled: list[bool] = []
        for shape in SHAPES:
            rng = np.random.default_rng(SEED)
            verdicts: Counter[str] = Counter()
            hits: list[bool] = []
            widths: list[float] = []
            errors: list[float] = []
            for _ in range(SWEEPS):
                sweep = simulate(shape, rng, common=common)
                verdict = judged(sweep.points, "on")
                verdicts[verdict.verdict.value] += 1
                if verdict.verdict is Verdict.CROSSES and sweep.crossover and verdict.crossover:
                    hits.append((verdict.low or 0) <= sweep.crossover <= (verdict.high or math.inf))
                    widths.append(width(verdict))
                    errors.append(abs(math.log2(verdict.crossover / sweep.crossover)))
            pooled += hits
            words = ", ".join(f"{name} {count}" for name, count in verdicts.most_common())
            tail = f"{np.mean(hits):8.1%} {np.median(widths):6.2f} {np.median(errors):8.2f}" if hits else ""
            out(f"{shape:10} {words:54} {tail}")
        out(f"{'pooled':65} {np.mean(pooled):8.1%}")
        out()
    rng = np.random.default_rng(SEED)
    plain = [simulate("linear", rng, noise=0.02, repeats=3, ladder=LADDERS[1], min_slope=0.08) for _ in range(SWEEPS)]
    median = np.median([width(judged(sweep.points, "on")) for sweep in plain])
    out(f"2% noise, 3 repeats, 9 rungs, slope from 8% an octave: median width {median:.2f} octaves")
    out()


def width(verdict: ArmVerdict) -> float:
    return math.log2(verdict.high / verdict.low) if verdict.low and verdict.high else math.inf


def same_server() -> None:
    out(f"## The same server twice: {SWEEPS} sweeps, 7 rungs, 2-4 repeats, 1-2% noise")
    for common in (0.02, 0.0):
        rng = np.random.default_rng(SEED)
        found = [judged(same_server_twice(rng, common=common), "again") for _ in range(SWEEPS)]
        inside = np.mean([p.low <= 1 <= p.high for verdict in found for p in verdict.speedup])
        words = dict(Counter(verdict.verdict.value for verdict in found).most_common())
        out(f"{100 * common:.0f}% between runs: {words}; band holds 1 at {inside:.1%} of its points")
    out()


def measured() -> None:
    out("## One H200, vLLM 0.26.0, EAGLE-3 with synthetic acceptance (by hand, in clients: k5 93, k3 167, k1 240)")
    for by_clients, name in ((False, "in system"), (True, "clients")):
        result = estimate(h200_points(by_clients=by_clients), baseline="off", axis=Axis.CLIENTS)
        for arm, verdict in sorted(result.arms.items()):
            out(f"{name:10} {arm:4} {answer(verdict)}")
        for best in result.best:
            sure = "sure" if best.confident else "not sure"
            out(f"{'':10} {best.start:6.1f} to {best.end:6.1f}: {best.arm} by {best.margin_pct:.1f}% ({sure})")
    out()


def published() -> None:
    out("## Published tables: the estimate beside a person's reading")
    agreed = 0
    tables = published_sweeps()
    for table in tables:
        verdict = judged(table.points, "on")
        agrees = table.verdict is None or verdict.verdict == table.verdict
        if table.between and verdict.crossover:
            agrees = agrees and table.between[0] <= verdict.crossover <= table.between[1]
        agreed += agrees
        reading = table.verdict or "open"
        if table.between:
            reading += f" in {table.between[0]:g}-{table.between[1]:g}"
        out(f"{'  ' if agrees else '! '}{table.id:36} {answer(verdict):42} | {reading}: {table.why}")
    out(f"{agreed} of {len(tables)} agree")
    out()


def answer(verdict: ArmVerdict) -> str:
    def edge(value: float | None) -> str:
        return "open" if value is None else f"{value:.3g}"

    value = f" {verdict.crossover:.3g}" if verdict.crossover else ""
    return f"{verdict.verdict.value}{value} [{edge(verdict.low)}, {edge(verdict.high)}]"


def speed() -> None:
    rng = np.random.default_rng(SEED)
    ladder = (1, 2, 4, 8, 16, 32, 64, 128, 192, 256)
    points = []
    for arm in ("off", "k1", "k2", "k3", "k5"):
        sweep = simulate("linear", rng, repeats=5, ladder=ladder)
        points += [CurvePoint(arm, p.concurrency, p.output_tok_s, p.repeat) for p in sweep.points if p.arm == "on"]
    times = []
    for _ in range(30):
        start = time.perf_counter()
        estimate(points, baseline="off", axis=Axis.CLIENTS)
        times.append(1000 * (time.perf_counter() - start))
    out(f"## Speed: 5 arms, 10 rungs, 5 repeats: {statistics.median(times):.1f} ms (median of {len(times)})")


if __name__ == "__main__":
    main()
