"""Cuts own traffic where its acceptance moved, so that a bad hour is not judged by the mean of a good day; pure.

The scatter from minute to minute says what a move is: requests differ, and more so where there are few of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from monitor.account_values import EngineMinute

PIECE_S = 900.0
"""Longest piece that one answer speaks for: as far back as the live mix looks."""
LEAST_MOVE = 0.05
"""Relative difference of acceptance lengths under which nothing is cut; the sweep's own differs by 0.03."""
SIGMAS = 5.0
"""Standard errors that a stretch must differ by: a day has a thousand places to cut."""
MOST_MINUTES = 1440
"""Minutes that are looked at together: every stretch of them is tried."""
SCATTER = 1.4826 / math.sqrt(2.0)
"""Standard deviation of normal values over the median size of their neighbours' differences."""

Bounds = tuple[float, float]
_Row = tuple[float, float, float]
"""Middle of a minute, drafts, accepted."""


def segments(minutes: Sequence[EngineMinute], span: Bounds) -> list[Bounds]:
    """Parts of `span` (Unix seconds) in which acceptance stayed the same, all engines together; the whole where no
    minute tells."""
    held: dict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for minute in minutes:
        if span[0] <= minute.at_s <= span[1] and not minute.swept and minute.drafts and minute.accepted is not None:
            held[minute.at_s][0] += minute.drafts
            held[minute.at_s][1] += minute.accepted
    rows = [(at_s, drafts, accepted) for at_s, (drafts, accepted) in sorted(held.items())]
    cuts: list[float] = []
    for first in range(0, len(rows), MOST_MINUTES):
        part = rows[first : first + MOST_MINUTES]
        cuts += [(rows[first - 1][0] + part[0][0]) / 2] if first else []
        cuts += _cuts(part, _scatter(part))
    edges = [span[0], *cuts, span[1]]
    return list(pairwise(edges))


def pieces(segment: Bounds) -> list[Bounds]:
    """A segment in equal parts of at most PIECE_S."""
    first_s, last_s = segment
    count = max(1, math.ceil((last_s - first_s) / PIECE_S))
    step_s = (last_s - first_s) / count
    return [(first_s + n * step_s, first_s + (n + 1) * step_s) for n in range(count)]


def _scatter(rows: Sequence[_Row]) -> float:
    """Standard deviation of log acceptance length times the root of the drafts that it rests on."""
    sizes = [
        abs(_length(one[1], one[2]) - _length(two[1], two[2])) / math.sqrt((1 / one[1] + 1 / two[1]) / 2)
        for one, two in pairwise(rows)
    ]
    return SCATTER * median(sizes) if sizes else 0.0


def _length(drafts: float, accepted: float) -> float:
    return math.log(1.0 + accepted / drafts)


def _cuts(rows: Sequence[_Row], scatter: float) -> list[float]:
    """Instants between minutes where acceptance moved, ascending: the clearest stretch against all others first, then
    within each part. One cut at a time would miss a bad hour in the middle of a good day."""
    table = np.array(rows).reshape(-1, 3)
    count = len(table)
    drafts, accepted = (np.concatenate([[0.0], np.cumsum(table[:, column])]) for column in (1, 2))
    best, cut = 0.0, (0, 0)
    for start in range(count):
        in_drafts, in_accepted = (
            np.maximum(drafts[start + 1 :] - drafts[start], 1.0),
            accepted[start + 1 :] - accepted[start],
        )
        if start == 0:
            in_drafts, in_accepted = in_drafts[:-1], in_accepted[:-1]
        if not in_drafts.size:
            continue
        out_drafts, out_accepted = np.maximum(drafts[-1] - in_drafts, 1.0), np.maximum(accepted[-1] - in_accepted, 0.0)
        error = np.sqrt(1 / in_drafts + 1 / out_drafts)
        moved = np.abs(np.log((1 + in_accepted / in_drafts) / (1 + out_accepted / out_drafts)))
        clear = np.where(moved > np.maximum(LEAST_MOVE, SIGMAS * scatter * error), moved / error, 0.0)
        index = int(np.argmax(clear))
        if clear[index] > best:
            best, cut = float(clear[index]), (start, start + 1 + index)
    if not best:
        return []
    inner = [index for index in cut if 0 < index < count]
    found: list[float] = []
    for first, last in pairwise([0, *inner, count]):
        found += [(rows[first - 1][0] + rows[first][0]) / 2] if first else []
        found += _cuts(rows[first:last], scatter)
    return found
