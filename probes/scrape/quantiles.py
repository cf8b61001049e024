"""Quantiles of what a histogram gained between two pages, by the page's own edges; pure.

Linear interpolation inside the bucket, as Prometheus' `histogram_quantile` does, but without its two guesses: a
quantile in the `+Inf` bucket is not known, and neither is one in the lowest bucket where that bucket is coarse (vLLM's
queue time and end-to-end latency begin at 300 ms, its time per token at 10 ms).
"""

from __future__ import annotations

import math

from probes.values import Histogram

COARSE_S = 0.001
"""A lowest bucket that ends above this says only "less than its edge"."""


def gained(before: Histogram, after: Histogram) -> Histogram | None:
    """What was observed between two pages; None where edges differ or a count fell."""
    if before.edges != after.edges:
        return None
    counts = tuple(new - old for old, new in zip(before.counts, after.counts, strict=True))
    count = after.count - before.count
    if count < 0 or any(value < 0 for value in counts):
        return None
    return Histogram(after.edges, counts, after.total - before.total, count)


def quantile(histogram: Histogram, q: float) -> float | None:
    """The q-quantile (0..1) in the histogram's unit; None where nothing was observed or its edges cannot tell."""
    if not histogram.counts or histogram.counts[-1] <= 0:
        return None
    rank = q * histogram.counts[-1]
    lower, below = 0.0, 0.0
    for index, (edge, count) in enumerate(zip(histogram.edges, histogram.counts, strict=True)):
        if count >= rank and count > 0:
            if math.isinf(edge) or (index == 0 and edge > COARSE_S):
                return None
            return lower if edge <= 0 else lower + (edge - lower) * (rank - below) / (count - below)
        lower, below = max(edge, 0.0), count
    return None
