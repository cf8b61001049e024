"""Read SGLang's pages (0.4.6 to 0.5.23, `--enable-metrics`); decides nothing about reachability.

Scheduler series carry ranks, and copies of one engine's numbers may come from several of them: one rank's are taken.
"""

from __future__ import annotations

from probes.engines.catalogue import PageFacts, Source, Table
from probes.engines.exposition import Labels, Samples
from probes.engines.gather import Gathered, Series, gather, model_names
from probes.values import EngineKind, EngineReading

REALTIME = "sglang:realtime_tokens_total"
CACHE_CONFIG = "sglang:cache_config_info"
DECODED = "sglang:decode_sum_seq_lens"
"""0.5.8+; above 0 from an engine's first decode report on, and kept while it is idle: no other report sets it."""
GEOMETRY = {
    "block_size": ("sglang:page_size", "page_size"),
    "num_gpu_blocks": ("sglang:num_pages", "num_pages"),
    "max_total_num_tokens": ("sglang:max_total_num_tokens", "max_total_num_tokens"),
}
"""Cache facts in vLLM's words -> the gauge that shows them, and the label that did in 0.5.10."""

TABLE = Table(
    kind=EngineKind.SGLANG,
    prefix="sglang:",
    engine_label="dp_rank",
    summed={
        "running": (Source("sglang:num_running_reqs"),),
        # Queues beside the main one hold other requests: waiting for a grammar, or (disaggregated) for the KV's way.
        "waiting": (
            Source(
                "sglang:num_queue_reqs",
                plus=(
                    "sglang:num_grammar_queue_reqs",
                    "sglang:num_prefill_bootstrap_queue_reqs",
                    "sglang:num_prefill_inflight_queue_reqs",
                    "sglang:num_decode_prealloc_queue_reqs",
                    "sglang:num_decode_transfer_queue_reqs",
                ),
            ),
        ),
        # 0.5.8 brought the counter that moves with every iteration; the others move when requests finish.
        "generation_tokens": (
            Source(REALTIME, "mode", ("decode",)),
            Source("sglang:generation_tokens_total", live=False),
        ),
        "prompt_tokens": (
            Source(REALTIME, "mode", ("prefill_compute", "prefill_cache")),
            Source("sglang:prompt_tokens_total", live=False),
        ),
        "finished": (Source("sglang:num_requests_total"),),
        "preemptions": (Source("sglang:num_retracted_requests_total"),),
        "prefix_queries": (
            Source(REALTIME, "mode", ("prefill_compute", "prefill_cache")),
            Source("sglang:prompt_tokens_total", live=False),
        ),
        "prefix_hits": (
            Source(REALTIME, "mode", ("prefill_cache",)),
            Source("sglang:cached_tokens_total", live=False),
        ),
        "spec_verify_calls": (Source("sglang:spec_verify_calls_total"),),
    },
    highest={
        "kv_usage": (Source("sglang:token_usage"),),
        "acceptance_length_gauge": (Source("sglang:spec_accept_length"),),
        "verified_tokens": (Source("sglang:spec_num_draft_tokens"),),
        "decoded": (Source(DECODED),),
    },
    histograms={
        "ttft_s": (Source("sglang:time_to_first_token_seconds"),),
        "itl_s": (Source("sglang:inter_token_latency_seconds"),),
        "tpot_s": (Source("sglang:request_time_per_output_token_seconds"),),
        "e2e_s": (Source("sglang:e2e_request_latency_seconds"),),
        "queue_s": (Source("sglang:queue_time_seconds"), Source("sglang:queue_time_s")),
        "prompt_tokens": (Source("sglang:prompt_tokens_histogram"),),
        "generation_tokens": (Source("sglang:generation_tokens_histogram"),),
    },
    required=("running", "waiting"),
    extra=frozenset({CACHE_CONFIG, *(gauge for gauge, _ in GEOMETRY.values())}),
)


def canonical(name: str) -> str:
    """The `sglang:` spelling of a name; some relays and `/v1/loads` write `sglang_`."""
    return f"sglang:{name[7:]}" if name.startswith("sglang_") else name


def read(samples: Samples) -> PageFacts:
    """What a page with `sglang:` series says."""
    found = gather(TABLE, samples, _one_copy)
    lacking = [
        TABLE.summed[quantity][0].name
        for quantity in TABLE.required
        if any(quantity not in found.values[engine] for engine in found.engines)
    ]
    engines = tuple(found.reading(engine) for engine in found.engines)
    return PageFacts(
        kind=EngineKind.SGLANG,
        engines=engines,
        model_names=model_names(samples, ("sglang:num_running_reqs", "sglang:num_requests_total")),
        speculation_configured=_configured(found, engines),
        k=_k(found),
        process_start_s=None,
        cache_config=_cache_config(samples),
        matched_names=found.matched,
        incomplete=f"it lacks {', '.join(lacking)}; SGLang shows them from its first batch on" if lacking else "",
    )


def drafted(verified: float) -> int:
    """K, the tokens drafted for one step of one request, of what SGLang calls its number of draft tokens.

    That counts every token of the verified tree, and the root of the tree is the last token that was emitted. Its own
    acceptance rate divides by one less too. With top-k above 1 these are the nodes of the tree and its depth is less
    (`spec_num_steps`): what a step costs goes by the nodes.
    """
    return int(verified) - 1


def accepted(tokens: float, answers: float, calls: float) -> float:
    """Accepted tokens of answers that have `tokens` and took `calls` verify calls between them.

    A call makes one token more than it accepts, and an answer's first token comes from its prompt. The call that ends
    an answer counts for what the answer took of it.
    """
    return max(0.0, tokens - answers - calls)


def _k(found: Gathered) -> int | None:
    verified = max((found.values[engine].get("verified_tokens") or 0.0 for engine in found.engines), default=0.0)
    return drafted(verified) if verified else None


def _configured(found: Gathered, engines: tuple[EngineReading, ...]) -> bool | None:
    """Whether speculation is on. Its gauges exist with 0 when it is off, and until the first decode report.

    That report comes with the decode step number `--decode-log-interval` (40); those of prefills before it set other
    gauges and publish these with the 0 they began with. Engines of one server are alike, so one report tells.
    """
    verified = [found.values[engine.engine].get("verified_tokens") for engine in engines]
    if any(verified) or any(engine.acceptance_length_gauge or engine.spec_verify_calls for engine in engines):
        return True
    if any(found.values[engine.engine].get("decoded") for engine in engines) and all(one == 0 for one in verified):
        return False
    return None


def _one_copy(series: Series) -> Series:
    """One rank's series, and of priority scheduling's the total (`priority=""`) instead of its parts.

    Series of the HTTP side carry no rank; their priorities are parts without a total, so all of them count.
    """
    ranked = [item for item in series if "tp_rank" in item[0] or "pp_rank" in item[0]]
    if not ranked:
        return series
    lowest = min(_rank(labels) for labels, _ in ranked)
    ranked = [item for item in ranked if _rank(item[0]) == lowest]
    totals = [item for item in ranked if not item[0].get("priority")]
    return totals or ranked


def _rank(labels: Labels) -> tuple[int, ...]:
    ranks = (labels.get(name, "0") for name in ("pp_rank", "tp_rank", "moe_ep_rank"))
    return tuple(int(rank) if rank.isascii() and rank.isdigit() else 0 for rank in ranks)


def _cache_config(samples: Samples) -> dict[str, str]:
    info = samples.get(CACHE_CONFIG)
    found: dict[str, str] = {}
    for key, (gauge, label) in GEOMETRY.items():
        series = samples.get(gauge)
        if series and series[0][1] == series[0][1]:
            found[key] = f"{series[0][1]:.0f}"
        elif info and label in info[0][0]:
            found[key] = info[0][0][label]
    return found
