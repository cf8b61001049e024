"""The sentences that say why a verdict is what it is and where its interval is open; nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from probes.values import Reason


def number(value: float) -> str:
    """A concurrency as people write it."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _pct(log_ratio: float) -> str:
    return f"{100 * abs(math.expm1(log_ratio)):.1f}%"


@dataclass(frozen=True, slots=True)
class Words:
    """What can be said of `arm` against `baseline`, both measured from `bottom` to `top` (concurrency)."""

    arm: str
    baseline: str
    bottom: float
    top: float

    def always_faster(self, end: float | None) -> Reason:
        """`end` is where the gain sinks into the noise; None where it holds up to the top."""
        if end is None:
            text = f"{self.arm} is faster than {self.baseline} over the whole measured range, up to {number(self.top)}."
        else:
            text = f"{self.arm} is faster than {self.baseline} up to {number(end)}; from there to {number(self.top)}, "
            text += "the top of the ladder, the difference is inside the noise."
        return Reason("always_faster", text)

    def never_faster(self, start: float | None) -> Reason:
        """`start` is where it is clearly slower; None where it is so from the lowest concurrency on."""
        text = f"{self.arm} is nowhere faster than {self.baseline} by more than 2%"
        text += (
            " and already slower at the lowest concurrency."
            if start is None
            else f", and it is slower from {number(start)} on."
        )
        return Reason("never_faster", text)

    def crosses(self, crossover: float, low: float | None, high: float | None) -> Reason:
        span = f"90% interval {number(low) if low else 'open'} to {number(high) if high else 'open'}"
        below, gain = ("is", "") if low else ("reads", ", a gain not yet beyond the noise,")
        above = "slower above" if high else "reads slower above, a loss not yet beyond the noise"
        text = f"{self.arm} {below} faster than {self.baseline} up to about {number(crossover)} ({span}){gain} "
        text += f"and {above}."
        return Reason("crosses", text)

    def step(self, low: float, high: float) -> Reason:
        text = f"Between {number(low)} and {number(high)} the speedup falls in a step, which may lie anywhere between "
        return Reason("step", text + "the two; rungs in between would find it.")

    def tie_at_top(self) -> Reason:
        text = f"At {number(self.top)}, the top of the ladder, the difference is back inside the noise."
        return Reason("tie_at_top", text)

    def near_tie(self, where: float, log_ratio: float, *, clear: bool) -> Reason:
        """`log_ratio` is the largest log speedup either way, `clear` whether any leaves its 90% band."""
        span = f"from {number(self.bottom)} to {number(self.top)}"
        largest = f"{_pct(log_ratio)} {'slower' if log_ratio < 0 else 'faster'}, at {number(where)}"
        if clear:
            text = f"No difference between {self.arm} and {self.baseline} {span} is sure enough for a verdict (99%), "
            text += f"though {self.arm} reads up to {largest}; repeat the sweep."
        else:
            text = f"{self.arm} and {self.baseline} differ by less than the noise {span} (at most {largest})."
        return Reason("near_tie", text)

    def tie_above(self, end: float) -> Reason:
        text = f"{self.arm} is faster than {self.baseline} up to {number(end)}; from there to {number(self.top)} the "
        return Reason("tie_above", text + "two differ by less than the noise.")

    def tie_below(self, start: float) -> Reason:
        text = f"{self.arm} is slower than {self.baseline} from {number(start)} on; below, down to "
        return Reason("tie_below", text + f"{number(self.bottom)}, the two differ by less than the noise.")

    def dips(self, where: float, log_ratio: float) -> Reason:
        text = f"{self.arm} is faster than {self.baseline}, but around {number(where)} it reads {_pct(log_ratio)} "
        return Reason("dips", text + "slower, which may be noise or a loss; repeat the sweep there.")

    def rises(self, where: float, log_ratio: float) -> Reason:
        text = f"{self.arm} is slower than {self.baseline}, but around {number(where)} it reads {_pct(log_ratio)} "
        return Reason("rises", text + "faster, which may be noise or a gain; repeat the sweep there.")

    def several_crossings(self, runs: Sequence[int]) -> Reason:
        """`runs` are the signs that clear the noise, in order."""
        words = ", then ".join("faster" if r > 0 else "slower" for r in runs)
        if list(runs) == [1, -1, 1]:
            words = "faster, then slower, then faster again at the top"
        text = f"With rising concurrency {self.arm} is {words} than {self.baseline}; one number would not describe it. "
        return Reason("several_crossings", text + "Look at the band, or repeat the sweep.")

    def slower_then_faster(self) -> Reason:
        text = f"{self.arm} is slower than {self.baseline} at low concurrency and catches up above; "
        return Reason("slower_then_faster", text + "there is no concurrency above which it stays slower.")

    def open_edges(self, low: float | None, high: float | None) -> list[Reason]:
        """Why an edge of the interval is missing."""
        reasons = []
        if low is None:
            text = f"No gain beyond the noise was seen down to {number(self.bottom)}, the lowest concurrency both arms "
            reasons.append(Reason("open_low", text + "ran: the interval is open below."))
        if high is None:
            above = "" if low is None or low >= self.top else f" above {number(low)}"
            text = f"No loss beyond the noise was seen{above} up to {number(self.top)}, the highest concurrency both "
            reasons.append(
                Reason("open_high", text + "arms ran: the interval is open above; measure higher to close it.")
            )
        return reasons
