"""The metric families of the simulated page, in vLLM's order and with vLLM's words; a table, no rendering and no state.

Left out of a real page: `python_*` and `process_*` but the start time (they speak of the Python process, not the
engine), `http_*_size_bytes` and `http_request_duration_*` (no reader of this project uses them), LoRA, KV-connector and
MFU families beyond the three that are always there (their features are off).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from probes.sim.counters import Counters, Histogram
from probes.sim.engine import Engine
from probes.sim.spec import BLOCK_TOKENS, SimSpec

Rows = Iterable[tuple[Mapping[str, str], float]]
NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Family:
    """One family: `name` without `_total`; either `rows` or `histogram` is set."""

    name: str
    kind: str
    help: str
    rows: Callable[[Engine], Rows] | None = None
    histogram: Callable[[Counters], Histogram] | None = None
    since: tuple[int, int] = (0, 0)
    drafting_only: bool = False
    per_engine: bool = True
    """False: one set of rows for the server, without the `engine` label."""


def _one(name: str, help_text: str, value: Callable[[Counters], float], *, spec: bool = False) -> Family:
    return Family(name, "counter", help_text, rows=lambda e: [(NONE, value(e.counters))], drafting_only=spec)


def _gauge(name: str, help_text: str, value: Callable[[Engine], float]) -> Family:
    return Family(name, "gauge", help_text, rows=lambda e: [(NONE, value(e))])


def _split(label: str, values: Mapping[str, float]) -> Rows:
    return [({label: name}, value) for name, value in values.items()]


def _histogram(
    name: str, help_text: str, pick: Callable[[Counters], Histogram], since: tuple[int, int] = (0, 0)
) -> Family:
    return Family(name, "histogram", help_text, histogram=pick, since=since)


def _by_source(engine: Engine) -> Rows:
    cached = engine.counters.cached_prompt_tokens
    computed = engine.counters.prompt_tokens - cached
    return _split("source", {"local_compute": computed, "local_cache_hit": cached, "external_kv_transfer": 0})


def _by_tier(engine: Engine) -> Rows:
    device = engine.counters.prefix_hits
    return _split("source", {"device": device, "host": 0, "p2p": 0, "disk": 0, "external_unspecified": 0})


_WAITING_BY_REASON = (
    "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = "
    "deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals "
    "vllm:num_requests_waiting."
)
_CACHED_BY_SOURCE = (
    "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), disk, "
    "p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to "
    "vllm:prefix_cache_hits + vllm:external_prefix_cache_hits."
)
_MFU = "per GPU (for Model Flops Utilization calculations)."
_EXTERNAL = "External prefix cache {} from KV connector cross-instance cache sharing, in terms of number of {} tokens."
_MULTI_MODAL = "Multi-modal cache {}, in terms of number of {} items."

SLEEP_STATE = Family(
    "engine_sleep_state",
    "gauge",
    "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 "
    "means sleep level 1; discard_all = 1 means sleep level 2.",
)
"""Its rows come from the server, which is what sleeps."""

FAMILIES: tuple[Family, ...] = (
    _one("spec_decode_num_drafts", "Number of spec decoding drafts.", lambda c: c.drafts, spec=True),
    _one("spec_decode_num_draft_tokens", "Number of draft tokens.", lambda c: c.draft_tokens, spec=True),
    _one("spec_decode_num_accepted_tokens", "Number of accepted tokens.", lambda c: c.accepted_tokens, spec=True),
    Family(
        "spec_decode_num_accepted_tokens_per_pos",
        "counter",
        "Accepted tokens per draft position.",
        rows=lambda e: [({"position": str(i)}, n) for i, n in enumerate(e.counters.accepted_per_pos)],
        drafting_only=True,
    ),
    _one("estimated_flops_per_gpu", f"Estimated number of floating point operations {_MFU}", lambda c: 0),
    _one("estimated_read_bytes_per_gpu", f"Estimated number of bytes read from memory {_MFU}", lambda c: 0),
    _one("estimated_write_bytes_per_gpu", f"Estimated number of bytes written to memory {_MFU}", lambda c: 0),
    _gauge(
        "num_requests_running",
        "Number of requests in model execution batches.",
        lambda e: e.shown_running * e.gauge_factor,
    ),
    _gauge(
        "num_requests_waiting",
        "Number of requests waiting to be processed.",
        lambda e: e.shown_waiting * e.gauge_factor,
    ),
    Family(
        "num_requests_waiting_by_reason",
        "gauge",
        _WAITING_BY_REASON,
        rows=lambda e: _split("reason", {"capacity": e.shown_waiting * e.gauge_factor, "deferred": 0}),
    ),
    SLEEP_STATE,
    _gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", lambda e: e.kv_usage),
    _one(
        "prefix_cache_queries",
        "Prefix cache queries, in terms of number of queried tokens.",
        lambda c: c.prefix_queries,
    ),
    _one("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", lambda c: c.prefix_hits),
    _one("external_prefix_cache_queries", _EXTERNAL.format("queries", "queried"), lambda c: 0),
    _one("external_prefix_cache_hits", _EXTERNAL.format("hits", "cached"), lambda c: 0),
    _one("mm_cache_queries", _MULTI_MODAL.format("queries", "queried"), lambda c: 0),
    _one("mm_cache_hits", _MULTI_MODAL.format("hits", "cached"), lambda c: 0),
    _one("num_preemptions", "Cumulative number of preemption from the engine.", lambda c: c.preemptions),
    _one("prompt_tokens", "Number of prefill tokens processed.", lambda c: c.prompt_tokens),
    Family("prompt_tokens_by_source", "counter", "Number of prompt tokens by source.", rows=_by_source),
    _one(
        "prompt_tokens_cached", "Number of cached prompt tokens (local + external).", lambda c: c.cached_prompt_tokens
    ),
    Family("prompt_tokens_cached_by_source", "counter", _CACHED_BY_SOURCE, rows=_by_tier, since=(0, 32)),
    _one("generation_tokens", "Number of generation tokens processed.", lambda c: c.generation_tokens),
    Family(
        "request_success",
        "counter",
        "Count of successfully processed requests.",
        rows=lambda e: _split("finished_reason", e.counters.finished),
    ),
    Family(
        "admission_rejections",
        "counter",
        "Number of admission attempts rejected by a queue limit, by reason.",
        rows=lambda e: _split("reason", {"max_num_queued_reqs": 0, "max_num_queued_tokens": 0}),
        since=(0, 32),
        per_engine=False,
    ),
    _histogram("request_prompt_tokens", "Number of prefill tokens processed.", lambda c: c.request_prompt_tokens),
    _histogram(
        "request_generation_tokens", "Number of generation tokens processed.", lambda c: c.request_generation_tokens
    ),
    _histogram(
        "iteration_tokens_total", "Histogram of number of tokens per engine_step.", lambda c: c.iteration_tokens
    ),
    _histogram(
        "request_max_num_generation_tokens",
        "Histogram of maximum number of requested generation tokens.",
        lambda c: c.request_max_generation_tokens,
    ),
    _histogram("request_params_n", "Histogram of the n request parameter.", lambda c: c.params_n),
    _histogram(
        "request_params_max_tokens",
        "Histogram of the max_tokens request parameter.",
        lambda c: c.request_max_tokens,
    ),
    _histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", lambda c: c.ttft_s),
    _histogram(
        "inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", lambda c: c.inter_token_s
    ),
    _histogram(
        "request_time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        lambda c: c.time_per_output_token_s,
    ),
    _histogram("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", lambda c: c.e2e_s),
    _histogram(
        "request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", lambda c: c.queue_s
    ),
    _histogram(
        "request_inference_time_seconds",
        "Histogram of time spent in RUNNING phase for request.",
        lambda c: c.inference_s,
    ),
    _histogram(
        "request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", lambda c: c.prefill_s
    ),
    _histogram(
        "request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", lambda c: c.decode_s
    ),
    _histogram(
        "request_num_preemptions",
        "Histogram of the number of times a request was preempted.",
        lambda c: c.request_preemptions,
        since=(0, 30),
    ),
    _histogram(
        "request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        lambda c: c.request_computed_tokens,
    ),
)

_CACHE_CONFIG = {
    "_block_size_resolved": "True",
    "cache_dtype": "auto",
    "calculate_kv_scales": "False",
    "gpu_memory_utilization": "0.92",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_offloading_backend": "native",
    "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False",
    "mamba_block_size": "None",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "mamba_page_size_padded": "None",
    "mamba_ssm_cache_dtype": "auto",
    "num_cpu_blocks": "None",
    "num_gpu_blocks_override": "None",
    "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None",
    "skip_page_size_padded": "None",
    "sliding_window": "None",
    "user_specified_block_size": "False",
    "user_specified_mamba_block_size": "False",
}
KV_BYTES_PER_TOKEN = 131_072


def cache_config(spec: SimSpec) -> dict[str, str]:
    """The labels of `vllm:cache_config_info` but for `engine`."""
    tokens = spec.kv_blocks * BLOCK_TOKENS
    return _CACHE_CONFIG | {
        "block_size": str(BLOCK_TOKENS),
        "enable_prefix_caching": str(spec.prefix_caching),
        "kv_cache_max_concurrency": str(tokens / spec.max_model_len),
        "kv_cache_memory_bytes": str(tokens * KV_BYTES_PER_TOKEN),
        "kv_cache_size_tokens": str(tokens),
        "num_gpu_blocks": str(spec.kv_blocks),
    }
