"""What is said of a window that was not steady from its start, or not at all; pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from probes.sweep.evidence import Evidence
from probes.sweep.steady import RATES_MIN, trend
from probes.sweep.totals import in_system, live_counter, moved
from probes.values import Cell, Reason

TREND_NOTED = 0.05
"""Change from the window's start to its end, over its mean, that is worth a word."""
TREND_MAX = 0.15
"""From here on the window's ends were two different servers, and its mean is neither."""

STALL_SHARE_MAX = 0.20
"""Of the window, without a single token although requests were in the system: five such steps make no rate."""


def stalled(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The server stood still for a while."""
    pages = evidence.samples
    if cell.window_s is None or len(pages) <= RATES_MIN:
        return
    longest_s, still_s = 0.0, 0.0
    for a, b in pairwise(pages):
        held = min(in_system(a) or 0.0, in_system(b) or 0.0)
        still = held > 0 and live_counter(a) and moved(a, b, lambda e: e.generation_tokens) == 0
        still_s = still_s + b.mono_s - a.mono_s if still else 0.0
        longest_s = max(longest_s, still_s)
    if longest_s > STALL_SHARE_MAX * cell.window_s:
        yield Reason("stalled", f"for {longest_s:.1f} s of the window no token came out, with requests in the system")


def not_steady(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """A clear trend too large for a mean."""
    found = trend(evidence)
    if found is not None and found.clear and abs(found.change) > TREND_MAX:
        yield Reason("not_steady", _text(found.change))


def drifting(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """A clear trend that a mean still stands for."""
    found = trend(evidence)
    if found is not None and found.clear and TREND_NOTED < abs(found.change) <= TREND_MAX:
        yield Reason("drifting", _text(found.change))


def _text(change: float) -> str:
    direction = "rose" if change > 0 else "fell"
    return f"output {direction} by {abs(change):.0%} from the start of the window to its end"


def ramp_cut(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The window's start was not steady yet."""
    if cell.ramp_cut_s is not None:
        yield Reason("ramp_cut", f"the first {cell.ramp_cut_s:.1f} s of the window were not steady and do not count")
