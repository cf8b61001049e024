"""Guesses what a request takes on a rung that was not climbed yet, for ramps and for estimates; pure."""

from __future__ import annotations

GROWS_MOST = 4.0
"""On a longer step up the ladder the guess is too short where the server fills up on it: its first cell then takes a
longer ramp, and may still come out some percent low (6% from 8 to 256 clients, simulated)."""


def grown_s(request_s: float, known: int, rung: int) -> float:
    """A request's time on a rung from that on a lower one: as many times as long as there are times as many clients.

    So it is on a server that is full already; on any other it is too long, up to `GROWS_MOST` times.
    """
    return request_s * min(GROWS_MOST, max(1.0, rung / known))
