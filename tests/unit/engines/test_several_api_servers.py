"""vLLM with several API servers: what two processes put on one page together is read as one server's."""

from __future__ import annotations

import pytest

from probes.values import State
from tests.unit.engines.pages import only_engine, real, see

UNUSED = ("vllm-0.32.0-cpu-2api-off-unused.prom", "vllm-0.32.0-cpu-2api-ngram-unused.prom")
BUSY = "vllm-0.32.0-cpu-2api-off-c8.prom"
LATER = "vllm-0.32.0-cpu-2api-off-c8-later.prom"
FOUR_IDLE = "vllm-0.26.0-h200-4api-off-idle.prom"
FOUR_BUSY = "vllm-0.26.0-h200-4api-off-c161.prom"
FOUR_CLIENTS = 161


@pytest.mark.parametrize("name", UNUSED)
def test_gauges_that_nothing_has_set_yet_are_zero_before_the_first_request(name: str) -> None:
    assert b"\nvllm:num_requests_running{" not in real(name)
    engine = only_engine(real(name))
    assert (engine.running, engine.waiting, engine.kv_usage) == (0.0, 0.0, 0.0)
    assert (engine.generation_tokens, engine.prompt_tokens, engine.finished) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("name", "configured", "k"), [(UNUSED[0], False, None), (UNUSED[1], True, 4)])
def test_speculation_is_known_before_the_first_request(name: str, configured: bool, k: int | None) -> None:
    facts = see(real(name)).facts
    assert facts is not None
    assert (facts.speculation_configured, facts.k) == (configured, k)
    assert facts.model_names == ("tiny",)
    assert facts.cache_config["num_gpu_blocks"] == "1024"


def test_a_gauge_that_is_missing_after_the_first_token_is_not_zero() -> None:
    lines = real(BUSY).splitlines(keepends=True)
    without = b"".join(line for line in lines if not line.startswith(b"vllm:num_requests_running{"))
    seen = see(without)
    assert seen.state is State.EMPTY
    assert "vllm:num_requests_running" in seen.reason


def test_a_gauge_that_the_page_does_not_even_declare_is_not_zero() -> None:
    seen = see(real(UNUSED[0]).replace(b"# TYPE vllm:num_requests_waiting gauge\n", b""))
    assert seen.state is State.EMPTY
    assert "vllm:num_requests_waiting" in seen.reason


def test_of_two_engines_the_one_without_a_request_is_idle_beside_the_busy_one() -> None:
    busy = real(BUSY)
    second = [
        line.replace(b'engine="0"', b'engine="1"').rpartition(b" ")[0] + b" 0.0\n"
        for line in busy.splitlines(keepends=True)
        if b'engine="0"' in line and not line.startswith((b"vllm:num_requests_", b"vllm:kv_cache_usage_perc"))
    ]
    facts = see(busy + b"".join(second)).facts
    assert facts is not None
    assert [(engine.running, engine.waiting) for engine in facts.engines] == [(8.0, 0.0), (0.0, 0.0)]


def test_counters_are_the_sum_and_gauges_are_whole() -> None:
    before, after = only_engine(real(BUSY)), only_engine(real(LATER))
    assert (before.running, after.running, after.waiting) == (8.0, 8.0, 0.0)
    assert before.generation_tokens is not None
    assert after.generation_tokens is not None
    outputs = sum(after.histograms[name].count - before.histograms[name].count for name in ("itl_s", "ttft_s"))
    assert after.generation_tokens - before.generation_tokens == outputs == 3788.0


def test_tokens_per_step_are_left_out_since_each_process_counts_every_step() -> None:
    count = "vllm:iteration_tokens_total_count"
    by_page = [
        next(float(x.split()[1]) for x in real(name).decode().splitlines() if x.startswith(count))
        for name in (BUSY, LATER)
    ]
    tokens = 3788.0
    assert by_page[1] - by_page[0] == pytest.approx(2 * tokens / 8, rel=0.02), "8 requests got a token in every step"
    assert "iteration_tokens" not in only_engine(real(BUSY)).histograms
    assert "iteration_tokens" in only_engine(real("vllm-0.32.0-cpu-off-c8.prom")).histograms


def sample(name: str, start: str) -> float:
    """The one sample of a page that begins so."""
    (line,) = (line for line in real(name).decode().splitlines() if line.startswith(start))
    return float(line.split()[1])


def test_of_four_processes_the_gauges_are_the_engine_s_and_no_process_s_share() -> None:
    idle, busy = only_engine(real(FOUR_IDLE)), only_engine(real(FOUR_BUSY))
    assert (idle.running, idle.waiting, idle.kv_usage) == (0.0, 0.0, 0.0)
    assert (busy.running, busy.waiting) == (FOUR_CLIENTS, 0.0)
    assert busy.kv_usage == pytest.approx(0.4956, abs=1e-4)


@pytest.mark.parametrize("name", [FOUR_IDLE, FOUR_BUSY])
def test_of_four_processes_without_speculation_the_page_tells_so(name: str) -> None:
    facts = see(real(name)).facts
    assert facts is not None
    assert (facts.speculation_configured, facts.k) == (False, None), "not unknown, though it shows no process"
    assert facts.process_start_s is None


def test_of_four_processes_counters_are_whole_and_steps_are_counted_four_times() -> None:
    idle, busy = only_engine(real(FOUR_IDLE)), only_engine(real(FOUR_BUSY))
    assert idle.generation_tokens is not None
    assert busy.generation_tokens is not None
    tokens = busy.generation_tokens - idle.generation_tokens
    outputs = sum(busy.histograms[name].count - idle.histograms[name].count for name in ("itl_s", "ttft_s"))
    assert tokens == pytest.approx(outputs, rel=0.001)
    gap_s = (busy.histograms["itl_s"].total - idle.histograms["itl_s"].total) / (
        busy.histograms["itl_s"].count - idle.histograms["itl_s"].count
    )
    assert gap_s == pytest.approx(0.0115, abs=0.0005)

    count = "vllm:iteration_tokens_total_count{"
    per_step = tokens / (sample(FOUR_BUSY, count) - sample(FOUR_IDLE, count))
    assert FOUR_CLIENTS / per_step == pytest.approx(4.0, abs=0.3), "a reader of it would see batches of 39"
    assert "iteration_tokens" not in busy.histograms
    assert "iteration_tokens" in only_engine(real("vllm-0.26.0-h200-off-c32.prom")).histograms
