"""Cells whose answers are all of one length, which is when clients that begin together stay together; a table.

Nothing here may be imported by a process that wants virtual time before the clock is installed.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_TOKENS = 112


@dataclass(frozen=True)
class Scene:
    """One cell of a server without speculation."""

    clients: int
    cell_s: float
    time_scale: float = 1.0
    request_s: float | None = None
    """What the cell is told of a request's time; they take 2.5 s with 32 clients."""
    longest: int = MAX_TOKENS
    """Tokens of one answer in 32, all others have MAX_TOKENS."""


SCENES = {
    "16 clients, no time known": Scene(16, 10.0),
    "32 clients, no time known": Scene(32, 15.0),
    "32 clients, a right time": Scene(32, 15.0, request_s=2.5),
    "32 clients, half of it": Scene(32, 15.0, request_s=1.25),
    "32 clients, an eighth of it": Scene(32, 15.0, request_s=0.31),
    "answers longer than two windows": Scene(24, 3.0, time_scale=2.6, request_s=0.1),
    "answers of a known time, longer than two windows": Scene(2, 3.0, time_scale=20.0, request_s=22.0),
    "no end before the longest ramp": Scene(16, 45.0, time_scale=130.0, request_s=160.0),
    "one answer that goes on and on": Scene(32, 15.0, request_s=2.5, longest=1500),
    "nothing ends for a minute": Scene(24, 3.0, time_scale=1000.0),
}
