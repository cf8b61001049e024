"""What is said of a window that was not steady from its start, or not at all; pure."""

from __future__ import annotations

from collections.abc import Iterator

from probes.sweep.evidence import Evidence
from probes.sweep.steady import trend
from probes.values import Cell, Reason

TREND_NOTED = 0.05
"""Change from the window's start to its end, over its mean, that is worth a word."""
TREND_MAX = 0.15
"""From here on the window's ends were two different servers, and its mean is neither."""


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
