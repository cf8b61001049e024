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


SCENES = {
    "16 clients": Scene(16, 10.0),
    "32 clients": Scene(32, 15.0),
    "a ramp too short for one answer": Scene(24, 3.0, time_scale=2.6),
}
