"""Whole sweeps over real sockets: what they measure, when they refuse, and how they stop."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from probes.answer_values import Verdict
from probes.load.prompts import PromptFileError
from probes.sweep.observe import observe
from probes.sweep.outcome import SweepOutcome
from probes.sweep.plan import LoadSpec, cell_order
from probes.sweep.run import run_sweep
from probes.values import State
from tests.support.fake_engine import FakeEngine, Faults, fake_engine
from tests.support.plans import Recorder, arm, plan
from tests.support.waiting import until


async def test_a_sweep_measures_every_cell_in_order_and_hands_each_over() -> None:
    hooks = Recorder()
    async with fake_engine(FakeEngine(step_s=0.02)) as off, fake_engine(FakeEngine(k=3, step_s=0.02)) as on:
        sweep = plan(arm("off", off.url), arm("k3", on.url), warmup_s=0.3)
        outcome = await run_sweep(sweep, hooks)
    assert (outcome.outcome, outcome.exit_code, outcome.reason) == ("measured", 0, "")
    slots = cell_order(sweep)
    assert [(c.arm, c.rung, c.repeat, c.order) for c in outcome.cells] == [
        (s.arm, s.rung, s.repeat, s.order) for s in slots
    ]
    assert hooks.cells == list(outcome.cells)
    assert outcome.arm_k == {"off": None, "k3": 3}
    assert outcome.identities["k3"].model_root == "org/tiny"
    assert outcome.cache_config["off"] == {"block_size": "16"}
    assert outcome.crossover is not None
    assert outcome.crossover.arms["k3"].verdict in Verdict
    phases = [entry[3] for entry in hooks.progress]
    assert list(dict.fromkeys(phases)) == ["preflight", "warmup", "cells", "estimate", "done"]
    assert hooks.progress[-1][:2] == (8, 8)
    assert all(entry[4] is not None for entry in hooks.progress if entry[0] > 0)


async def test_an_a_a_sweep_of_one_address_draws_and_hits_no_prefix() -> None:
    hooks = Recorder()
    async with fake_engine(FakeEngine(step_s=0.02)) as engine:
        again = arm("again", engine.url, speculative=False)
        outcome = await run_sweep(plan(arm("off", engine.url), again, ladder=(2,)), hooks)
        marks = [str(body["prompt"]).split()[0] for body in engine.requests]
    assert outcome.exit_code == 0
    assert len(set(marks)) == len(marks)


async def test_both_arms_get_the_same_prompts(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"number {i}"}) + "\n" for i in range(9)))
    async with fake_engine(FakeEngine(step_s=0.004)) as off, fake_engine(FakeEngine(k=1, step_s=0.004)) as on:
        sweep = plan(
            arm("off", off.url), arm("k1", on.url), ladder=(1,), repeats=1, load=LoadSpec(str(path), max_tokens=64)
        )
        await run_sweep(sweep, Recorder())
        one, two = ([str(body["prompt"]).split(" ", 1)[1] for body in e.requests] for e in (off, on))
    shared = min(len(one), len(two))
    assert shared >= 3
    assert one[:shared] == two[:shared]


async def refused(*engines: FakeEngine, names: tuple[str, ...] = ("off", "k3")) -> SweepOutcome:
    hooks = Recorder()
    async with fake_engine(engines[0]) as one, fake_engine(engines[1]) as two:
        outcome = await run_sweep(plan(arm(names[0], one.url), arm(names[1], two.url)), hooks)
        assert one.requests == two.requests == []
    assert (outcome.outcome, outcome.exit_code) == ("arm_mismatch", 5)
    assert hooks.cells == []
    return outcome


async def test_swapped_arms_are_refused_before_any_load() -> None:
    outcome = await refused(FakeEngine(k=4), FakeEngine())
    assert "has speculative decoding configured (K=4): the arms look swapped" in outcome.reason


async def test_different_models_are_refused() -> None:
    assert "differ in model" in (await refused(FakeEngine(), FakeEngine(k=3, root="org/other"))).reason


async def test_several_models_are_refused_without_a_choice() -> None:
    assert "set `model`" in (await refused(FakeEngine(models=("a", "b")), FakeEngine(k=3))).reason


async def test_a_page_that_is_no_engines_is_refused() -> None:
    assert "not an engine" in (await refused(FakeEngine(faults=Faults(metrics_status=404)), FakeEngine(k=3))).reason


async def test_an_arm_that_is_not_there_is_refused() -> None:
    async with fake_engine() as off:
        outcome = await run_sweep(plan(arm("off", off.url), arm("k3", "http://127.0.0.1:9")), Recorder())
    assert outcome.exit_code == 5
    assert outcome.reason.startswith("arm k3 at http://127.0.0.1:9 is down")


async def test_an_arm_that_does_not_draft_ends_the_sweep() -> None:
    hooks = Recorder()
    async with fake_engine() as off, fake_engine(FakeEngine(k=3, faults=Faults(drafting=False))) as on:
        outcome = await run_sweep(plan(arm("off", off.url), arm("k3", on.url), ladder=(1, 2, 4)), hooks)
    assert (outcome.outcome, outcome.exit_code) == ("arm_mismatch", 5)
    assert outcome.reason.startswith("arm k3 does not draft")
    assert len(hooks.cells) == 3
    assert {reason.code for reason in hooks.cells[-1].void} >= {"arm_not_drafting"}


async def test_an_arm_that_refuses_requests_is_found_in_its_warm_up() -> None:
    async with fake_engine(FakeEngine(faults=Faults(refuse_every=1))) as off, fake_engine(FakeEngine(k=3)) as on:
        outcome = await run_sweep(plan(arm("off", off.url), arm("k3", on.url), warmup_s=0.3), Recorder())
    assert outcome.exit_code == 5
    assert "answers no request: HTTP 500" in outcome.reason


async def test_a_stop_closes_every_stream_within_two_seconds() -> None:
    hooks = Recorder()
    async with fake_engine(FakeEngine(output_tokens=9_000)) as off, fake_engine(FakeEngine(k=3)) as on:
        load = LoadSpec(max_tokens=9_000)
        sweep = plan(arm("off", off.url), arm("k3", on.url), ladder=(8,), load=load, cell_s=60.0)
        running = asyncio.create_task(run_sweep(sweep, hooks))
        await until(lambda: off.open_streams == 8)
        asked = hooks.asked
        hooks.stop = "maintenance"
        began_s = time.monotonic()
        outcome = await running
        await until(lambda: off.open_streams == 0)
        assert time.monotonic() - began_s < 2.5
        assert hooks.asked > asked
    assert (outcome.outcome, outcome.exit_code, outcome.reason) == ("aborted", 4, "maintenance")


async def test_foreign_traffic_during_a_cell_aborts_the_sweep() -> None:
    async with fake_engine(FakeEngine(output_tokens=9_000)) as off, fake_engine(FakeEngine(k=3)) as on:
        load = LoadSpec(max_tokens=9_000)
        sweep = plan(arm("off", off.url), arm("k3", on.url), ladder=(2,), load=load, cell_s=60.0)
        running = asyncio.create_task(run_sweep(sweep, Recorder()))
        await until(lambda: off.open_streams == 2)
        off.faults.phantom_running = 5
        outcome = await running
        await until(lambda: off.open_streams == 0)
    assert (outcome.outcome, outcome.exit_code) == ("aborted", 4)
    assert "5 requests in the system that are not ours" in outcome.reason


async def test_the_time_budget_ends_a_sweep_and_keeps_its_cells() -> None:
    hooks = Recorder()
    async with fake_engine(FakeEngine(step_s=0.01)) as off, fake_engine(FakeEngine(k=3, step_s=0.01)) as on:
        sweep = plan(arm("off", off.url), arm("k3", on.url), ladder=tuple(range(1, 40)), max_minutes=4 / 60)
        outcome = await run_sweep(sweep, hooks)
    assert (outcome.outcome, outcome.exit_code) == ("aborted", 4)
    assert outcome.reason.startswith("the budget of")
    assert outcome.cells == tuple(hooks.cells)


async def test_an_arm_at_its_limit_stops_climbing_and_the_other_goes_on() -> None:
    hooks = Recorder()
    full = FakeEngine(k=3, step_s=0.01, faults=Faults(kv_usage=0.97))
    async with fake_engine(FakeEngine(step_s=0.01)) as off, fake_engine(full) as on:
        await run_sweep(plan(arm("off", off.url), arm("k3", on.url), ladder=(1, 2, 3), repeats=1), hooks)
    measured = [(cell.arm, cell.rung) for cell in hooks.cells]
    assert ("off", 3) in measured
    assert ("k3", 3) not in measured  # one limited cell suffices, two where a busy machine voided the first
    assert all("limited" in {note.code for note in cell.notes} for cell in hooks.cells if cell.arm == "k3")


async def test_cancelling_the_sweep_closes_its_streams() -> None:
    async with fake_engine(FakeEngine(output_tokens=9_000)) as off, fake_engine(FakeEngine(k=3)) as on:
        sweep = plan(arm("off", off.url), arm("k3", on.url), load=LoadSpec(max_tokens=9_000), cell_s=60.0)
        running = asyncio.create_task(run_sweep(sweep, Recorder()))
        await until(lambda: off.open_streams == 1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until(lambda: off.open_streams == 0)


async def test_a_bad_prompts_file_is_an_error_before_anything() -> None:
    hooks = Recorder()
    with pytest.raises(PromptFileError, match="cannot be read"):
        await run_sweep(plan(load=LoadSpec("absent.jsonl")), hooks)
    assert hooks.progress == []


async def test_observing_gives_the_highest_load_seen_and_names_who_is_away() -> None:
    async with fake_engine(FakeEngine(faults=Faults(phantom_running=2, kv_usage=0.4))) as off:
        arms = (arm("off", off.url), arm("k3", "http://127.0.0.1:9"))
        busy, away = await observe(arms, 0.0, timeout_s=2.0, max_bytes=1_000_000)
    assert (busy.state, busy.concurrency_max, busy.kv_usage_max) == (State.OK, 2.0, 0.4)
    assert (away.arm, away.state) == ("k3", State.DOWN)
    assert away.reason
