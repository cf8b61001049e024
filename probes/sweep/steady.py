"""Judges from the polls themselves where a window becomes steady and whether it stays so; pure, no verdict on a cell.

The rates between polls are cut at their start by the marginal standard error rule (White 1997: drop the first d values,
d being where variance / (n - d) is least), but only where what is dropped clearly differs from a rest that is flat.
A trend is a straight line through the rest. Noise allows for neighbouring polls that are alike, and for requests of
unlike speed: one that drafts well is fast to its end, and a window may hold few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from probes.crossover.noise import t_quantile
from probes.load.records import Ending, RequestRecord
from probes.sweep.evidence import Evidence
from probes.sweep.totals import live_counter, total
from probes.sweep.window import Span, client_tokens_in

Floats = NDArray[np.float64]

RATES_MIN = 8
"""Fewer rates than this say nothing about a trend: short windows are taken as they are."""
CUT_MAX = 0.5
"""Of the window. One that is not steady by then is not steady."""
CUT_GAIN_MIN = 0.01
"""A cut must move the window's rate by this, or the data are better kept."""
FALL_MAX = 0.5
"""Least share of the first rates that the later ones must have."""
Z_CLEAR = 3.29
"""One chance in a thousand, two-sided."""
ALIKE_MAX = 0.8
"""Most of the likeness of neighbouring rates that is taken for noise."""
LUCK_LOST = 2
"""What the strays of requests are taken from: their mean speed, and a slope or a step."""


@dataclass(frozen=True, slots=True)
class Trend:
    """How far the rate moved from the window's start to its end along a straight line, over its mean."""

    change: float
    chance: float
    """What noise alone could make of it, one time in a thousand."""

    @property
    def clear(self) -> bool:
        """More than chance."""
        return abs(self.change) > self.chance


def cut_ramp(evidence: Evidence) -> Evidence:
    """The same evidence with its window's start cut to where the rates are steady, and `ramp_cut_s` saying by how much.

    Unchanged where the polls are too few to tell, or nothing needs to be cut.
    """
    rates = _rates(evidence)
    if rates is None or evidence.start is None:
        return evidence
    drop = _to_drop(rates)
    if not drop:
        return evidence
    kept = evidence.samples[drop:]
    return replace(evidence, start=kept[0], samples=kept, ramp_cut_s=kept[0].mono_s - evidence.start.mono_s)


def trend(evidence: Evidence) -> Trend | None:
    """The window's own; None where its polls are too few to tell."""
    rates = _rates(evidence)
    return None if rates is None else _trend(rates)


@dataclass(frozen=True, slots=True)
class _Rates:
    """Tokens per second between neighbouring polls."""

    seconds: Floats
    tokens: Floats
    origin_s: float = 0.0
    requests: tuple[RequestRecord, ...] = ()
    """Finished ones that know their tokens."""

    @property
    def size(self) -> int:
        return self.seconds.size

    @property
    def each(self) -> Floats:
        return np.asarray(self.tokens / self.seconds, dtype=np.float64)

    @property
    def mean(self) -> float:
        return float(self.tokens.sum() / self.seconds.sum())

    @property
    def middles(self) -> Floats:
        """Instants, from the window's start, in seconds."""
        return np.asarray(np.cumsum(self.seconds) - self.seconds / 2, dtype=np.float64)

    @property
    def span(self) -> Span:
        return Span(self.origin_s, self.origin_s + float(self.seconds.sum()))

    def part(self, start: int, end: int | None = None) -> _Rates:
        origin_s = self.origin_s + float(self.seconds[:start].sum())
        return _Rates(self.seconds[start:end], self.tokens[start:end], origin_s, self.requests)


def _rates(evidence: Evidence) -> _Rates | None:
    """None where there are too few polls, or a counter fell."""
    pages = evidence.samples
    if len(pages) <= RATES_MIN:
        return None
    seconds = [b.mono_s - a.mono_s for a, b in pairwise(pages)]
    tokens: list[float] = []
    for a, b in pairwise(pages):
        if live_counter(a) and live_counter(b):
            before, after = total(a, lambda e: e.generation_tokens), total(b, lambda e: e.generation_tokens)
            tokens.append(0.0 if before is None or after is None else after - before)
        else:
            tokens.append(client_tokens_in(evidence.records, Span(a.mono_s, b.mono_s)))
    if min(seconds) <= 0 or min(tokens) < 0 or sum(tokens) <= 0:
        return None
    known = tuple(r for r in evidence.records if r.ending is Ending.OK and r.output_tokens is not None)
    return _Rates(np.asarray(seconds, dtype=np.float64), np.asarray(tokens, dtype=np.float64), pages[0].mono_s, known)


def _to_drop(rates: _Rates) -> int:
    share = np.cumsum(rates.seconds) / rates.seconds.sum()
    most = min(int(np.searchsorted(share, CUT_MAX, side="right")), rates.size - RATES_MIN)
    if most < 1:
        return 0
    drop = min(range(most + 1), key=lambda d: _marginal_error(rates.part(d)))
    if not drop:
        return 0
    head, rest = rates.part(0, drop), rates.part(drop)
    residuals = rest.each - rest.mean
    error = _sd(residuals, 1) * float(np.sqrt(_alike(residuals) * (1 / drop + 1 / rest.size)))
    ends_s = head.span.end_s
    luck = _luck(rates, lambda at_s: (head if at_s < ends_s else rest).mean)
    lucky = luck.error(1 / head.span.length_s + 1 / rest.span.length_s)
    clear = abs(head.mean - rest.mean) > max(_quantile(rest.size - 1) * error, lucky)
    gains = abs(rates.mean - rest.mean) > CUT_GAIN_MIN * rest.mean
    # What falls that deep is no ramp but a server in trouble.
    sound = rest.mean > FALL_MAX * head.mean
    return drop if sound and clear and gains and _is_ramp(rates, head, rest) else 0


def _is_ramp(rates: _Rates, head: _Rates, rest: _Rates) -> bool:
    """A step and then a flat rest, rather than a line that goes on: a line's middle is what the window measured."""
    step = sum(float(np.sum((part.each - part.each.mean()) ** 2)) for part in (head, rest))
    return step < float(np.sum(_line(rates)[1] ** 2)) and not _trend(rest).clear


def _marginal_error(rates: _Rates) -> float:
    return float(np.sum((rates.each - rates.mean) ** 2)) / rates.size**2


def _trend(rates: _Rates) -> Trend:
    slope, residuals = _line(rates)
    spread = float(np.sum((rates.middles - rates.middles.mean()) ** 2))
    error = _sd(residuals, 2) * float(np.sqrt(_alike(residuals) / spread))
    span = rates.span
    length_s, middle_s = span.length_s, (span.start_s + span.end_s) / 2
    luck = _luck(rates, lambda at_s: rates.mean + slope * (at_s - middle_s))
    chance = max(_quantile(rates.size - 2) * error, luck.error(12 / length_s**3))
    return Trend(slope * length_s / rates.mean, chance * length_s / rates.mean)


@dataclass(frozen=True, slots=True)
class _Luck:
    """How far output strays because requests differ in speed and each keeps its own to its end."""

    variance: float
    """Of the tokens that come out, per second."""
    requests: int

    def error(self, per_s: float) -> float:
        """What it clearly cannot exceed; `per_s` is the weight of one second's variance."""
        return _quantile(self.requests - LUCK_LOST) * float(np.sqrt(self.variance * per_s)) if self.variance else 0.0


def _luck(rates: _Rates, level: Callable[[float], float]) -> _Luck:
    """From the requests themselves (a renewal-reward process: Var = clients * E[(tokens - speed * time)^2] / E[time]).

    `level` is the output that is expected at an instant: what follows it is no luck.
    """
    span = rates.span
    there = [r for r in rates.requests if span.overlap_s(r.launched_s, r.end_s) > 0]
    if not there:
        return _Luck(0.0, 0)
    if len(there) <= LUCK_LOST:
        return _Luck(float("inf"), LUCK_LOST + 1)
    seconds = np.asarray([r.end_s - r.launched_s for r in there], dtype=np.float64)
    tokens = np.asarray([r.output_tokens for r in there], dtype=np.float64)
    middles = np.asarray([(r.launched_s + r.end_s) / 2 for r in there]).clip(span.start_s, span.end_s)
    expected = seconds * np.asarray([level(float(at_s)) for at_s in middles], dtype=np.float64)
    if expected.sum() <= 0:
        return _Luck(0.0, 0)
    strays = tokens - expected * tokens.sum() / expected.sum()
    clients = sum(span.overlap_s(r.launched_s, r.end_s) for r in there) / span.length_s
    return _Luck(clients * float(np.sum(strays**2) / seconds.sum()), len(there))


def _line(rates: _Rates) -> tuple[float, Floats]:
    """Slope in tokens/s per second, and what the line leaves."""
    x, y = rates.middles - rates.middles.mean(), rates.each - rates.each.mean()
    slope = float(np.sum(x * y) / np.sum(x * x))
    return slope, np.asarray(y - slope * x, dtype=np.float64)


def _sd(residuals: Floats, lost: int) -> float:
    return float(np.sqrt(np.sum(residuals**2) / (residuals.size - lost)))


def _alike(residuals: Floats) -> float:
    """How much larger the variance of a mean is because neighbours are alike: (1 + r) / (1 - r), r their correlation.

    Rates that alternate (a poll that came late gives to the next) are taken as independent.
    """
    whole = float(np.sum(residuals**2))
    r = float(np.sum(residuals[1:] * residuals[:-1])) / whole if whole > 0 else 0.0
    # In few rates the likeness comes out too small (Marriott and Pope 1954).
    r = min(ALIKE_MAX, max(0.0, r + (1 + 3 * r) / residuals.size))
    return (1 + r) / (1 - r)


def _quantile(df: int) -> float:
    return float(t_quantile(Z_CLEAR, np.asarray([float(df)]))[0])
