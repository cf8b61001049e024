"""Hand-made snapshots of sweeps that restart servers, give way, refine and go on; and of a server not put back."""

from __future__ import annotations

from dataclasses import replace

from monitor.values import AlertEvent, AlertPhase, AlertState, Snapshot, SweepProgress, Unrestored
from tests.support.scene_parts import endpoint, snapshot
from tests.support.scene_sweeps import NOW, measured_sweep, running_sweep, sweep_cells
from tests.support.scenes import firing

REASON = "the restore command ended with 1: docker: no such image"


def not_restored() -> Snapshot:
    """chat-a was left in arm off two hours ago; its load alert fires as well."""
    seen = firing()
    event = AlertEvent(
        alert_id="b1.1",
        endpoint="chat-a",
        pool="chat-70b",
        rule="not_restored",
        kind="firing",
        at_s=NOW - 3600,
        started_at_s=NOW - 7200,
        title="chat-a (pool chat-70b): NOT RESTORED for 60m now: the server does not run its live arm k3 after a sweep",
        text=f"What: a sweep restarted chat-a.\nWhy: {REASON}.\nWhat to do: `specwatch stop chat-a`.",
        facts={},
    )
    loud = AlertState(
        "chat-a", "not_restored", AlertPhase.FIRING, NOW - 7200, NOW - 7200, alert_id="b1", evaluated_at_s=NOW
    )
    return replace(
        seen,
        alerts=(*seen.alerts, loud),
        events=(event, *seen.events),
        unrestored=(Unrestored("chat-a", REASON, 3, "k3", "/var/lib/specwatch.db.restart-chat-a.json"),),
    )


def in_phase(phase: str, note: str, arm: str | None = None, rung: int | None = None) -> Snapshot:
    """A sweep of chat-70b, gone on with from sweep 40, in one phase."""
    progress = SweepProgress(phase, 29, 56, arm, rung, 0 if arm else None, 1300.0, note)
    sweep = replace(running_sweep(), resumes=40, progress=progress)
    half = tuple(cell for cell in sweep_cells() if cell.order < 29)
    return snapshot(endpoint("chat-a", 9.0), sweeps=(sweep, measured_sweep()), cells={42: half})
