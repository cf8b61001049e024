"""How long prompts and answers of real traffic are, so that the load can be made alike; pure.

Knows lengths only, never a text.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from probes.values import Histogram

CHARS_PER_TOKEN = 4.2
"""Of English prose and some code under today's vocabularies; stands in until a server has counted for itself."""
QUANTILES = 32
"""Lengths kept of a distribution. So many requests bring each of them once, so that short cells are alike."""
LEAST_REQUESTS = 200.0
"""Fewer finished requests say too little about lengths."""


@dataclass(frozen=True, slots=True)
class LengthShape:
    """Lengths at evenly spaced quantiles, rising, in tokens; every arm gets the same ones."""

    prompt_tokens: tuple[float, ...]
    output_tokens: tuple[float, ...]
    requests: float
    """Finished requests of real traffic that the quantiles rest on."""

    @property
    def means(self) -> tuple[float, float]:
        """Mean prompt and mean output, in tokens."""
        return _mean(self.prompt_tokens), _mean(self.output_tokens)

    def cut_mean(self, max_tokens: int) -> float:
        """Mean output where no answer is longer than `max_tokens`."""
        return _mean([min(tokens, max_tokens) for tokens in self.output_tokens])


def shape_of(prompts: Histogram, outputs: Histogram) -> LengthShape | None:
    """The shape of what two histograms gained; None where too few requests finished."""
    requests = min(prompts.count, outputs.count)
    if requests < LEAST_REQUESTS:
        return None
    return LengthShape(_lengths(prompts), _lengths(outputs), requests)


def _lengths(histogram: Histogram) -> tuple[float, ...]:
    """Quantiles with the histogram's own mean.

    Buckets are coarse (1, 2, 5, 10, ...), so spreading a bucket's requests evenly over it gives the wrong mean; the
    sum on the page gives the right one, and the lengths are scaled to it.
    """
    total = histogram.counts[-1]
    values = [_at(histogram, (step + 0.5) / QUANTILES * total) for step in range(QUANTILES)]
    scale = histogram.total / histogram.count / _mean(values)
    return tuple(float(max(1, round(value * scale))) for value in values)


def _at(histogram: Histogram, rank: float) -> float:
    lower, below = 0.0, 0.0
    for edge, count in zip(histogram.edges, histogram.counts, strict=True):
        if count >= rank and count > below:
            upper = lower if math.isinf(edge) else edge
            return max(1.0, lower + (upper - lower) * (rank - below) / (count - below))
        if not math.isinf(edge):
            lower = max(edge, 0.0)
        below = count
    return max(1.0, lower)


def draw_lengths(shape: LengthShape, seed: int, rung: int, repeat: int) -> Iterator[tuple[float, float]]:
    """Endless (prompt, output) lengths in tokens: every pass brings each quantile once, paired at random.

    Histograms do not show which prompt had which answer, so the two are drawn apart. The same in every arm for one
    rung and repeat.
    """
    shuffle = random.Random(f"lengths:{seed}:{rung}:{repeat}")
    prompts, outputs = list(shape.prompt_tokens), list(shape.output_tokens)
    while True:
        shuffle.shuffle(prompts)
        shuffle.shuffle(outputs)
        yield from zip(prompts, outputs, strict=True)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
