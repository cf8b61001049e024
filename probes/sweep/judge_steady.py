"""What is said of a window that was not steady from its start, or not at all; pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from probes.load.first import is_cut
from probes.load.records import Ending
from probes.sweep.evidence import Evidence
from probes.sweep.steady import RATES_MIN, trend
from probes.sweep.totals import in_system, live_counter, moved
from probes.values import Cell, Reason

TREND_NOTED = 0.05
"""Change from the window's start to its end, over its mean, that is worth a word."""
TREND_MAX = 0.15
"""From here on the window's ends were two different servers, and its mean is neither."""

CUT_SHARE_MAX = 1 / 8
"""Of the clients, still at their cut first answers as the window begins: with a quarter of them it came out up to 8%
wrong, with a half up to 21%, with four fifths 30% (1,284 + 112 tokens, simulated)."""

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


def cut_answers(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The ramp gave up: clients begin new requests sooner than in a steady load, and the server reads more prompts."""
    if evidence.window is None:
        return
    going_on = [r for r in evidence.records if is_cut(r.index, evidence.first) and r.end_s > evidence.window.start_s]
    if len(going_on) > max(1.0, CUT_SHARE_MAX * evidence.first):
        text = (
            f"{len(going_on)} of {evidence.first} first answers, which are cut to let clients begin evenly, had not"
            " ended when the window began; lower max_tokens or the step from rung to rung, or raise cell_s"
        )
        yield Reason("cut_answers", text)


def short_window(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Prompts and answers do not come in their true proportion where a request outlasts the window."""
    # Of all whole answers: in a window that is too short none may have ended.
    times_s = [r.end_s - r.launched_s for r in evidence.uncut if r.ending is Ending.OK]
    if cell.window_s is None or not times_s:
        return
    request_s = median(times_s)
    if cell.window_s < request_s:
        text = f"a request takes {request_s:.1f} s (p50), the window {cell.window_s:.1f} s; raise cell_s"
        yield Reason("short_window", text)


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
