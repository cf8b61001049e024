"""What one arm's speedup band says: five verdicts, each with an interval; the words for them are in `verdict_words.py`.

It reads the band only; a sign that does not clear the noise is never taken for a crossover.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from probes.answer_values import ArmVerdict, BandPoint, Verdict
from probes.crossover.noise import UNBOUNDED
from probes.crossover.ratio import Ratio
from probes.crossover.verdict_words import Words
from probes.values import Reason

MARGIN = math.log(1.02)
"""A gain (loss) up to this size, inside the noise, does not keep an arm from `never_faster` (`always_faster`)."""
GAIN_LEFT = math.log(1.05)
"""A band that still holds such a gain over a long stretch is a tie there: too early for `never_faster`."""
TAIL_STATIONS = 2
TAIL_WIDTH = math.log(2.0)
"""A stretch at the ladder's end that stays inside the noise is an open edge up to two rungs or one octave."""
INSIDE_GAP = np.array([0.06, 0.5, 0.94])
HIDDEN = 0.01
"""Where a band between two rungs is wider than theirs by this much (in log speedup), it gets points of its own."""


def judge(arm: str, baseline: str, ratio: Ratio) -> ArmVerdict:
    """Turn a band into a verdict; capacity and the caller's own reasons are added by `estimate`.

    The interval says where the last fall through 1 may lie, whatever the verdict: from the last concurrency at which
    the arm is clearly faster to the first above it at which it is clearly slower (90%). An edge is None where nothing
    clear was measured on that side, and a reason says so. Where the speedup has a step around the crossover, the
    interval holds the whole gap between the two rungs.
    """
    reader = _Reader(arm, baseline, ratio)
    verdict, crossover, (low, high), reasons = reader.read()
    reasons += reader.words.open_edges(low, high)
    return ArmVerdict(arm, verdict, crossover, low, high, band_of(ratio), None, tuple(reasons))


def band_of(ratio: Ratio) -> tuple[BandPoint, ...]:
    """The 90% band at each station, and inside a gap where what may hide there makes it clearly wider."""
    log_x = ratio.stations
    inside = log_x[:-1, None] + np.diff(log_x)[:, None] * INSIDE_GAP
    straight = np.interp(inside, log_x, np.interp(log_x, ratio.log_x, ratio.half))
    wider = np.interp(inside, ratio.log_x, ratio.half) > straight + HIDDEN
    log_x = np.sort(np.concatenate([log_x, inside[wider]]))
    value, half = np.interp(log_x, ratio.log_x, ratio.value), np.interp(log_x, ratio.log_x, ratio.half)
    half = np.minimum(half, UNBOUNDED)
    rows = np.exp(np.stack([log_x, value, value - half, value + half], axis=1))
    return tuple(BandPoint(*(float(v) for v in row)) for row in rows)


_Interval = tuple[float | None, float | None]
_Answer = tuple[Verdict, float | None, _Interval, list[Reason]]


def _unbroken(clear: NDArray[np.bool_], strong: NDArray[np.bool_]) -> int | None:
    """Index at which the clear points end that follow the last strong one (the first clear one, where none is)."""
    if not clear.any():
        return None
    start = int(np.flatnonzero(strong)[-1]) if strong.any() else int(np.argmax(clear))
    broken = np.flatnonzero(~clear[start:])
    return start + int(broken[0]) - 1 if broken.size else clear.size - 1


class _Reader:
    """The band as signs along the axis: +1 faster, -1 slower, 0 inside the noise."""

    def __init__(self, arm: str, baseline: str, ratio: Ratio) -> None:
        self.ratio = ratio
        self.sign = np.sign(ratio.value) * (np.abs(ratio.value) > ratio.half)
        self.strong = np.sign(ratio.value) * (np.abs(ratio.value) > ratio.half_strong)
        self.words = Words(arm, baseline, *(float(v) for v in np.exp(ratio.log_x[[0, -1]])))

    def read(self) -> _Answer:
        seen = self.strong[self.strong != 0]
        runs = [int(s) for s in seen[np.flatnonzero(np.diff(seen, prepend=0.0))]]
        if not runs:
            return self._near_tie()
        if runs == [1]:
            return self._only_faster()
        if runs == [-1]:
            return self._only_slower()
        if runs == [-1, 1]:
            return self._unclear(self.words.slower_then_faster())
        back = self.sign[-1] > 0 or self.ratio.value[-1] > MARGIN
        if runs == [1, -1] and not back:
            return self._crosses()
        return self._unclear(self.words.several_crossings([*runs, 1] if runs[-1] < 0 and back else runs))

    def _near_tie(self) -> _Answer:
        at = int(np.argmax(np.abs(self.ratio.value)))
        where, log_ratio = float(np.exp(self.ratio.log_x[at])), float(self.ratio.value[at])
        return self._unclear(self.words.near_tie(where, log_ratio, clear=bool(np.any(self.sign != 0))))

    def _only_faster(self) -> _Answer:
        value = self.ratio.value
        last = int(np.flatnonzero(self.sign > 0)[-1])
        end = self._edge(last, last + 1, +1)
        whole = last == value.size - 1
        short = whole or self._short(last, value.size - 1)
        if not whole and value[-1] < 0 and (short or self.sign[-1] < 0):
            return self._crosses()
        least = int(np.argmin(value[: last + 1]))
        if value[least] < -MARGIN:
            return self._unclear(self.words.dips(self._x(least), value[least]))
        if short:
            return Verdict.ALWAYS_FASTER, None, (end, None), [self.words.always_faster(None if whole else end)]
        return self._unclear(self.words.tie_above(end))

    def _only_slower(self) -> _Answer:
        gain = (self.sign > 0) | (self.ratio.value > MARGIN)
        first = int(np.flatnonzero(self.sign < 0)[0])
        start = self._edge(first, first - 1, -1)
        short = self._short(0, first)
        if not gain.any():
            if not short and np.max((self.ratio.value + self.ratio.half)[:first]) > GAIN_LEFT:
                return self._unclear(self.words.tie_below(start))
            return Verdict.NEVER_FASTER, None, (None, start), [self.words.never_faster(start if first else None)]
        if gain[-1]:
            return self._unclear(self.words.slower_then_faster())
        if gain[first:].any():
            most = first + int(np.argmax(self.ratio.value[first:]))
            return self._unclear(self.words.rises(self._x(most), self.ratio.value[most]))
        if np.any(self.sign[:first] > 0) or short:
            return self._crosses()
        return self._unclear(self.words.tie_below(start))

    def _crosses(self) -> _Answer:
        value, log_x = self.ratio.value, self.ratio.log_x
        down = np.flatnonzero((value[:-1] > 0) & (value[1:] <= 0))
        slower = np.flatnonzero(self.strong < 0)
        if slower.size:
            down = down[down < slower[-1]]
        if not down.size:
            return self._near_tie()
        at = int(down[-1])
        share = value[at] / (value[at] - value[at + 1])
        log_at = float(log_x[at] + share * (log_x[at + 1] - log_x[at]))
        (low, high), step = self._interval(at), self._step(log_at)
        if step is not None:
            low = None if low is None else min(low, step[0])
            high = None if high is None else max(high, step[1])
        crossover = math.exp(log_at)
        reasons = [self.words.crosses(crossover, low, high)]
        if step is not None:
            reasons.append(self.words.step(*step))
        if value[-1] > 0:
            reasons.append(self.words.tie_at_top())
        return Verdict.CROSSES, crossover, (low, high), reasons

    def _unclear(self, reason: Reason) -> _Answer:
        return Verdict.UNCLEAR, None, self._interval(), [reason]

    def _interval(self, crossing: int | None = None) -> _Interval:
        """Where the last fall through 1 may lie; with `crossing`, around that point of the grid.

        From the last strong sign an edge follows the clear ones only while they are unbroken: of many points of a flat
        band, one beyond the noise near the crossing is luck.
        """
        end = self.sign.size if crossing is None else crossing + 1
        inside = _unbroken(self.sign[:end] > 0, self.strong[:end] > 0)
        begin = end if crossing is not None else 0 if inside is None else inside + 1
        outside = _unbroken(self.sign[begin:][::-1] < 0, self.strong[begin:][::-1] < 0)
        low = None if inside is None else self._edge(inside, inside + 1, +1)
        if outside is None:
            return low, None
        first = self.sign.size - 1 - outside
        return low, self._edge(first, first - 1, -1)

    def _step(self, log_at: float) -> tuple[float, float] | None:
        """The two rungs beside the crossing where the speedup steps between them."""
        spans: NDArray[np.float64] = self.ratio.steps
        around = spans[(spans[:, 0] <= log_at) & (log_at <= spans[:, 1])]
        return None if not around.size else (float(np.exp(around[0, 0])), float(np.exp(around[-1, 1])))

    def _short(self, first: int, last: int) -> bool:
        """Whether a stretch of the grid is short enough to be an open edge rather than a tie."""
        start, end = self.ratio.log_x[first], self.ratio.log_x[last]
        inside = np.count_nonzero((self.ratio.stations >= start) & (self.ratio.stations <= end))
        return bool(inside <= TAIL_STATIONS or end - start <= TAIL_WIDTH)

    def _edge(self, inside: int, outside: int, sign: int) -> float:
        """Concurrency where the band's near edge leaves 1, between two neighbouring grid points."""
        log_x = self.ratio.log_x
        if not 0 <= outside < log_x.size:
            return self._x(inside)
        clear = sign * self.ratio.value - self.ratio.half
        share = clear[inside] / (clear[inside] - clear[outside])
        return float(np.exp(log_x[inside] + share * (log_x[outside] - log_x[inside])))

    def _x(self, index: int) -> float:
        return float(np.exp(self.ratio.log_x[index]))
