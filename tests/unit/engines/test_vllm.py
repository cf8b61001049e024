"""vLLM pages: exact numbers of the real ones, and the shapes of old and parallel builds."""

from __future__ import annotations

import math

import pytest

from probes.values import EngineKind, State
from tests.unit.engines.pages import NAMES, Line, histogram, names_of, only_engine, page, real, see

PREFIX_OLD = "vllm:gpu_prefix_cache_queries_total"


def test_golden_page_with_three_drafts() -> None:
    engine = only_engine(real("vllm-0.26.0-h200-k3-c32.prom"))
    assert engine.engine == "0"
    assert (engine.running, engine.waiting) == (3.0, 0.0)
    assert engine.kv_usage == 0.012707267937393407
    assert (engine.generation_tokens, engine.prompt_tokens) == (276460.0, 192548.0)
    assert (engine.finished, engine.preemptions) == (1077.0, 16.0)
    assert (engine.drafts, engine.draft_tokens, engine.accepted_tokens) == (105797.0, 317391.0, 170778.0)
    assert engine.accepted_per_pos == (76050.0, 54787.0, 39941.0)
    assert (engine.prefix_queries, engine.prefix_hits) == (0.0, 0.0)
    assert set(engine.histograms) == {
        "ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s", "prompt_tokens", "generation_tokens", "iteration_tokens",
        "computed_prompt_tokens",
    }  # fmt: skip
    ttft = engine.histograms["ttft_s"]
    assert (ttft.count, ttft.total) == (1080.0, 330.18395352363586)
    assert ttft.edges[0] == 0.001
    assert ttft.edges[-1] == math.inf
    assert ttft.counts[-1] == 1080.0
    assert engine.histograms["iteration_tokens"].count == 4648.0
    assert engine.histograms["iteration_tokens"].total == 469008.0
    assert engine.histograms["computed_prompt_tokens"].count == 1077.0


def test_golden_facts_of_the_page() -> None:
    seen = see(real("vllm-0.26.0-h200-k3-c32.prom"))
    assert seen.facts is not None
    facts = seen.facts
    assert facts.kind is EngineKind.VLLM
    assert facts.model_names == ("llama8b",)
    assert facts.process_start_s == 1.79600929454e09
    assert facts.cache_config["num_gpu_blocks"] == "6454"
    assert facts.cache_config["enable_prefix_caching"] == "False"
    assert "engine" not in facts.cache_config
    assert facts.matched_names["kv_usage"] == "vllm:kv_cache_usage_perc"
    assert facts.matched_names["generation_tokens"] == "vllm:generation_tokens_total"
    assert facts.matched_names["histograms.generation_tokens"] == "vllm:request_generation_tokens"


@pytest.mark.parametrize(
    ("name", "configured", "k"),
    [
        ("vllm-0.26.0-h200-off-c32.prom", False, None),
        ("vllm-0.26.0-h200-k1-c32.prom", True, 1),
        ("vllm-0.26.0-h200-k3-c32.prom", True, 3),
        ("vllm-0.26.0-h200-k5-c32.prom", True, 5),
        ("vllm-0.32.0-cpu-idle.prom", False, None),
    ],
)
def test_speculation_and_k_of_the_real_pages(name: str, configured: bool, k: int | None) -> None:
    facts = see(real(name)).facts
    assert facts is not None
    assert facts.speculation_configured is configured
    assert facts.k == k
    drafts = facts.engines[0].drafts
    assert (drafts is None) is not configured, "absent speculation series are not zeros"


def synthetic(version: str, *, engines: int = 1, spec: bool = False, skip: tuple[str, ...] = ()) -> list[Line]:
    """Every family that a version shows, each counter of engine e at 1000 + e."""
    lines: list[Line] = [("process_start_time_seconds", {}, 5.0), ("python_info", {}, 1.0)]
    for name, kind in names_of("vllm", version).items():
        if name in skip or (name.startswith("vllm:spec_decode_") and not spec):
            continue
        for engine in range(engines):
            labels = {"model_name": "m", "engine": str(engine)}
            if kind == "histogram":
                lines += histogram(name, labels, {"0.5": 1, "+Inf": 2 + engine}, 3.0)
            elif name == "vllm:engine_sleep_state":
                lines.append((name, {**labels, "sleep_state": "awake"}, 1))
            elif name.endswith("per_pos_total"):
                lines += [(name, {**labels, "position": str(place)}, 100 - place) for place in (10, 2, 0, 1)]
            else:
                lines.append((name, labels, 1000 + engine))
            if kind != "gauge":
                lines.append((f"{name.removesuffix('_total')}_created", labels, 1.7e9))
    return lines


@pytest.mark.parametrize("version", NAMES["vllm"]["versions"])
def test_every_version_shows_every_quantity(version: str) -> None:
    engine = only_engine(page(synthetic(version, spec=True)))
    for quantity in ("running", "waiting", "kv_usage", "generation_tokens", "prompt_tokens", "finished", "preemptions",
                     "prefix_queries", "prefix_hits", "drafts", "draft_tokens", "accepted_tokens"):  # fmt: skip
        assert getattr(engine, quantity) == 1000.0, f"{quantity} in {version}"
    expected = {"ttft_s", "itl_s", "e2e_s", "queue_s", "prompt_tokens", "generation_tokens", "iteration_tokens"}
    assert set(engine.histograms) - {"tpot_s", "computed_prompt_tokens"} == expected
    per_request = version not in ("0.8.5.post2", "0.9.2", "0.10.0", "0.10.2")
    assert ("tpot_s" in engine.histograms) is per_request
    from_0_13 = int(version.split(".")[1]) >= 13
    assert ("computed_prompt_tokens" in engine.histograms) is from_0_13


def test_positions_are_ordered_as_numbers() -> None:
    assert only_engine(page(synthetic("0.33.0", spec=True))).accepted_per_pos == (100.0, 99.0, 98.0, 90.0)


def test_the_oldest_names_are_read() -> None:
    seen = see(page(synthetic("0.8.5.post2")))
    assert seen.facts is not None
    assert seen.facts.matched_names["kv_usage"] == "vllm:gpu_cache_usage_perc"
    assert seen.facts.matched_names["prefix_queries"] == PREFIX_OLD
    assert seen.facts.matched_names["histograms.itl_s"] == "vllm:time_per_output_token_seconds"


def test_where_both_names_are_shown_the_new_one_counts_alone() -> None:
    seen = see(page(synthetic("0.10.0")))
    assert PREFIX_OLD in names_of("vllm", "0.10.0")
    assert seen.facts is not None
    assert seen.facts.matched_names["prefix_queries"] == "vllm:prefix_cache_queries_total"
    assert seen.facts.engines[0].prefix_queries == 1000.0
    assert seen.facts.engines[0].kv_usage == 1000.0


def test_eight_data_parallel_engines_stay_apart() -> None:
    facts = see(page(synthetic("0.33.0", engines=8))).facts
    assert facts is not None
    assert [engine.engine for engine in facts.engines] == [str(number) for number in range(8)]
    assert [engine.running for engine in facts.engines] == [1000.0 + number for number in range(8)]
    assert facts.engines[7].histograms["ttft_s"].count == 9.0


def test_engines_are_in_rank_order() -> None:
    facts = see(page(synthetic("0.33.0", engines=12))).facts
    assert facts is not None
    assert [engine.engine for engine in facts.engines][-2:] == ["10", "11"]


def test_label_sets_of_one_engine_are_added() -> None:
    lines = [*synthetic("0.33.0"), ("vllm:generation_tokens_total", {"model_name": "lora", "engine": "0"}, 7.0)]
    lines += [("vllm:request_success_total", {"model_name": "m", "engine": "0", "finished_reason": "abort"}, 5.0)]
    lines += histogram(
        "vllm:time_to_first_token_seconds", {"model_name": "lora", "engine": "0"}, {"0.5": 4, "+Inf": 4}, 1
    )
    lines += [("vllm:kv_cache_usage_perc", {"model_name": "lora", "engine": "0"}, 0.5)]
    engine = only_engine(page(lines))
    assert engine.generation_tokens == 1007.0
    assert engine.finished == 1005.0
    assert engine.histograms["ttft_s"].counts == (5.0, 6.0)
    assert engine.kv_usage == 1000.0


def test_nan_is_unknown() -> None:
    lines = [
        entry
        for entry in synthetic("0.33.0")
        if entry[0] not in ("vllm:num_requests_running", "vllm:kv_cache_usage_perc")
    ]
    labels = {"engine": "0"}
    lines += [("vllm:num_requests_running", labels, "NaN"), ("vllm:kv_cache_usage_perc", labels, "NaN")]
    engine = only_engine(page(lines))
    assert engine.running is None
    assert engine.kv_usage is None
    assert engine.waiting == 1000.0


def test_an_unfinished_histogram_is_left_out() -> None:
    lines = synthetic("0.33.0", skip=("vllm:request_queue_time_seconds",))
    lines += histogram("vllm:request_queue_time_seconds", {"engine": "0"}, {"0.3": 1, "+Inf": 2}, 3.0)[1:]
    lines = [entry for entry in lines if entry[1].get("le") != "+Inf" or "queue" not in entry[0]]
    assert "queue_s" not in only_engine(page(lines)).histograms


def test_a_sleeping_engine_is_a_state_of_its_own() -> None:
    lines = [entry for entry in synthetic("0.33.0") if entry[0] != "vllm:engine_sleep_state"]
    for state, value in (("awake", 0), ("weights_offloaded", 1), ("discard_all", 0)):
        lines.append(("vllm:engine_sleep_state", {"engine": "0", "sleep_state": state}, value))
    seen = see(page(lines))
    assert seen.state is State.SLEEPING
    assert "weights_offloaded" in seen.reason


def without(lines: list[Line], *starts: str) -> list[Line]:
    return [entry for entry in lines if not entry[0].startswith(starts)]


def test_absent_speculation_is_unknown_where_absence_proves_nothing() -> None:
    def configured(lines: list[Line]) -> bool | None:
        facts = see(page(lines)).facts
        assert facts is not None
        return facts.speculation_configured

    whole = synthetic("0.33.0")
    assert configured(whole) is False
    assert configured(without(whole, "process_", "python_")) is False, "several API servers show no process family"
    filtered = without(whole, "process_", "python_", "vllm:e2e_request", "vllm:request_success")
    assert configured(filtered) is None
    assert configured(synthetic("0.10.2", engines=2)) is None
    assert configured(synthetic("0.10.2", engines=1)) is False
    assert configured(synthetic("0.33.0", engines=2)) is False
    assert configured(synthetic("0.10.2", engines=2, spec=True)) is True


def test_v0_pages_have_one_engine_and_no_verdict_on_speculation() -> None:
    lines: list[Line] = [
        ("vllm:num_requests_running", {"model_name": "m"}, 2),
        ("vllm:num_requests_waiting", {"model_name": "m"}, 1),
        ("vllm:generation_tokens_total", {"model_name": "m"}, 30),
        ("vllm:gpu_cache_usage_perc", {"model_name": "m"}, 0.25),
    ]
    facts = see(page(lines)).facts
    assert facts is not None
    assert facts.engines[0].engine == "0"
    assert facts.engines[0].kv_usage == 0.25
    assert facts.speculation_configured is None
    lines.append(("vllm:spec_decode_efficiency", {"model_name": "m"}, 0.4))
    with_spec = see(page(lines)).facts
    assert with_spec is not None
    assert with_spec.speculation_configured is True


@pytest.mark.parametrize(
    "missing", ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:generation_tokens_total"]
)
def test_a_page_without_a_required_family_is_incomplete_not_zero(missing: str) -> None:
    seen = see(page(without(synthetic("0.33.0"), missing)))
    assert seen.state is State.EMPTY
    assert missing in seen.reason


def test_one_engine_of_two_without_its_counter_makes_the_page_incomplete() -> None:
    lines = synthetic("0.33.0", engines=2)
    lines = [x for x in lines if x[0] != "vllm:generation_tokens_total" or x[1].get("engine") == "0"]
    assert see(page(lines)).state is State.EMPTY


def test_every_cut_of_a_real_page_is_noticed_until_its_last_needed_line() -> None:
    body = real("vllm-0.26.0-h200-k3-c32.prom")
    whole = only_engine(body)
    lines = body.splitlines(keepends=True)
    for kept in range(1, len(lines), 7):
        cut = see(b"".join(lines[:kept]))
        if cut.state is State.OK:
            assert cut.facts is not None
            assert cut.facts.engines[0].histograms["e2e_s"] == whole.histograms["e2e_s"]
            assert cut.facts.speculation_configured is True


def test_half_a_page_by_bytes_is_noticed() -> None:
    body = real("vllm-0.26.0-h200-off-c32.prom")
    assert see(body[: len(body) // 2]).state is State.EMPTY
