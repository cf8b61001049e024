"""What a request takes on a rung that was not climbed yet, and how long a cell waits at most, for cells and estimates.

Pure.
"""

from __future__ import annotations

RAMP_MAX_S = 240.0
"""A ramp never lasts longer: three times a request of 80 s, which is 2,000 tokens at 40 ms."""
DRAIN_MAX_S = 120.0
GROWS_MOST = 4.0
"""On a longer step up the ladder the guess is too short where the server fills up on it: its first cell then takes a
longer ramp, and may still come out some percent low (6% from 8 to 256 clients, simulated)."""


def grown_s(request_s: float, known: int, rung: int) -> float:
    """A request's time on a rung from that on a lower one: as many times as long as there are times as many clients.

    So it is on a server that is full already; on any other it is too long, up to `GROWS_MOST` times.
    """
    return request_s * min(GROWS_MOST, max(1.0, rung / known))
