"""Read vLLM's pages (V1 engine 0.8.5 to 0.33, and what V0 shares with it); decides nothing about reachability."""

from __future__ import annotations

from collections.abc import Callable

from probes.engines.catalogue import PageFacts, Source, Table
from probes.engines.exposition import Labels, Samples
from probes.engines.gather import Series, by_engine, gather, model_names, single
from probes.values import EngineKind

SPEC_PREFIX = "vllm:spec_decode_"
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
SLEEP_STATE = "vllm:engine_sleep_state"
CACHE_CONFIG = "vllm:cache_config_info"
PROCESS_START = "process_start_time_seconds"
PYTHON_INFO = "python_info"
GENERATION_TOKENS = "vllm:generation_tokens_total"
ITERATION_TOKENS = "vllm:iteration_tokens_total"

TABLE = Table(
    kind=EngineKind.VLLM,
    prefix="vllm:",
    engine_label="engine",
    summed={
        "running": (Source("vllm:num_requests_running"),),
        "waiting": (Source("vllm:num_requests_waiting"),),
        "generation_tokens": (Source(GENERATION_TOKENS),),
        "prompt_tokens": (Source("vllm:prompt_tokens_total"),),
        "finished": (Source("vllm:request_success_total"),),
        "preemptions": (Source("vllm:num_preemptions_total"),),
        # 0.9.2 to 0.10.2 show both names.
        "prefix_queries": (
            Source("vllm:prefix_cache_queries_total"),
            Source("vllm:gpu_prefix_cache_queries_total"),
        ),
        "prefix_hits": (Source("vllm:prefix_cache_hits_total"), Source("vllm:gpu_prefix_cache_hits_total")),
        "drafts": (Source("vllm:spec_decode_num_drafts_total"),),
        "draft_tokens": (Source("vllm:spec_decode_num_draft_tokens_total"),),
        "accepted_tokens": (Source("vllm:spec_decode_num_accepted_tokens_total"),),
    },
    highest={"kv_usage": (Source("vllm:kv_cache_usage_perc"), Source("vllm:gpu_cache_usage_perc"))},
    histograms={
        "ttft_s": (Source("vllm:time_to_first_token_seconds"),),
        # The old name holds the same samples: one per step, not per token, under speculation.
        "itl_s": (Source("vllm:inter_token_latency_seconds"), Source("vllm:time_per_output_token_seconds")),
        "tpot_s": (Source("vllm:request_time_per_output_token_seconds"),),
        "e2e_s": (Source("vllm:e2e_request_latency_seconds"),),
        "queue_s": (Source("vllm:request_queue_time_seconds"),),
        "prompt_tokens": (Source("vllm:request_prompt_tokens"),),
        "generation_tokens": (Source("vllm:request_generation_tokens"),),
        "computed_prompt_tokens": (Source("vllm:request_prefill_kv_computed_tokens"),),
        # A histogram in spite of its `_total`.
        "iteration_tokens": (Source(ITERATION_TOKENS),),
    },
    required=("running", "waiting", "generation_tokens"),
    extra=frozenset({PER_POSITION, SLEEP_STATE, CACHE_CONFIG, PROCESS_START, PYTHON_INFO}),
)

ALWAYS_SHOWN = ("prompt_tokens", "finished", "preemptions", "histograms.ttft_s", "histograms.e2e_s")
"""Every V1 version shows these from its first page on, speculation or not."""


GAUGES = tuple(
    source.name
    for quantity in (TABLE.summed["running"], TABLE.summed["waiting"], TABLE.highest["kv_usage"])
    for source in quantity
)
"""What the scheduler's reports set."""


def read(samples: Samples, declares: Callable[[str], bool]) -> PageFacts:
    """What a page with `vllm:` series says; `declares` tells whether it gives a metric's type."""
    samples = _with_unset_gauges(samples, declares)
    if PROCESS_START not in samples:
        samples = _without_steps(samples)
    found = gather(TABLE, samples, _all_of)
    positions = _accepted_by_position(samples, found.engines)
    running = samples.get("vllm:num_requests_running", [])
    has_engine_label = any(labels.get("engine") for labels, _ in running)
    unfiltered = PYTHON_INFO in samples
    missing = [quantity for quantity in ALWAYS_SHOWN if quantity not in found.matched]
    lacking = [
        TABLE.summed[quantity][0].name
        for quantity in TABLE.required
        if any(quantity not in found.values[engine] for engine in found.engines)
    ]
    incomplete = ""
    if lacking:
        incomplete = f"it lacks {', '.join(lacking)}"
    elif missing and unfiltered and has_engine_label:
        incomplete = f"its end is missing ({', '.join(missing)})"
    k = max((len(accepted) for accepted in positions.values()), default=0)
    return PageFacts(
        kind=EngineKind.VLLM,
        engines=tuple(found.reading(engine, positions.get(engine, ())) for engine in found.engines),
        model_names=model_names(samples, ("vllm:num_requests_running", "vllm:generation_tokens_total")),
        speculation_configured=_configured(
            samples,
            several_engines=len(found.engines) > 1,
            has_engine_label=has_engine_label,
            looks_filtered=bool(missing) and not unfiltered and PROCESS_START not in samples,
        ),
        k=k or None,
        process_start_s=single(samples, PROCESS_START),
        cache_config=_cache_config(samples),
        matched_names=found.matched,
        incomplete=incomplete,
        sleeping=_sleeping(samples),
    )


def _configured(
    samples: Samples, *, several_engines: bool, has_engine_label: bool, looks_filtered: bool
) -> bool | None:
    """Whether speculation is on: its series are registered at start, so their absence means off, with exceptions."""
    if any(name.startswith(SPEC_PREFIX) for name in samples):
        return True
    if looks_filtered or not has_engine_label:
        # V0 (no engine label) shows its speculation series only once it has drafted.
        return None
    if several_engines and "vllm:request_time_per_output_token_seconds_count" not in samples:
        # Before 0.11 vLLM had no speculation metrics with several engines in one server.
        return None
    return False


def _with_unset_gauges(samples: Samples, declares: Callable[[str], bool]) -> Samples:
    """The same with 0 for gauges that are declared and not shown, of engines that have made no token yet.

    With several API servers (`--api-server-count`, and data parallel by default) a gauge is shown from the first report
    of its engine's scheduler on, where one API server shows 0 from its start.
    """
    unused = [labels for labels, tokens in samples.get(GENERATION_TOKENS, []) if tokens == 0]
    added: dict[str, list[tuple[Labels, float]]] = {}
    for name in GAUGES if unused else ():
        shown = samples.get(name, [])
        engines = {labels.get(TABLE.engine_label) for labels, _ in shown}
        unset = [(labels, 0.0) for labels in unused if labels.get(TABLE.engine_label) not in engines]
        if unset and declares(name):
            added[name] = [*shown, *unset]
    return {**samples, **added} if added else samples


def _without_steps(samples: Samples) -> Samples:
    """The same without the histogram of tokens per step, which counts steps with one API server alone.

    Each of several observes the part of a step that answers its own requests, and only the page of one shows the
    process. How long steps took is told by the gaps between outputs, which the engine stamps.
    """
    return {name: series for name, series in samples.items() if not name.startswith(ITERATION_TOKENS)}


def _all_of(series: Series) -> Series:
    return series


def _accepted_by_position(samples: Samples, engines: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Accepted tokens by draft position; every position exists from the start, so their number is K."""
    found: dict[str, tuple[float, ...]] = {}
    for engine, series in by_engine(TABLE, samples.get(PER_POSITION, []), engines).items():
        totals: dict[int, float] = {}
        for labels, value in series:
            position = labels.get("position", "")
            if position.isascii() and position.isdigit():
                totals[int(position)] = totals.get(int(position), 0.0) + value
        found[engine] = tuple(totals[position] for position in sorted(totals))
    return found


def _cache_config(samples: Samples) -> dict[str, str]:
    series = samples.get(CACHE_CONFIG)
    return {} if not series else {key: value for key, value in series[0][0].items() if key != "engine"}


def _sleeping(samples: Samples) -> str:
    states = [
        f"engine {labels.get('engine', '0')}: {labels.get('sleep_state')}"
        for labels, value in samples.get(SLEEP_STATE, [])
        if value == 1 and labels.get("sleep_state") != "awake"
    ]
    return ", ".join(states)
