"""Turns `ladder = "auto"` into rungs from what the store and the server know; pure, it asks neither."""

from __future__ import annotations

import math

from monitor.config.model import ProbeConfig

_LEAST_TOP = 64
_ABOVE_PEAK = 1.5


def resolve_ladder(probe: ProbeConfig, peak: float | None, cap: float | None) -> tuple[int, ...]:
    """Closed-loop clients per rung: the written ladder as it is, or for "auto" powers of two.

    `peak` is the p99.9 of stored concurrency (None: no history yet) and the ladder climbs to the first power of two
    at or above 1.5 times it, at least to 64. `cap` is the most requests the server admits at once, where it is known:
    no rung lies above it, and it is itself the last rung.
    """
    if probe.ladder != "auto":
        return tuple(probe.ladder)
    wanted = max(_LEAST_TOP, math.ceil(_ABOVE_PEAK * (peak or 0.0)))
    top = 1 << (wanted - 1).bit_length()
    rungs = [1 << power for power in range(top.bit_length())]
    if cap is not None and cap < top:
        most = max(1, int(cap))
        rungs = [rung for rung in rungs if rung < most] + [most]
    return tuple(rungs)
