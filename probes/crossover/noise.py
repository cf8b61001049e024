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
PRIOR_DF = 4.0
"""Weight of that prior, in degrees of freedom."""
UNREPEATED_SIGMA = 0.025
"""Relative noise assumed for an arm without a single repeat."""
COMMON_SIGMA = 0.025
"""Relative noise of a ratio that repeats inside one run cannot see: restarts of a server differ by 2-3%."""
Z_BAND = 1.6449
"""Two-sided 90%: bands and intervals."""
Z_STRONG = 2.3263
"""Two-sided 98%: a sign counts for a verdict only beyond this, because a ladder gives it many chances."""


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
        return Noise(UNREPEATED_SIGMA, PRIOR_DF, repeated=False)
    total = float(sum(float(np.sum(r * r)) for r in residuals if r.size > 1))
    df = PRIOR_DF + measured_df
    return Noise(float(np.sqrt((PRIOR_DF * PRIOR_SIGMA**2 + total) / df)), df, repeated=True)


def t_quantile(z: float, df: Floats) -> Floats:
    """Student's t at the probability where the normal has `z` (Cornish-Fisher series, better than 1% from 4 df up)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return np.asarray(z + first / df + second / df**2 + third / df**3, dtype=np.float64)
