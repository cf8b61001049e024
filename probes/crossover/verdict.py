"""What one arm's speedup band says: five verdicts, each with an interval and reasons in words.

It reads the band only; a sign that does not clear the noise is never taken for a crossover.
"""

from __future__ import annotations

import math

import numpy as np

from probes.crossover.noise import UNBOUNDED
from probes.crossover.ratio import Ratio
from probes.values import ArmVerdict, BandPoint, Reason, Verdict

MARGIN = math.log(1.02)
"""A gain up to this size, inside the noise, does not make an arm that loses elsewhere "faster below"."""
TAIL_STATIONS = 2
TAIL_WIDTH = math.log(2.0)
"""A stretch at the ladder's end that stays inside the noise is an open edge up to two rungs or one octave."""
INSIDE_GAP = np.array([0.06, 0.5, 0.94])
HIDDEN = 0.01
"""Where a band between two rungs is wider than theirs by this much (in log speedup), it gets points of its own."""


def judge(arm: str, baseline: str, ratio: Ratio) -> ArmVerdict:
    """Turn a band into a verdict; capacity and the caller's own reasons are added by `estimate`."""
    reader = _Reader(arm, baseline, ratio)
    verdict, crossover, low, high, reasons = reader.read()
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


_Answer = tuple[Verdict, float | None, float | None, float | None, list[Reason]]


class _Reader:
    """The band as signs along the axis: +1 faster, -1 slower, 0 inside the noise."""

    def __init__(self, arm: str, baseline: str, ratio: Ratio) -> None:
        self.arm, self.baseline, self.ratio = arm, baseline, ratio
        self.sign = np.sign(ratio.value) * (np.abs(ratio.value) > ratio.half)
        self.strong = np.sign(ratio.value) * (np.abs(ratio.value) > ratio.half_strong)
        self.bottom, self.top = (float(v) for v in np.exp(ratio.log_x[[0, -1]]))

    def read(self) -> _Answer:
        seen = self.strong[self.strong != 0]
        runs = [int(s) for s in seen[np.flatnonzero(np.diff(seen, prepend=0.0))]]
        if not runs:
            return self._tie()
        if runs == [1, -1] and self.sign[-1] <= 0:
            return self._crosses()
        if runs == [1]:
            return self._only_faster()
        if runs == [-1]:
            return self._only_slower()
        return self._mixed(runs)

    def _only_faster(self) -> _Answer:
        last = int(np.flatnonzero(self.sign > 0)[-1])
        end = self._edge(last, last + 1, +1)
        if last == self.sign.size - 1:
            text = f"{self.arm} is faster than {self.baseline} over the whole measured range, up to {_n(self.top)}."
            return (
                Verdict.ALWAYS_FASTER,
                None,
                self.top,
                None,
                [
                    Reason("always_faster", text),
                    Reason(
                        "open_high", f"No crossover up to {_n(self.top)}, the highest concurrency both arms reached."
                    ),
                ],
            )
        if self._short(last, self.sign.size - 1) or self.sign[-1] < 0:
            if self.ratio.value[-1] < 0:
                return self._crosses()
            text = (
                f"{self.arm} is faster than {self.baseline} up to {_n(end)}; from there to {_n(self.top)}, the top of "
            )
            text += "the ladder, the difference is inside the noise."
            return (
                Verdict.ALWAYS_FASTER,
                None,
                end,
                None,
                [
                    Reason("always_faster", text),
                    Reason("open_high", f"No crossover was seen up to {_n(self.top)}; measure higher to find one."),
                ],
            )
        text = f"{self.arm} is faster than {self.baseline} up to {_n(end)}; from there to {_n(self.top)} the two "
        return self._unclear("tie_above", text + "differ by less than the noise.", low=end)

    def _only_slower(self) -> _Answer:
        first = int(np.flatnonzero(self.sign < 0)[0])
        start = self._edge(first, first - 1, -1)
        faster_below = bool(np.any(self.sign[:first] > 0))
        gain_below = faster_below or bool(np.any(self.ratio.value[:first] > MARGIN))
        if self.sign[-1] > 0 or self.ratio.value[-1] > MARGIN:
            return self._unclear("slower_then_faster", self._slower_then_faster())
        if not gain_below:
            text = f"{self.arm} is nowhere faster than {self.baseline} by more than 2%"
            text += (
                f", and it is slower from {_n(start)} on."
                if first
                else " and already slower at the lowest concurrency."
            )
            return (
                Verdict.NEVER_FASTER,
                None,
                None,
                start,
                [
                    Reason("never_faster", text),
                    Reason(
                        "open_low", f"No gain was seen down to {_n(self.bottom)}, the lowest concurrency both arms ran."
                    ),
                ],
            )
        if faster_below or self._short(0, first):
            return self._crosses()
        text = (
            f"{self.arm} is slower than {self.baseline} from {_n(start)} on; below, down to {_n(self.bottom)}, the two "
        )
        return self._unclear("tie_below", text + "differ by less than the noise.", high=start)

    def _crosses(self) -> _Answer:
        value, log_x = self.ratio.value, self.ratio.log_x
        down = np.flatnonzero((value[:-1] > 0) & (value[1:] <= 0))
        slower = np.flatnonzero(self.strong < 0)
        if slower.size:
            down = down[down < slower[-1]]
        if not down.size:
            return self._tie()
        at = int(down[-1])
        share = value[at] / (value[at] - value[at + 1])
        crossover = float(np.exp(log_x[at] + share * (log_x[at + 1] - log_x[at])))
        below = np.flatnonzero(self.sign[: at + 1] > 0)
        above = np.flatnonzero(self.sign[at + 1 :] < 0) + at + 1
        low = self._edge(int(below[-1]), int(below[-1]) + 1, +1) if below.size else None
        high = self._edge(int(above[0]), int(above[0]) - 1, -1) if above.size else None
        span = f"90% interval {_n(low) if low else 'open'} to {_n(high) if high else 'open'}"
        text = f"{self.arm} is faster than {self.baseline} up to about {_n(crossover)} ({span}) and slower above."
        reasons = [Reason("crosses", text)]
        if low is None:
            text = f"Down to {_n(self.bottom)}, the lowest concurrency both arms ran, the gain stays inside the noise."
            reasons.append(Reason("open_low", text))
        if high is None:
            text = f"Up to {_n(self.top)}, the top of the ladder, the loss stays inside the noise; measure higher "
            reasons.append(Reason("open_high", text + "to close the interval."))
        if value[-1] > 0:
            text = f"At {_n(self.top)}, the top of the ladder, the difference is back inside the noise."
            reasons.append(Reason("tie_at_top", text))
        return Verdict.CROSSES, crossover, low, high, reasons

    def _tie(self) -> _Answer:
        span = f"from {_n(self.bottom)} to {_n(self.top)}"
        biggest = float(np.max(np.exp(np.abs(self.ratio.value)))) - 1
        text = f"{self.arm} and {self.baseline} differ by less than the noise {span} (at most {100 * biggest:.1f}%)."
        return self._unclear("near_tie", text)

    def _mixed(self, runs: list[int]) -> _Answer:
        if runs == [-1, 1]:
            return self._unclear("slower_then_faster", self._slower_then_faster())
        words = ", then ".join("faster" if r > 0 else "slower" for r in runs)
        if runs == [1, -1]:
            words += ", then faster again at the top"
        text = f"With rising concurrency {self.arm} is {words} than {self.baseline}, each beyond the noise; "
        return self._unclear(
            "several_crossings", text + "one number would not describe it. Look at the band, or repeat the sweep."
        )

    def _slower_then_faster(self) -> str:
        return (
            f"{self.arm} is slower than {self.baseline} at low concurrency and catches up above; "
            "there is no concurrency above which it stays slower."
        )

    def _unclear(self, code: str, text: str, *, low: float | None = None, high: float | None = None) -> _Answer:
        return Verdict.UNCLEAR, None, low, high, [Reason(code, text)]

    def _short(self, first: int, last: int) -> bool:
        """Whether a stretch of the grid is short enough to be an open edge rather than a tie."""
        start, end = self.ratio.log_x[first], self.ratio.log_x[last]
        inside = np.count_nonzero((self.ratio.stations >= start) & (self.ratio.stations <= end))
        return bool(inside <= TAIL_STATIONS or end - start <= TAIL_WIDTH)

    def _edge(self, inside: int, outside: int, sign: int) -> float:
        """Concurrency where the band's near edge leaves 1, between two neighbouring grid points."""
        log_x = self.ratio.log_x
        if not 0 <= outside < log_x.size:
            return float(np.exp(log_x[inside]))
        clear = sign * self.ratio.value - self.ratio.half
        share = clear[inside] / (clear[inside] - clear[outside])
        return float(np.exp(log_x[inside] + share * (log_x[outside] - log_x[inside])))


def _n(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
