"""What would keep a sweep from starting at this moment, for `--plan` and `check`; asks the gate itself, only reads."""

from __future__ import annotations

from monitor.commands.check_text import Remark
from monitor.config.load import Loaded
from monitor.config.model import ProbeConfig
from monitor.service.sweep_gate import standing
from monitor.store.db import Store
from probes.sweep.plan import SweepPlan

_HOUR = "outside_window"
"""Plan and check show the window anyway; being outside of it is no surprise by day."""


def held_remarks(loaded: Loaded, store: Store, plan: SweepPlan, probe: ProbeConfig, *, now: bool) -> list[Remark]:
    """A note for each: pause, `.noprobe` file, a firing alert, a server that is not put back. Raises StoreError."""
    reasons = standing(loaded, store, plan, probe, now=now).reasons
    return [
        Remark.note(f"the gate would refuse it at this moment: {reason.text}")
        for reason in reasons
        if reason.code != _HOUR
    ]
