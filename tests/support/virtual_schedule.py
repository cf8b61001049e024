"""Two whole sweeps in virtual time: static arms, then the schedule that they imply as one more arm; prints both.

`python -m tests.support.virtual_schedule COST` stretches each step of the arm with the schedule by COST.
"""

from __future__ import annotations

import json
import sys

from tests.support import virtual_time

virtual_time.install()

from contextlib import AsyncExitStack  # noqa: E402 - the clock must be in place first
from dataclasses import replace  # noqa: E402

from monitor.demo.processes import ACCEPTANCE, OUTPUT_TOKENS, PROMPT_COST  # noqa: E402
from probes.crossover import to_json  # noqa: E402
from probes.sim.server import SimServer  # noqa: E402
from probes.sim.spec import SimSpec  # noqa: E402
from probes.sweep.outcome import SweepOutcome  # noqa: E402
from probes.sweep.plan import ArmPlan, LoadSpec, SweepPlan  # noqa: E402
from probes.sweep.run import run_sweep  # noqa: E402
from probes.values import Target  # noqa: E402
from tests.support.virtual_sweep import Quiet  # noqa: E402

SPEC = SimSpec(
    k=3,
    crossover=16.0,
    mean_output_tokens=OUTPUT_TOKENS,
    prompt_cost=PROMPT_COST,
    acceptance=ACCEPTANCE,
    crossover_at=ACCEPTANCE,
    start_noise=0.5,
    step_noise=0.5,
)


async def sweep(specs: dict[str, SimSpec]) -> SweepOutcome:
    """One sweep over these arms."""
    async with AsyncExitStack() as stack:
        urls = {name: (await stack.enter_async_context(SimServer(spec))).url for name, spec in specs.items()}
        arms = [
            ArmPlan(name, Target(name, urls[name]), spec.k > 0, dynamic=bool(spec.schedule))
            for name, spec in specs.items()
        ]
        plan = SweepPlan(
            pool="pool",
            endpoint="chat",
            baseline="off",
            live_arm=None,
            arms=tuple(arms),
            ladder=(1, 4, 16, 64),
            repeats=2,
            cell_s=2.0,
            warmup_s=0.3,
            load=LoadSpec(max_tokens=128),
            max_foreign=1.0,
            max_minutes=60.0,
        )
        return await run_sweep(plan, Quiet())


async def both(cost: float) -> dict[str, object]:
    """The implied schedule, and what a sweep says of an arm that runs it."""
    static = {name: replace(SPEC, k=k, seed=k) for name, k in (("off", 0), ("k1", 1), ("k3", 3))}
    first = await sweep(static)
    assert first.crossover is not None, first.reason
    implied = to_json(first.crossover)
    rows = tuple(tuple(row) for row in implied["schedule"]["value"])
    ran = replace(SPEC, k=max(k for _, _, k in rows), schedule=rows, schedule_cost=cost, seed=9)
    second = await sweep({**static, "dsd": ran})
    return {
        "implied": implied,
        "measured": None if second.crossover is None else to_json(second.crossover),
        "k": [[c.rung, c.drafts, c.draft_tokens, [r.code for r in c.void]] for c in second.cells if c.arm == "dsd"],
        "reason": second.reason,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(virtual_time.run(both(float(sys.argv[1])))) + "\n")
