"""Brings a production server up in each arm of a sweep and never leaves without having put it back.

Wrap `run_sweep` with `restart_arms`: nothing is touched before the first arm is asked for, and the way out restores.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from monitor.config.load import Loaded
from monitor.config.model import ProbeConfig
from monitor.store.db import Store
from probes.sweep.plan import ArmPlan, SweepPlan
from probes.sweep.preflight import ArmMismatch


class NotRestored(Exception):
    """The server does not run its live arm again, or what `before` did is not undone; the message says all of it."""

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(reason)
        self.endpoint = endpoint
        self.reason = reason


class RestartFailed(ArmMismatch):
    """An arm could not be brought up, or nothing may be touched; the sweep ends as for any arm that is not there."""


Tell = Callable[[str, str], None]
"""Takes a phase (`restart` or `restore`) and a note for people."""


def _quiet(phase: str, note: str) -> None:
    pass


class BringUp:
    """Turns the endpoint's server into one arm; `await bring_up(arm)` before each pass over the ladder.

    Raises RestartFailed (an ArmMismatch) where the arm does not come up, and ForeignTraffic where the server does not
    drain. May be cancelled at any instant.
    """

    async def __call__(self, arm: ArmPlan) -> None:
        """A freshly started, proven server in this arm."""
        raise RestartFailed("restart arms are not run yet")


@asynccontextmanager
async def restart_arms(
    loaded: Loaded, store: Store, plan: SweepPlan, probe: ProbeConfig, sweep_id: int, tell: Tell = _quiet
) -> AsyncIterator[BringUp]:
    """`async with restart_arms(...) as bring_up:` around the sweep. Raises NotRestored on the way out."""
    yield BringUp()
