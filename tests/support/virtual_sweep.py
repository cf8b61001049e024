"""One whole sweep of the demo's servers in virtual time, by the production code over real sockets; prints its answer.

`python -m tests.support.virtual_sweep CROSSOVER|none SEED...` writes one JSON line per seed.
"""

from __future__ import annotations

import json
import sys

from tests.support import virtual_time

virtual_time.install()

from contextlib import AsyncExitStack  # noqa: E402 - the clock must be in place first
from dataclasses import replace  # noqa: E402

from monitor.demo.processes import ACCEPTANCE, OUTPUT_TOKENS, PROMPT_COST, time_scale_for, told  # noqa: E402
from monitor.demo.settings import demo_settings  # noqa: E402
from probes.sim.server import SimServer  # noqa: E402
from probes.sim.spec import SimSpec  # noqa: E402
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec, SweepPlan  # noqa: E402
from probes.sweep.run import run_sweep  # noqa: E402
from probes.values import Cell, Target  # noqa: E402


class Quiet:
    """Hooks of a sweep that nobody watches."""

    def on_cell(self, cell: Cell) -> None:
        """Nothing to show."""

    def on_progress(
        self, done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str
    ) -> None:
        """Nothing to show."""

    def stop_requested(self) -> str | None:
        """Never."""
        return None


def demo_spec(crossover: float | None, seed: int) -> SimSpec:
    """The server with speculation as the demo starts it."""
    return SimSpec(
        k=3,
        crossover=told(crossover) if crossover is not None else None,
        seed=seed,
        time_scale=time_scale_for(crossover),
        mean_output_tokens=OUTPUT_TOKENS,
        prompt_cost=PROMPT_COST,
        acceptance=ACCEPTANCE,
        crossover_at=ACCEPTANCE,
    )


async def sweep(crossover: float | None, seed: int) -> dict[str, object]:
    """The verdict on k3, with its interval."""
    settings = demo_settings(crossover)
    spec = demo_spec(crossover, seed)
    async with AsyncExitStack() as stack:
        off = await stack.enter_async_context(SimServer(replace(spec, k=0)))
        on = await stack.enter_async_context(SimServer(spec))
        plan = SweepPlan(
            pool="demo",
            endpoint="demo",
            baseline="off",
            live_arm="k3",
            arms=(ArmPlan("off", Target("off", off.url), False), ArmPlan("k3", Target("k3", on.url), True)),
            ladder=settings.ladder,
            repeats=settings.repeats,
            cell_s=settings.cell_s,
            warmup_s=settings.warmup_s,
            load=LoadSpec(max_tokens=settings.max_tokens),
            max_foreign=1.0,
            max_minutes=60.0,
        )
        outcome = await run_sweep(plan, Quiet())
    if outcome.crossover is None:
        return {"verdict": None, "reason": outcome.reason, "crossover": None, "low": None, "high": None}
    arm = outcome.crossover.arms["k3"]
    return {
        "verdict": arm.verdict.value,
        "reason": outcome.reason,
        "crossover": arm.crossover,
        "low": arm.low,
        "high": arm.high,
        "void": sum(not cell.valid for cell in outcome.cells),
        "band": [[p.concurrency, p.ratio, p.low, p.high] for p in arm.speedup],
        "cells": [[c.arm, c.rung, c.concurrency, c.output_tok_s] for c in outcome.cells],
    }


if __name__ == "__main__":
    wanted = None if sys.argv[1] == "none" else float(sys.argv[1])
    for number in sys.argv[2:]:
        found = virtual_time.run(sweep(wanted, int(number)))
        sys.stdout.write(json.dumps({"seed": int(number), **found}) + "\n")
        sys.stdout.flush()
