"""SGLang pages: exact numbers of the real one, ranks, priorities, and what old versions lack."""

from __future__ import annotations

import pytest

from probes.values import EngineKind, State
from tests.unit.engines.pages import NAMES, Line, histogram, names_of, only_engine, page, real, see

REAL = "sglang-0.5.15-h200-off-c32.prom"


def test_golden_page() -> None:
    seen = see(real(REAL))
    assert seen.state is State.OK
    assert seen.facts is not None
    facts = seen.facts
    assert facts.kind is EngineKind.SGLANG
    assert facts.model_names == ("llama8b",)
    assert facts.speculation_configured is False
    assert facts.k is None
    assert facts.cache_config == {"block_size": "1", "num_gpu_blocks": "218578", "max_total_num_tokens": "218578"}
    (engine,) = facts.engines
    assert (engine.running, engine.waiting, engine.kv_usage) == (32.0, 0.0, 0.06)
    assert engine.generation_tokens == 19722.0
    assert engine.generation_tokens_live
    assert engine.prompt_tokens == 14328.0
    assert engine.finished == 49.0
    assert (engine.prefix_queries, engine.prefix_hits) == (14328.0, 0.0)
    assert engine.preemptions is None
    assert engine.drafts is None
    assert engine.acceptance_length_gauge is None
    assert engine.histograms["queue_s"].count == 83.0
    assert engine.histograms["queue_s"].edges[0] == 0.0
    assert engine.histograms["generation_tokens"].total == 12296.0


def scheduler(**more: str) -> dict[str, str]:
    return {"model_name": "m", "engine_type": "unified", "tp_rank": "0", "pp_rank": "0", **more}


def small(labels: dict[str, str] | None = None, running: float = 4.0) -> list[Line]:
    labels = scheduler() if labels is None else labels
    return [("sglang:num_running_reqs", labels, running), ("sglang:num_queue_reqs", labels, 1.0)]


@pytest.mark.parametrize("version", NAMES["sglang"]["versions"])
def test_every_version_shows_the_needed_quantities(version: str) -> None:
    lines: list[Line] = []
    for name, kind in names_of("sglang", version).items():
        if kind == "histogram":
            lines += histogram(name, scheduler(), {"0.5": 1, "+Inf": 2}, 3.0)
        elif name == "sglang:realtime_tokens_total":
            lines += [(name, scheduler(mode=mode), 50) for mode in ("prefill_compute", "prefill_cache", "decode")]
        else:
            lines.append((name, scheduler(), 9))
    engine = only_engine(page(lines))
    assert engine.running == 9.0
    assert engine.kv_usage == 9.0
    assert engine.finished == 9.0
    live = "sglang:realtime_tokens_total" in names_of("sglang", version)
    assert engine.generation_tokens == (50.0 if live else 9.0)
    assert engine.generation_tokens_live is live
    assert engine.prefix_queries == (100.0 if live else 9.0)
    assert engine.prefix_hits == (50.0 if live else 9.0)
    assert {"ttft_s", "itl_s", "e2e_s"} <= set(engine.histograms)
    assert ("queue_s" in engine.histograms) is (version not in ("0.4.6", "0.4.6.post5", "0.4.9", "0.5.1"))


def test_the_two_token_counters_are_never_added() -> None:
    lines = small()
    lines += [
        ("sglang:realtime_tokens_total", scheduler(mode="decode"), 70),
        ("sglang:generation_tokens_total", {"model_name": "m"}, 60),
    ]
    assert only_engine(page(lines)).generation_tokens == 70.0


def test_data_parallel_ranks_are_engines_whatever_their_tensor_rank() -> None:
    lines: list[Line] = []
    for rank in range(2):
        for tensor in (4 * rank + 1, 4 * rank):
            labels = scheduler(dp_rank=str(rank), tp_rank=str(tensor))
            lines += small(labels, running=10.0 + rank)
            lines.append(("sglang:realtime_tokens_total", {**labels, "mode": "decode"}, 100.0 + rank))
    lines.append(("sglang:num_requests_total", {"model_name": "m"}, 33))
    facts = see(page(lines)).facts
    assert facts is not None
    assert [(engine.engine, engine.running, engine.generation_tokens) for engine in facts.engines] == [
        ("0", 10.0, 100.0),
        ("1", 11.0, 101.0),
    ]
    assert [engine.finished for engine in facts.engines] == [33.0, None], "not known per engine, right in the sum"


def test_pipeline_and_expert_ranks_are_copies() -> None:
    lines: list[Line] = []
    for pipeline, running in (("1", 9.0), ("0", 5.0), ("10", 7.0)):
        lines += small(scheduler(pp_rank=pipeline, moe_ep_rank="0"), running=running)
    assert only_engine(page(lines)).running == 5.0


def test_priority_copies_are_not_counted_twice() -> None:
    lines = [
        *small(scheduler(priority=""), 6.0),
        *small(scheduler(priority="1"), 4.0),
        *small(scheduler(priority="2"), 2.0),
    ]
    assert only_engine(page(lines)).running == 6.0


def test_priorities_and_streaming_of_the_http_side_are_parts() -> None:
    lines = small()
    for priority in ("", "1"):
        for streaming in ("true", "false"):
            labels = {"model_name": "m", "priority": priority, "is_streaming": streaming}
            lines.append(("sglang:num_requests_total", labels, 10))
    assert only_engine(page(lines)).finished == 40.0


def test_requests_in_the_side_queues_wait_too() -> None:
    lines = [
        *small(),
        ("sglang:num_grammar_queue_reqs", scheduler(), 2),
        ("sglang:num_decode_transfer_queue_reqs", scheduler(), 3),
    ]
    assert only_engine(page(lines)).waiting == 6.0


def test_the_underscore_spelling_is_the_same_metric() -> None:
    body = real(REAL).replace(b"sglang:", b"sglang_")
    assert only_engine(body) == only_engine(real(REAL))


@pytest.mark.parametrize(
    ("gauges", "configured", "k"),
    [
        ({"spec_accept_length": 0.0}, None, None),
        ({"spec_accept_length": 2.4}, True, None),
        # Names and zeros as on the real page; what was reported until then decides.
        ({"spec_num_draft_tokens": 0.0, "decode_sum_seq_lens": 0.0, "gen_throughput": 0.0}, None, None),
        ({"spec_num_draft_tokens": 0.0}, None, None),
        ({"spec_num_draft_tokens": 0.0, "decode_sum_seq_lens": 800.0, "gen_throughput": 0.0}, False, None),
        ({"spec_num_draft_tokens": 0.0, "decode_sum_seq_lens": 0.0, "spec_verify_calls_total": 3.0}, True, None),
        ({"spec_num_draft_tokens": 4.0, "spec_num_steps": 3.0, "decode_sum_seq_lens": 800.0}, True, 3),
        # N-gram drafts, whose steps are not their tokens; a tree of seven drafted nodes in three layers.
        ({"spec_num_draft_tokens": 4.0, "spec_num_steps": 4.0}, True, 3),
        ({"spec_num_draft_tokens": 8.0, "spec_num_steps": 3.0}, True, 7),
        # Adaptive speculation in a stretch without drafts is not off.
        ({"spec_accept_length": 1.0, "spec_num_draft_tokens": 1.0, "spec_num_steps": 0.0}, True, 0),
        ({"spec_num_draft_tokens": float("nan"), "decode_sum_seq_lens": 800.0}, None, None),
        ({"spec_verify_calls_total": 7.0}, True, None),
        ({"decode_sum_seq_lens": 800.0}, None, None),
        ({}, None, None),
    ],
)
def test_speculation_from_the_gauges(gauges: dict[str, float], configured: bool | None, k: int | None) -> None:
    facts = see(page([*small(), *((f"sglang:{name}", scheduler(), value) for name, value in gauges.items())])).facts
    assert facts is not None
    assert facts.speculation_configured is configured
    assert facts.k == k
    assert facts.engines[0].acceptance_length_gauge == (gauges.get("spec_accept_length") or None)


@pytest.mark.parametrize(("verified", "configured", "k"), [((0.0, 0.0), False, None), ((0.0, 4.0), True, 3)])
def test_one_rank_that_has_decoded_tells_for_all(
    verified: tuple[float, float], configured: bool, k: int | None
) -> None:
    lines: list[Line] = []
    for rank, (tokens, lengths) in enumerate(zip(verified, (0.0, 800.0), strict=True)):
        labels = scheduler(dp_rank=str(rank), tp_rank=str(rank))
        lines += small(labels)
        lines += [("sglang:spec_num_draft_tokens", labels, tokens), ("sglang:decode_sum_seq_lens", labels, lengths)]
    facts = see(page(lines)).facts
    assert facts is not None
    assert (facts.speculation_configured, facts.k) == (configured, k)


def test_what_0_5_15_lacks_is_unknown_and_not_zero() -> None:
    facts = see(real(REAL)).facts
    assert facts is not None
    (engine,) = facts.engines
    assert "itl_s" in engine.histograms
    assert "tpot_s" not in engine.histograms, "gaps between tokens are no requests' means"
    assert engine.preemptions is None
    assert facts.process_start_s is None
    assert "cache_dtype" not in facts.cache_config


def test_before_its_first_batch_sglang_is_incomplete_not_idle() -> None:
    seen = see(page([("sglang:num_requests_total", {"model_name": "m"}, 0)]))
    assert seen.state is State.EMPTY
    assert "sglang:num_running_reqs" in seen.reason
    assert "first batch" in seen.reason


def test_half_a_page_is_noticed() -> None:
    lines = real(REAL).splitlines(keepends=True)
    assert see(b"".join(lines[: len(lines) // 2])).state is State.EMPTY


def test_cache_facts_of_0_5_10_come_from_labels() -> None:
    lines = [*small(), ("sglang:cache_config_info", {"page_size": "64", "num_pages": "100"}, 1)]
    facts = see(page(lines)).facts
    assert facts is not None
    assert facts.cache_config == {"block_size": "64", "num_gpu_blocks": "100"}
