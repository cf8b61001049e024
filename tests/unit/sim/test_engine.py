"""The simulated engine counts, batches and runs out of room the way vLLM does."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, stdev

import pytest

from probes.sim.engine import Engine, Output
from probes.sim.noise import Noise
from probes.sim.request import Request, prefix_hashes
from probes.sim.spec import SimSpec

QUIET = SimSpec(k=3, start_noise=0.0, step_noise=0.0)


def run(engine: Engine, *, steps: int = 100_000) -> tuple[float, list[Output]]:
    """Step until idle; the time it took and everything that came out."""
    now_s = 0.0
    outputs: list[Output] = []
    for _ in range(steps):
        end_s = engine.begin_step(now_s)
        if end_s is None:
            break
        now_s = end_s
        outputs += engine.end_step(now_s)
    return now_s, outputs


def ask(engine: Engine, count: int, *, prompt: int = 100, tokens: int = 200, cap: int = 4000) -> list[Request]:
    """Queue requests that stop after `tokens`."""
    requests = [Request(prompt, cap, tokens, 0.0) for _ in range(count)]
    for request in requests:
        engine.add(request)
    return requests


def test_acceptance_by_position_follows_the_rates() -> None:
    engine = Engine(QUIET)
    ask(engine, 60, tokens=600)
    run(engine)
    counters = engine.counters
    assert counters.draft_tokens == 3 * counters.drafts
    assert counters.accepted_tokens == sum(counters.accepted_per_pos)
    seen = [accepted / counters.drafts for accepted in counters.accepted_per_pos]
    assert seen == pytest.approx(QUIET.acceptance[:3], abs=0.02)


def test_every_output_token_is_counted_once() -> None:
    engine = Engine(QUIET)
    requests = ask(engine, 7, tokens=123)
    _, outputs = run(engine)
    assert [request.generated for request in requests] == [123] * 7
    assert sum(output.tokens for output in outputs) == engine.counters.generation_tokens == 7 * 123
    assert engine.counters.prompt_tokens == 7 * 100


def test_inter_token_latency_has_one_sample_per_step_as_in_vllm() -> None:
    engine = Engine(QUIET)
    ask(engine, 4, tokens=400)
    run(engine)
    counters = engine.counters
    assert counters.inter_token_s.count == counters.drafts
    tokens_per_step = counters.generation_tokens / (counters.inter_token_s.count + counters.ttft_s.count)
    assert tokens_per_step == pytest.approx(1 + sum(QUIET.acceptance[:3]), rel=0.05)


def test_the_baseline_never_drafts() -> None:
    engine = Engine(replace(QUIET, k=0))
    ask(engine, 3)
    _, outputs = run(engine)
    assert engine.counters.drafts == engine.counters.draft_tokens == 0
    assert {output.tokens for output in outputs} == {1}


def test_a_request_ends_by_itself_or_at_its_cap() -> None:
    engine = Engine(QUIET)
    engine.add(Request(10, 500, 20, 0.0))
    engine.add(Request(10, 20, 500, 0.0))
    _, outputs = run(engine)
    assert sorted(output.finish_reason for output in outputs if output.finish_reason) == ["length", "stop"]
    assert engine.counters.finished["stop"] == engine.counters.finished["length"] == 1


def test_a_full_kv_cache_preempts_and_still_finishes_everything() -> None:
    engine = Engine(replace(QUIET, kv_tokens=4000, max_model_len=2000))
    requests = ask(engine, 20, prompt=100, tokens=300)
    _, _ = run(engine)
    assert engine.counters.preemptions > 0
    assert all(request.done and request.generated == 300 for request in requests)
    assert engine.kv_usage == 0.0
    assert engine.counters.generation_tokens == 20 * 300


def test_the_running_list_is_capped_and_the_rest_waits() -> None:
    engine = Engine(replace(QUIET, max_num_seqs=4))
    ask(engine, 10)
    engine.begin_step(0.0)
    assert len(engine.running) == 4
    assert len(engine.waiting) == 6


def test_a_long_prompt_is_prefilled_in_chunks() -> None:
    engine = Engine(replace(QUIET, crossover=None, token_budget=256))
    ask(engine, 1, prompt=1000, tokens=1)
    empty_steps = 0
    now_s = 0.0
    while not engine.idle:
        end_s = engine.begin_step(now_s)
        assert end_s is not None
        now_s = end_s
        empty_steps += not engine.end_step(now_s)
    assert empty_steps == 3


def test_an_abort_frees_its_blocks_and_is_counted() -> None:
    engine = Engine(QUIET)
    kept, gone = ask(engine, 2)
    end_s = engine.begin_step(0.0)
    assert end_s is not None
    engine.abort(gone, end_s / 2)
    outputs = engine.end_step(end_s)
    assert [output.request for output in outputs] == [kept]
    engine.abort(gone, end_s)
    assert engine.counters.finished["abort"] == 1
    engine.abort(kept, end_s)
    assert engine.kv_usage == 0.0
    assert engine.idle


def test_a_repeated_prompt_hits_the_prefix_cache() -> None:
    engine = Engine(QUIET)
    prompt = "a shared system prompt of some length, then more of the same " * 10
    for _ in range(2):
        engine.add(Request(150, 4, 4, 0.0, prefixes=prefix_hashes(prompt)))
        run(engine)
    assert engine.counters.prefix_queries == 300
    assert engine.counters.prefix_hits == 144
    engine.add(Request(150, 4, 4, 0.0, prefixes=prefix_hashes("#salt " + prompt)))
    run(engine)
    assert engine.counters.prefix_hits == 144


def test_reserved_kv_lets_nothing_run() -> None:
    engine = Engine(QUIET)
    engine.reserved_blocks = QUIET.kv_blocks
    ask(engine, 1)
    assert engine.begin_step(0.0) is None
    assert engine.kv_usage == 1.0
    assert len(engine.waiting) == 1


def test_time_scale_slows_everything_alike() -> None:
    fast, slow = Engine(QUIET), Engine(replace(QUIET, time_scale=3.0))
    ask(fast, 5)
    ask(slow, 5)
    assert run(slow)[0] == pytest.approx(3.0 * run(fast)[0])


def test_the_same_seed_gives_the_same_run_and_another_start_does_not() -> None:
    spec = SimSpec(k=3, seed=4)

    def seconds(start: int) -> float:
        engine = Engine(spec, start=start)
        ask(engine, 5)
        return run(engine)[0]

    assert seconds(0) == seconds(0)
    assert seconds(0) != seconds(1)


@pytest.mark.parametrize(("k", "spread"), [(0, 0.01), (3, 0.02)])
def test_a_start_has_a_bias_that_its_repeats_share(k: int, spread: float) -> None:
    biases = []
    for seed in range(200):
        spec = SimSpec(k=k, seed=seed, step_noise=0.0)
        engine = Engine(spec)
        noise = engine.noise
        biases.append(noise.start_bias)
        assert noise.factor(0.0) == noise.factor(100.0) == noise.start_bias
    assert fmean(biases) == pytest.approx(1.0, abs=0.005)
    assert stdev(biases) == pytest.approx(spread, rel=0.25)


@pytest.mark.parametrize(("k", "spread"), [(0, 0.005), (5, 0.025)])
def test_repeats_differ_as_much_as_on_the_measured_gpu(k: int, spread: float) -> None:
    noise = Engine(SimSpec(k=k, start_noise=0.0)).noise
    means = [_cell_mean(noise, cell) for cell in range(200)]
    assert stdev(means) == pytest.approx(spread, rel=0.3)


def _cell_mean(noise: Noise, cell: int) -> float:
    factors = []
    for step in range(200):
        at_s = 100.0 * cell + 0.01 * step
        factors.append(noise.factor(at_s))
        noise.busy_until(at_s + 0.01)
    return fmean(factors)


def test_a_drifting_server_gains_or_loses_speed_with_time() -> None:
    seconds = {}
    for drift in (-0.1, 0.0, 0.1):
        engine = Engine(QUIET)
        engine.drift_per_s, engine.drifts_from_s = drift, -2.0
        ask(engine, 5, tokens=400)
        seconds[drift] = run(engine)[0]
    assert seconds[-0.1] > 1.2 * seconds[0.0] > 1.2 * seconds[0.1]
    for count in (1, 5):
        slow, plain = Engine(QUIET), Engine(QUIET)
        slow.slow = 2.0
        ask(slow, count)
        ask(plain, count)
        assert run(slow)[0] == pytest.approx(2.0 * run(plain)[0])


def test_a_schedule_drafts_by_the_number_of_running_requests() -> None:
    spec = replace(QUIET, schedule=((1, 4, 3), (5, 20, 1), (21, 64, 0)))
    for count, k in ((3, 3), (12, 1), (40, 0), (80, 0)):
        engine = Engine(replace(spec, max_num_seqs=128))
        ask(engine, count, tokens=2000)
        run(engine, steps=60)
        assert len(engine.running) == count
        before = _drafted(engine)
        run(engine, steps=10)
        drafts, tokens = (now - then for now, then in zip(_drafted(engine), before, strict=True))
        assert (bool(drafts), tokens) == (bool(k), k * drafts), count


def _drafted(engine: Engine) -> tuple[int, int]:
    return engine.counters.drafts, engine.counters.draft_tokens


def test_a_schedule_may_cost_the_whole_server_its_speed() -> None:
    def seconds(**changes: object) -> float:
        engine = Engine(replace(QUIET, k=1, **changes))  # type: ignore[arg-type]
        ask(engine, 8)
        return run(engine)[0]

    steady, scheduled = seconds(schedule=((1, 64, 1),)), seconds(schedule=((1, 64, 1),), schedule_cost=1.5)
    assert scheduled == pytest.approx(1.5 * steady)
    assert seconds(schedule_cost=1.5) == pytest.approx(steady), "only where there is a schedule"
