"""A sweep that sends what live traffic looks like: the servers count the lengths and prefix hits that were wanted."""

from __future__ import annotations

import pytest

from probes.load.shape import LengthShape
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from probes.sweep.plan import LoadSpec
from probes.sweep.run import run_sweep
from tests.support.plans import Recorder, arm, plan

SHAPE = LengthShape(tuple(30.0 + 20.0 * n for n in range(32)), tuple(4.0 + n for n in range(32)), 1000.0)
"""Prompts of 30 to 650 tokens, 340 in the mean, and answers of 4 to 35."""


async def test_every_arm_gets_the_wanted_lengths_and_prefix_hits() -> None:
    load = LoadSpec(max_tokens=30, shape=SHAPE, prefix_hit_target=0.4)
    spec = SimSpec(time_scale=0.6, mean_output_tokens=400, step_noise=0.0, start_noise=0.0)
    async with SimServer(spec) as off, SimServer(SimSpec(k=3, time_scale=0.6, mean_output_tokens=400)) as on:
        arms = arm("off", off.url), arm("k3", on.url)
        sweep = plan(*arms, ladder=(8,), repeats=1, cell_s=2.0, warmup_s=1.5, load=load)
        outcome = await run_sweep(sweep, Recorder())
    assert [(cell.arm, [reason.code for reason in cell.void]) for cell in outcome.cells] == [("off", []), ("k3", [])]
    for cell in outcome.cells:
        assert cell.prompt_tokens_mean == pytest.approx(340, rel=0.1)
        assert cell.output_tokens_mean == pytest.approx(19.0, rel=0.15), "answers are capped as drawn, at most at 30"
        assert cell.prefix_hit_ratio == pytest.approx(0.4, abs=0.05)
