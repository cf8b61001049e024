"""Where an arm stops being faster for the one who waits: crossovers of TPOT and TTFT, beside that of throughput.

They inform; the verdict that alerts go by comes from output tok/s alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from probes.answer_values import ArmVerdict, Crossover, CurvePoint, Verdict
from probes.crossover.curves import Curve, fit_curve
from probes.crossover.noise import PRIOR_DF, Noise
from probes.crossover.ratio import ratio_of
from probes.crossover.verdict import judge
from probes.values import Cell, Latency, Reason

Z_P99 = 2.3263
"""Standard normal deviate of p99."""
SPREAD_P50 = math.sqrt(math.pi / 2)
"""Standard error of a median of n draws over s / sqrt(n), where the logarithm is normal with sd s."""
SPREAD_P99 = math.sqrt(0.99 * 0.01) / (math.exp(-(Z_P99**2) / 2) / math.sqrt(2 * math.pi))
"""The same of p99: 3.7 times s / sqrt(n)."""
REQUESTS_P50 = 10
REQUESTS_P99 = 50
"""Requests below which a cell's p50 and p99 are left out: one or two requests would make them."""
COARSE = "latency_coarse"
"""The note by which a sweep says that its own client was too slow for a cell's latencies."""


@dataclass(frozen=True, slots=True)
class _Metric:
    of: Callable[[Cell], Latency]
    p99: bool

    def ms(self, cell: Cell) -> float | None:
        """None where the cell has none, too few requests for it, or a client that was too slow to time them."""
        if cell.requests < (REQUESTS_P99 if self.p99 else REQUESTS_P50) or any(n.code == COARSE for n in cell.notes):
            return None
        found = self.of(cell)
        value = found.p99_ms if self.p99 else found.p50_ms
        return value if value is not None and math.isfinite(value) and value > 0 else None

    def sampling_variance(self, cell: Cell) -> float:
        """Of the logarithm, because a cell has only so many requests; 0 where p50 and p99 cannot tell their spread."""
        low, high = self.of(cell).p50_ms, self.of(cell).p99_ms
        if not low or not high or high <= low:
            return 0.0
        sd = math.log(high / low) / Z_P99
        return ((SPREAD_P99 if self.p99 else SPREAD_P50) * sd) ** 2 / cell.requests


METRICS: Mapping[str, _Metric] = {
    "tpot_p50": _Metric(lambda cell: cell.tpot, p99=False),
    "tpot_p99": _Metric(lambda cell: cell.tpot, p99=True),
    "ttft_p50": _Metric(lambda cell: cell.ttft, p99=False),
    "ttft_p99": _Metric(lambda cell: cell.ttft, p99=True),
}


def latency_crossovers(cells: Sequence[Cell], found: Crossover) -> dict[str, dict[str, ArmVerdict]]:
    """By metric, then by arm, from valid cells; left out where an arm or the baseline has it on fewer than two rungs.

    The estimator is that of throughput, over 1 / latency. Each verdict also says how it lies to throughput's.
    """
    answers: dict[str, dict[str, ArmVerdict]] = {}
    for name, metric in METRICS.items():
        curves = _curves(cells, metric)
        base = curves.pop(found.baseline, None)
        for arm, curve in curves.items():
            ratio = None if base is None else ratio_of(curve, base)
            if ratio is not None:
                verdict = judge(arm, found.baseline, ratio)
                reasons = (*verdict.reasons, *_beside(verdict, found.arms.get(arm)))
                answers.setdefault(name, {})[arm] = replace(verdict, reasons=reasons)
    return answers


def _curves(cells: Sequence[Cell], metric: _Metric) -> dict[str, Curve]:
    points: dict[str, list[CurvePoint]] = {}
    spread: dict[str, list[float]] = {}
    for cell in cells:
        ms = metric.ms(cell) if cell.valid else None
        if ms is None or cell.concurrency is None:
            continue
        point = CurvePoint(cell.arm, cell.concurrency, 1e3 / ms, cell.repeat, cell.limited, cell.start)
        points.setdefault(cell.arm, []).append(point)
        spread.setdefault(cell.arm, []).append(metric.sampling_variance(cell))
    fitted = {arm: fit_curve(arm, own) for arm, own in points.items()}
    return {
        arm: replace(curve, noise=_at_least(curve.noise, fmean(spread[arm])))
        for arm, curve in fitted.items()
        if curve is not None
    }


def _at_least(noise: Noise, sampling_variance: float) -> Noise:
    """The noise with its prior's share raised to what the number of requests alone would scatter.

    The prior is made for tok/s, of which a cell has thousands of tokens; with few repeats it would flatter a p99.
    """
    share = PRIOR_DF / noise.df if noise.repeated else 1.0
    variance = (1 - share) * noise.sigma**2 + share * max(noise.sigma**2, sampling_variance)
    return replace(noise, sigma=math.sqrt(variance))


def _beside(latency: ArmVerdict, output: ArmVerdict | None) -> list[Reason]:
    """How far up the latency pays, beside throughput; nothing where either is unclear or their intervals overlap."""
    here, there = _pays_up_to(latency), None if output is None else _pays_up_to(output)
    if here is None or there is None:
        return []
    if here[0] > there[1]:
        return [Reason("pays_beyond_throughput", "It still pays where output tok/s no longer does.")]
    if here[1] < there[0]:
        return [Reason("pays_less_than_throughput", "It no longer pays where output tok/s still does.")]
    return []


def _pays_up_to(verdict: ArmVerdict) -> tuple[float, float] | None:
    """The interval of the concurrency up to which the arm is faster, infinite where open.

    Where it never is, that is at most the lowest concurrency compared: a p99 may have none below.
    """
    match verdict.verdict:
        case Verdict.CROSSES | Verdict.ALWAYS_FASTER:
            return verdict.low or 0.0, math.inf if verdict.high is None else verdict.high
        case Verdict.NEVER_FASTER:
            return 0.0, verdict.speedup[0].concurrency if verdict.speedup else 0.0
        case _:
            return None
