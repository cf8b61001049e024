"""From throughput measurements to the crossover of every arm; the one entry to the estimator.

Pure: no clock, no I/O, and the same points always give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from probes.answer_values import ArmVerdict, Axis, BandPoint, Crossover, CurvePoint, CurveSample, Verdict
from probes.crossover.best import best_ranges, draft_lengths
from probes.crossover.capacity import capacity_of
from probes.crossover.curves import Curve, fit_curve, usable
from probes.crossover.noise import UNREPEATED_SIGMA
from probes.crossover.ratio import ratio_of
from probes.crossover.verdict import judge
from probes.values import Reason

NOISY_SIGMA = 0.05
"""Repeats of one arm that scatter more than this deserve a word."""
ADMISSION_LIMITED = "admission_limited"
END_TOLERANCE = 1e-6
"""The band's ends went through a logarithm; a concurrency this close to one is that point."""
END_SLACK = 1.02
"""A load beyond what was measured by no more than this factor is the last one measured: two looks at one load differ
by as much, and a server that runs at its limit would otherwise be compared at every other look."""


def estimate(points: Sequence[CurvePoint], *, baseline: str, axis: Axis) -> Crossover:
    """Compare every arm with the baseline at equal concurrency.

    Concurrency is requests in the system per engine (or clients, as `axis` says), throughput output tok/s.
    Intervals and bands are 90%. Never raises on odd data: what cannot be judged is `insufficient`, with reasons.
    """
    by_arm: dict[str, list[CurvePoint]] = {}
    for point in points:
        by_arm.setdefault(point.arm, []).append(point)
    curves = {arm: curve for arm, own in by_arm.items() if (curve := fit_curve(arm, own)) is not None}
    arms = {
        arm: replace(
            _verdict(arm, baseline, by_arm, curves),
            capacity=capacity_of(own),
        )
        for arm, own in by_arm.items()
        if arm != baseline
    }
    samples = {arm: curve.samples() for arm, curve in curves.items()}
    best = best_ranges(curves, baseline, draft_lengths(points))
    return Crossover(baseline, axis, arms, best, samples, baseline_capacity=capacity_of(by_arm.get(baseline, ())))


def speedup_at(verdict: ArmVerdict, concurrency: float) -> BandPoint | None:
    """The band at one concurrency, log-linear between its points; None outside what was measured (by END_SLACK)."""
    rows = [(p.concurrency, p.ratio, p.low, p.high) for p in verdict.speedup]
    found = _log_between(rows, at_end(concurrency, [row[0] for row in rows]))
    return None if found is None else BandPoint(*found)


def curve_at(samples: Sequence[CurveSample], concurrency: float) -> CurveSample | None:
    """One arm's tok/s per engine at one concurrency, log-linear between rungs; None outside what was measured."""
    found = _log_between([(s.concurrency, s.tok_s, s.low, s.high) for s in samples], concurrency)
    return None if found is None else CurveSample(*found)


def at_end(x: float, measured: Sequence[float]) -> float:
    """`x`, or the first or last of what was measured where it is no further than END_SLACK beyond."""
    if not measured or not measured[0] / END_SLACK <= x <= measured[-1] * END_SLACK:
        return x
    return min(max(x, measured[0]), measured[-1])


_Row = tuple[float, float, float, float]


def _log_between(rows: Sequence[_Row], x: float) -> _Row | None:
    """The row at `x`, which is the first column, ascending; a measured one as it stands."""
    at = next((row for row in rows if math.isclose(row[0], x, rel_tol=END_TOLERANCE)), None)
    if at is not None:
        return at
    if not rows or not rows[0][0] <= x <= rows[-1][0]:
        return None
    right = next(i for i, row in enumerate(rows) if row[0] >= x)
    one, two = rows[right - 1], rows[right]
    share = math.log(x / one[0]) / math.log(two[0] / one[0])
    value, low, high = (math.exp((1 - share) * math.log(one[i]) + share * math.log(two[i])) for i in (1, 2, 3))
    return x, value, low, high


def _verdict(arm: str, baseline: str, by_arm: dict[str, list[CurvePoint]], curves: dict[str, Curve]) -> ArmVerdict:
    if baseline not in by_arm:
        return _insufficient(arm, "no_baseline", f"There is no measurement of {baseline}, the baseline.")
    for name in (baseline, arm):
        if name not in curves:
            text = f"{name} was measured on fewer than two rungs; a curve needs at least two."
            short = _insufficient(arm, "too_few_rungs", text)
            return replace(short, reasons=(*short.reasons, *_left_out(name, by_arm[name])))
    curve, base = curves[arm], curves[baseline]
    ratio = ratio_of(curve, base)
    if ratio is None:
        text = f"{arm} and {baseline} were not measured over a common range of concurrency."
        return _insufficient(arm, "no_overlap", text)
    verdict = judge(arm, baseline, ratio)
    notes = [note for c in (base, curve) for note in _notes(c, by_arm[c.arm], verdict)]
    return replace(verdict, reasons=(*verdict.reasons, *notes))


def _insufficient(arm: str, code: str, text: str) -> ArmVerdict:
    return ArmVerdict(arm, Verdict.INSUFFICIENT, None, None, None, (), None, (Reason(code, text),))


def _notes(curve: Curve, points: Sequence[CurvePoint], verdict: ArmVerdict) -> list[Reason]:
    notes = []
    if not curve.noise.repeated:
        text = f"{curve.arm} has no repeats; {100 * UNREPEATED_SIGMA:.1f}% noise per measurement is assumed."
        notes.append(Reason("not_repeated", text))
    elif curve.noise.sigma > NOISY_SIGMA:
        text = f"Repeats of {curve.arm} scatter by {100 * curve.noise.sigma:.0f}%; longer cells or more repeats help."
        notes.append(Reason("noisy", text))
    edge = curve.limited_above
    if edge is not None and verdict.speedup and verdict.speedup[-1].concurrency > edge:
        text = f"On the rungs above {edge:.3g} {curve.arm} was held back by admission: waiting, preemption or KV space."
        notes.append(Reason(ADMISSION_LIMITED, text))
    return notes + _left_out(curve.arm, points)


def _left_out(arm: str, points: Sequence[CurvePoint]) -> list[Reason]:
    unusable = sum(not usable(p) for p in points)
    if not unusable:
        return []
    text = f"{unusable} measurements of {arm} were left out: concurrency or tok/s is not a positive number."
    return [Reason("unusable_points", text)]
