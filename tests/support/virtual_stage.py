"""One sweep on simulated servers in virtual time, to which a test lets something happen; tells what came of it.

Import it first of all: it puts the virtual clock in place.
"""

from __future__ import annotations

import asyncio

from tests.support import virtual_time

virtual_time.install()

import time  # noqa: E402 - the clock must be in place first
from collections.abc import Callable  # noqa: E402
from contextlib import AsyncExitStack  # noqa: E402
from dataclasses import replace  # noqa: E402
from typing import Any  # noqa: E402

from probes.sim.server import SimServer  # noqa: E402
from probes.sim.spec import SimSpec  # noqa: E402
from probes.sweep.outcome import BringUp, SweepOutcome  # noqa: E402
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec, SweepPlan  # noqa: E402
from probes.sweep.run import run_sweep  # noqa: E402
from probes.values import Cell, Target  # noqa: E402
from tests.support.virtual_sweep import demo_spec  # noqa: E402

PLAN: dict[str, Any] = {
    "pool": "p",
    "endpoint": "e",
    "baseline": "off",
    "live_arm": "k3",
    "ladder": (2, 4),
    "repeats": 2,
    "cell_s": 0.7,
    "warmup_s": 0.3,
    "load": LoadSpec(max_tokens=128),
    "max_foreign": 1.0,
    "max_minutes": 60.0,
}
React = Callable[["Stage", str, CellSlot | None], None]


class Stage:
    """The servers, and hooks that let `react` make something happen when the sweep reaches a point."""

    def __init__(self, servers: dict[str, SimServer], react: React) -> None:
        self.servers, self._react = servers, react
        self.began_s = time.monotonic()
        self.stop: str | None = None
        self.stopped_s: float | None = None
        self.phases: list[list[object]] = []
        self.notes: list[str] = []
        self.cells: list[Cell] = []
        self.told: dict[str, Any] = {}

    def on_cell(self, cell: Cell) -> None:
        self.cells.append(cell)

    def on_progress(
        self, done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str
    ) -> None:
        self.phases.append([phase, slot.arm if slot else None, slot.rung if slot else None, done, total, eta_s])
        self.notes.append(note)
        self._react(self, phase, slot)

    def stop_requested(self) -> str | None:
        if self.stop is not None and self.stopped_s is None:
            self.stopped_s = time.monotonic()
        return self.stop

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something later."""
        asyncio.get_running_loop().call_later(seconds, act)

    def ask_stop(self) -> None:
        """As somebody who types `stop`."""
        self.stop = "maintenance"

    def in_system(self, name: str) -> int:
        """Requests on one server, others' included."""
        return sum(len(e.running) + len(e.waiting) for e in self.servers[name].engines)


def nothing(stage: Stage, phase: str, slot: CellSlot | None) -> None:
    """An undisturbed sweep."""


async def play(
    react: React = nothing,
    *,
    arms: dict[str, SimSpec] | None = None,
    resume: tuple[Cell, ...] = (),
    bring_up: Callable[[Stage], BringUp] | None = None,
    before: Callable[[Stage], object] = lambda stage: None,
    **changes: Any,
) -> tuple[SweepOutcome, dict[str, Any]]:
    """One sweep; its outcome and what is worth telling of it."""
    spec = demo_spec(8.0, 1)
    arms = {"off": replace(spec, k=0), "k3": spec} if arms is None else arms
    async with AsyncExitStack() as stack:
        servers: dict[str, SimServer] = {}
        for name, one in arms.items():
            if bring_up is not None and servers:
                servers[name] = next(iter(servers.values()))
            else:
                servers[name] = await stack.enter_async_context(SimServer(one))
        stage = Stage(servers, react)
        before(stage)
        plans = tuple(
            ArmPlan(name, Target(name, servers[name].url), one.k > 0, restart=f"start {name}" if bring_up else None)
            for name, one in arms.items()
        )
        plan = SweepPlan(**{**PLAN, **changes, "arms": plans})
        outcome = await run_sweep(plan, stage, resume=resume, bring_up=bring_up(stage) if bring_up else None)
        ended_s = time.monotonic()
        told = {
            "outcome": outcome.outcome,
            "reason": outcome.reason,
            "code": outcome.exit_code,
            "cause": outcome.cause,
            "resumable": outcome.resumable,
            "tokens": outcome.tokens,
            "backoffs": outcome.backoffs,
            "refined": outcome.refined_cells,
            "starts": outcome.starts,
            "seconds": ended_s - stage.began_s,
            "to_end_s": None if stage.stopped_s is None else ended_s - stage.stopped_s,
            "cells": [[c.arm, c.rung, c.repeat, c.start, [r.code for r in c.void], c.order] for c in outcome.cells],
            "new_cells": len(stage.cells),
            "phases": stage.phases,
            "notes": [note for note in stage.notes if note],
            "left": {name: stage.in_system(name) for name in servers},
            **stage.told,
        }
        if outcome.crossover is not None:
            told["verdicts"] = {
                name: {
                    "verdict": arm.verdict.value,
                    "low": arm.low,
                    "high": arm.high,
                    "ratios": [point.ratio for point in arm.speedup],
                    "reasons": {reason.code: reason.text for reason in arm.reasons},
                }
                for name, arm in outcome.crossover.arms.items()
            }
        return outcome, told
