"""Pure: how sure the live acceptance length is, whether it left the sweep's, and what other arms would have; no I/O."""

from __future__ import annotations

import math

from monitor.live_mix import LENGTH_SPREAD
from monitor.live_window import LiveWindow
from probes.crossover.noise import Z_BAND

SAME_ACCEPTANCE = 0.03
"""Difference up to which live and swept acceptance are one: it moves a speedup by at most as much, and two runs of one
server differ by as much anyway."""
REQUEST_SPREAD = 0.25
"""Assumed standard deviation of one request's acceptance length over the mean: code is guessed better than prose. Few
long requests are what they happen to be, however many steps they take."""
MAX_NOISE = 0.10
"""A live window that leaves acceptance less sure than this (90%) does not tell whether it moved."""
WHOLE_K = 0.05
"""An arm whose drafts per step are further from a whole number than this runs no single K."""


def acceptance_noise(window: LiveWindow) -> float | None:
    """Half width of the 90% interval of the live acceptance length, relative to it; None where nothing was counted.

    Requests differ by REQUEST_SPREAD, and the longer ones count for more. Within them, the variance of what one draft
    gets accepted is at most mean * (K - mean), for any distribution on 0..K, and that bound stands in for it.
    """
    length, k = window.acceptance_length, window.effective_k
    if length is None or k is None or not window.drafts or not window.requests:
        return None
    accepted = min(max(length - 1.0, 0.0), k)
    steps = math.sqrt(accepted * (k - accepted) / window.drafts) / length
    between = REQUEST_SPREAD * math.sqrt((1.0 + LENGTH_SPREAD**2) / window.requests)
    return Z_BAND * math.hypot(steps, between)


def acceptance_moved(window: LiveWindow, measured: float | None) -> bool:
    """Whether the live acceptance length differs from the measured one by more than SAME_ACCEPTANCE and its noise."""
    noise = acceptance_noise(window)
    if measured is None or noise is None or noise > MAX_NOISE or window.acceptance_length is None:
        return False
    return abs(math.log(window.acceptance_length / measured)) > max(SAME_ACCEPTANCE, noise)


def acceptance_with(window: LiveWindow, k: float) -> float | None:
    """The acceptance length that an arm of another K would have under live traffic.

    A shorter draft of the same method gets its first positions accepted as the live one's; what a longer one would add
    is not known.
    """
    positions = window.accepted_per_pos
    whole = round(k)
    if abs(k - whole) > WHOLE_K or not 0 < whole <= len(positions):
        return None
    return 1.0 + sum(positions[:whole])
