"""Counts the estimator's answers against the truth of simulated sweeps; what is right, wrong or fair is defined here.

Used by the tests with few sweeps and by the evaluation with many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from probes.answer_values import ArmVerdict, Axis, CurvePoint, Verdict
from probes.crossover import estimate
from tests.support.simulated_sweeps import Sweep

CLEAR = math.log(1.03)
"""A truth this far from 1 is clear."""
TIE = math.log(1.01)
"""A truth nowhere further from 1 than this is a near tie."""


def judged(points: list[CurvePoint], arm: str = "on") -> ArmVerdict:
    """The estimator's answer on one arm."""
    return estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms[arm]


@dataclass(frozen=True, slots=True)
class Scored:
    """One sweep and the answer to it."""

    sweep: Sweep
    answer: ArmVerdict

    @property
    def covered(self) -> bool | None:
        """Whether the interval, of whatever verdict, holds the true crossover; None where there is none in range."""
        truth = self.sweep.crossover
        if truth is None:
            return None
        low, high = self.answer.low, self.answer.high
        return (low is None or low <= truth) and (high is None or truth <= high)

    @property
    def width(self) -> float:
        """Octaves from edge to edge; infinite where one is open."""
        low, high = self.answer.low, self.answer.high
        return math.log2(high / low) if low and high else math.inf

    @property
    def band(self) -> list[bool]:
        """Whether the band holds the true speedup, at each of its points."""
        points = self.answer.speedup
        truth = np.exp(np.interp(np.log([p.concurrency for p in points]), self.sweep.log_x, self.sweep.gain))
        return [p.low <= at <= p.high for p, at in zip(points, truth.tolist(), strict=True)]

    @property
    def decisive_truth(self) -> Verdict | None:
        """The one right verdict where the truth is at least 3% clear of 1 on every side it takes; None elsewhere.

        `crosses`: 3% faster somewhere below the last fall through 1 and 3% slower somewhere above it, once.
        `always_faster`, `never_faster`: 3% clear everywhere. `unclear`: 3% slower somewhere, and 3% faster above it.
        """
        gain = self.sweep.gain
        clear = np.sign(gain) * (np.abs(gain) >= CLEAR)
        sides = clear[clear != 0]
        runs = [int(s) for s in sides[np.flatnonzero(np.diff(sides, prepend=0.0))]]
        if runs == [1, -1] and self.sweep.crossover is not None:
            return Verdict.CROSSES
        if runs == [1] and clear.all():
            return Verdict.ALWAYS_FASTER
        if runs == [-1] and clear.all():
            return Verdict.NEVER_FASTER
        return Verdict.UNCLEAR if runs[-2:] == [-1, 1] else None

    @property
    def at_risk(self) -> bool:
        """Whether the truth is 3% clear of 1 anywhere, so that a decisive verdict can be wrong."""
        return bool(np.max(np.abs(self.sweep.gain)) >= CLEAR)

    @property
    def wrong(self) -> bool:
        """A decisive verdict that a truth at least 3% clear of 1 denies.

        `always_faster`: 3% slower somewhere in range. `never_faster`: 3% faster somewhere in range.
        `crosses`: 3% faster at the top of the range, or 3% clear on one side throughout.
        """
        gain = self.sweep.gain
        slower, faster = bool(gain.min() <= -CLEAR), bool(gain.max() >= CLEAR)
        if self.answer.verdict is Verdict.ALWAYS_FASTER:
            return slower
        if self.answer.verdict is Verdict.NEVER_FASTER:
            return faster
        if self.answer.verdict is Verdict.CROSSES:
            return bool(gain[-1] >= CLEAR or gain.max() <= -CLEAR or gain.min() >= CLEAR)
        return False

    @property
    def near_tie(self) -> bool:
        """Whether the truth is a near tie everywhere."""
        return bool(np.max(np.abs(self.sweep.gain)) < TIE)


def score(sweep: Sweep) -> Scored:
    """Estimate and keep both."""
    return Scored(sweep, judged(sweep.points))
