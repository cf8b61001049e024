"""How far a running sweep is, in the words that all screens share; it decides nothing."""

from __future__ import annotations

from monitor.tui import format as fmt
from monitor.values import GATE_PHASE, SweepProgress, SweepRecord

PHASES = {
    "backoff": "giving way to others' traffic",
    "refine": "refining",
    "restart": "restarting the server",
    "restore": "putting the live arm back",
}
"""What a running sweep does, where the phase's own name does not say it."""
AFTER_CELLS = ("estimate", "done", "restore")


def progress_text(sweep: SweepRecord | None) -> str:
    """How far a running sweep is, in few words; empty where none runs."""
    if sweep is None or sweep.outcome != "running" or sweep.progress is None:
        return ""
    now = sweep.progress
    if now.phase == GATE_PHASE:
        return f"sweep {sweep.id} first looks for live load"
    if not now.total_cells:
        return f"sweep {sweep.id}: {PHASES.get(now.phase, now.phase)}"
    return f"sweep {sweep.id}: {now.done_cells} of {now.total_cells} cells, {time_left(now)}"


def time_left(now: SweepProgress) -> str:
    """How long the rest takes, where that can be said: cells tell nothing of others' traffic."""
    if now.phase in AFTER_CELLS:
        return "no more cells"
    if now.eta_s is None:
        return "time left unknown"
    return f"{fmt.age(now.eta_s)} {'of cells after that' if now.phase == 'backoff' else 'left'}"
