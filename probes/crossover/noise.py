"""How far a measured speedup can be off, because a handful of repeats says little and cannot see everything.

The constants of the estimator live here and are stated to users; no curve and no verdict is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PRIOR_SIGMA = 0.015
"""Relative noise of one cell that the repeats' own estimate is shrunk toward (measured: 0.5% to 2.5%)."""
PRIOR_DF = 2.0
"""Weight of that prior, in degrees of freedom."""
PRIOR_START_DF = 1.0
"""The same for starts: there are few of them, but they scatter from one server to the next by more than cells do."""
UNREPEATED_SIGMA = 0.025
"""Relative noise assumed for an arm without a single repeat."""
UNREPEATED_DF = 4.0
"""How sure that assumption is, in degrees of freedom."""
COMMON_SIGMA = 0.02
"""Sd of a ratio of two runs of one server, which repeats inside a run cannot see: they differ by 2-3%, a calm machine's
by less. 2% covers 9 crossovers in 10 where it is drawn from 1% to 3%; 2.5% covered 95% and was a sixth wider.
Where starts were measured too (`split_starts`) it stays the least that is allowed for."""
Z_BAND = 1.6449
"""Two-sided 90%: bands and intervals."""
Z_STRONG = 2.5758
"""Two-sided 99%: a sign counts for a verdict only beyond this, because a ladder gives it many chances."""
UNBOUNDED = 300.0
"""Half width of a band in natural logs, beyond which its edges would be no floats; so wide a band says nothing."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Relative standard deviation of one cell of one arm, and what it rests on."""

    sigma: float
    df: float
    repeated: bool
    """False where no rung had a second measurement, so that sigma is assumed."""


def pooled_noise(residuals: Sequence[Floats]) -> Noise:
    """Pool one arm's residuals (one array of log residuals per rung) and shrink them toward the prior."""
    measured_df = float(sum(max(0, r.size - 1) for r in residuals))
    if measured_df == 0:
        return Noise(UNREPEATED_SIGMA, UNREPEATED_DF, repeated=False)
    total = float(sum(float(np.sum(r * r)) for r in residuals if r.size > 1))
    df = PRIOR_DF + measured_df
    return Noise(float(np.sqrt((PRIOR_DF * PRIOR_SIGMA**2 + total) / df)), df, repeated=True)


@dataclass(frozen=True, slots=True)
class StartNoise:
    """Variance of one arm's whole curve because its server was started anew, and what that rests on."""

    variance: float
    df: float


NO_STARTS = StartNoise(0.0, PRIOR_START_DF)
"""Of an arm that was measured on one start, or nobody knows on how many: only COMMON_SIGMA speaks for it."""


def split_starts(residuals: Sequence[Floats], starts: Sequence[Sequence[int]]) -> tuple[Noise, StartNoise]:
    """Split one arm's residuals (log, an array per rung, beside them the start of each) into cells and starts.

    One-way analysis of variance. With r the residuals, m the points of a start, S starts and R rungs of N points:

        within  = sum (r - mean of its start)^2 / (N - R - S + 1)
        between = sum m (mean of the start)^2 / (S - 1)
        variance of a start  = max(0, (between - within) / mean m)
        variance of the curve = that, shrunk toward COMMON_SIGMA^2 / 2, over S

    A ratio takes both arms' curve variance, but never less than COMMON_SIGMA^2.
    """
    r = np.concatenate([np.asarray(one) for one in residuals])
    label = np.concatenate([np.asarray(one, dtype=np.int64) for one in starts])
    names = np.unique(label)
    if names.size < 2:
        return pooled_noise(residuals), NO_STARTS
    means = np.array([r[label == name].mean() for name in names])
    points = np.array([np.count_nonzero(label == name) for name in names], dtype=np.float64)
    own = r - means[np.searchsorted(names, label)]
    within_df = float(max(0, r.size - len(residuals) - (names.size - 1)))
    total = float(np.sum(own * own))
    df = PRIOR_DF + within_df
    cell = Noise(float(np.sqrt((PRIOR_DF * PRIOR_SIGMA**2 + total) / df)), df, repeated=True)
    between = float(np.sum(points * means**2)) / (names.size - 1)
    within = total / within_df if within_df else PRIOR_SIGMA**2
    one_start = max(0.0, (between - within) / float(points.mean()))
    start_df = PRIOR_START_DF + names.size - 1
    shrunk = (PRIOR_START_DF * COMMON_SIGMA**2 / 2 + (names.size - 1) * one_start) / start_df
    return cell, StartNoise(shrunk / names.size, float(start_df))


def t_quantile(z: float, df: Floats) -> Floats:
    """Student's t at the probability where the normal has `z` (Cornish-Fisher series, better than 1% from 4 df up)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return np.asarray(z + first / df + second / df**2 + third / df**3, dtype=np.float64)
