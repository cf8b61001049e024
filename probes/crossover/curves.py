"""One arm's log tok/s over its own log concurrency, because arms never sit at exactly the same x on the same rung.

Piecewise log-linear through the rungs' means and never extrapolated; it compares nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probes.answer_values import CurvePoint, CurveSample
from probes.crossover.noise import (
    COMMON_SIGMA,
    NO_STARTS,
    UNBOUNDED,
    Z_BAND,
    Floats,
    Noise,
    StartNoise,
    pooled_noise,
    split_starts,
    t_quantile,
)

RUNG_STEP = math.log(1.06)
"""Neighbouring measurements further apart than this are different rungs."""
RUNG_SAME = math.log(1.03)
"""Closer than this they are one rung even under the same repeat number: results from elsewhere may not number them."""
RUNG_SPAN = math.log(1.12)
"""One rung never spans more than this."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Means per rung in natural logs, ascending."""

    arm: str
    log_x: Floats
    log_y: Floats
    """Output tok/s per engine, as concurrency is."""
    repeats: Floats
    noise: Noise
    limited_above: float | None
    """Concurrency of the last rung before admission limits; None where no limited rung continues the curve."""
    start_noise: StartNoise = NO_STARTS
    """What restarts add to the whole curve alike."""

    def samples(self) -> tuple[CurveSample, ...]:
        """The arm's own tok/s per engine at its rungs with the 90% interval of any other run: cells, starts, runs."""
        one_run = max(COMMON_SIGMA**2 / 2, self.start_noise.variance)
        cells = self.noise.sigma**2 / self.repeats
        few = cells**2 / self.noise.df
        if one_run > COMMON_SIGMA**2 / 2:
            few = few + one_run**2 / self.start_noise.df
        half = np.minimum(t_quantile(Z_BAND, (cells + one_run) ** 2 / few) * np.sqrt(cells + one_run), UNBOUNDED)
        rows = np.exp(np.stack([self.log_x, self.log_y, self.log_y - half, self.log_y + half], axis=1))
        return tuple(CurveSample(*(float(v) for v in row)) for row in rows)

    def at(self, log_x: Floats) -> tuple[Floats, Floats]:
        """Log tok/s and its variance from cell noise at `log_x`, which must lie inside the curve's own range."""
        last = self.log_x.size - 2
        left = np.clip(np.searchsorted(self.log_x, log_x, side="right") - 1, 0, last)
        share = (log_x - self.log_x[left]) / (self.log_x[left + 1] - self.log_x[left])
        value = (1 - share) * self.log_y[left] + share * self.log_y[left + 1]
        weight = (1 - share) ** 2 / self.repeats[left] + share**2 / self.repeats[left + 1]
        return value, weight * self.noise.sigma**2


def usable(point: CurvePoint) -> bool:
    """True where a logarithm can be taken of the numbers."""
    return all(math.isfinite(v) and v > 0 for v in (point.concurrency, point.output_tok_s, point.engines))


def rungs_of(points: Sequence[CurvePoint]) -> list[list[CurvePoint]]:
    """Group one arm's points into rungs by concurrency; between close rungs, the repeats' numbers tell them apart."""
    rungs: list[list[CurvePoint]] = []
    for point in sorted(points, key=lambda p: (p.concurrency, p.repeat)):
        log_x = math.log(point.concurrency)
        if rungs:
            rung = rungs[-1]
            near = log_x - math.log(rung[-1].concurrency) <= RUNG_STEP
            span = log_x - math.log(rung[0].concurrency)
            new_repeat = all(p.repeat != point.repeat for p in rung)
            if near and (span <= RUNG_SAME or (span <= RUNG_SPAN and new_repeat)):
                rung.append(point)
                continue
        rungs.append([point])
    return rungs


def _apart(rungs: Sequence[list[CurvePoint]]) -> list[list[CurvePoint]]:
    """Join rungs that touch: without its limited points one can be left with only the x of the next."""
    joined: list[list[CurvePoint]] = []
    for rung in rungs:
        if joined and rung[0].concurrency <= joined[-1][-1].concurrency:
            joined[-1] = [*joined[-1], *rung]
        else:
            joined.append(rung)
    return joined


def fit_curve(arm: str, points: Sequence[CurvePoint]) -> Curve | None:
    """Fit one arm's curve; None with fewer than two rungs.

    Admission-limited points never shape the curve where unlimited ones reach. Above the last unlimited rung they
    continue it: there the arm really delivers no more, and leaving them out would hide the loss.
    """
    rungs = rungs_of([p for p in points if usable(p)])
    free = [[p for p in rung if not p.limited] for rung in rungs]
    last_free = max((i for i, rung in enumerate(free) if rung), default=-1)
    chosen = _apart([rung for rung in free[: last_free + 1] if rung] + rungs[last_free + 1 :])
    if len(chosen) < 2:
        return None
    logs = [(np.log([p.concurrency for p in r]), np.log([p.output_tok_s / p.engines for p in r])) for r in chosen]
    log_x = np.array([x.mean() for x, _ in logs])
    log_y = np.array([y.mean() for _, y in logs])
    slopes = np.gradient(log_y, log_x)
    residuals = [y - my - s * (x - mx) for (x, y), mx, my, s in zip(logs, log_x, log_y, slopes, strict=True)]
    limited_above = None
    if 0 <= last_free < len(rungs) - 1:
        limited_above = float(np.exp(np.mean(np.log([p.concurrency for p in free[last_free]]))))
    counts = np.array([len(r) for r in chosen], dtype=np.float64)
    starts = [[p.start for p in rung if p.start is not None] for rung in chosen]
    if all(len(known) == len(rung) for known, rung in zip(starts, chosen, strict=True)):
        noise, start_noise = split_starts(residuals, starts)
    else:
        noise, start_noise = pooled_noise(residuals), NO_STARTS
    return Curve(arm, log_x, log_y, counts, noise, limited_above, start_noise)
