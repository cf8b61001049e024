"""The frozen values of what was seen on a server, so that every module speaks of the same things in the same units.

No behaviour beyond tiny derived properties, no clock, no I/O. `None` always means "not known", never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """What one look at an endpoint found. Everything but OK carries a reason in words."""

    OK = "ok"
    STALE = "stale"
    DOWN = "down"
    EMPTY = "empty"
    NOT_AN_ENGINE = "not_an_engine"
    UNAUTHORIZED = "unauthorized"
    SLEEPING = "sleeping"

    @property
    def words(self) -> str:
        """`not an engine`: as people write it."""
        return self.value.replace("_", " ")


class EngineKind(StrEnum):
    """Which server wrote the page."""

    VLLM = "vllm"
    SGLANG = "sglang"


@dataclass(frozen=True, slots=True)
class Target:
    """Where and how to reach one model server; secrets stay out of `repr`."""

    name: str
    url: str
    """Base URL without a trailing slash and without the API path; a path prefix is kept."""
    metrics_url: str | None = None
    """Full URL of the metrics page where it is not `<url>/metrics`."""
    api_path: str = "/v1"
    model: str | None = None
    """Served model name; None asks `/v1/models`, which must then list exactly one."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent to `url`; may hold keys."""
    metrics_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent to the metrics page only."""
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    verify_tls: bool = True


@dataclass(frozen=True, slots=True)
class Histogram:
    """A cumulative Prometheus histogram as the page shows it; edges come from the page, `+Inf` is the last."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    total: float
    """`_sum`, in the metric's unit."""
    count: float


@dataclass(frozen=True, slots=True)
class EngineReading:
    """One engine (vLLM `engine` label, SGLang `dp_rank`) on one page. Counters are lifetime totals."""

    engine: str
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    """Fraction 0..1."""
    generation_tokens: float | None = None
    """Output tokens; vLLM bumps it every step, SGLang only as `realtime_tokens_total{mode="decode"}` (0.5.8+)."""
    generation_tokens_live: bool = True
    """False where the counter only moves when requests finish (SGLang before 0.5.8): useless at window edges."""
    prompt_tokens: float | None = None
    finished: float | None = None
    """Finished requests, aborted ones included."""
    preemptions: float | None = None
    prefix_queries: float | None = None
    prefix_hits: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_per_pos: tuple[float, ...] = ()
    acceptance_length_gauge: float | None = None
    """SGLang's own gauge (bonus included), stale between decode reports; only a hint."""
    spec_verify_calls: float | None = None
    """SGLang 0.5.15+, moves when requests finish."""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    """Canonical names: ttft_s, itl_s, tpot_s, e2e_s, queue_s, prompt_tokens, generation_tokens, iteration_tokens,
    computed_prompt_tokens (per request, without what the prefix cache had)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One scrape of one endpoint, normalised; also the record of a scrape that failed."""

    endpoint: str
    at_s: float
    """Unix time of the response's first byte (of the attempt's end where none came)."""
    mono_s: float
    """Monotonic clock at the same instant; only differences within one process mean anything."""
    state: State
    reason: str = ""
    engine_kind: EngineKind | None = None
    engines: tuple[EngineReading, ...] = ()
    model_names: tuple[str, ...] = ()
    speculation_configured: bool | None = None
    k: int | None = None
    """Configured draft tokens per step: positions on the page (vLLM) or the active-K gauge (SGLang)."""
    process_start_s: float | None = None
    cache_config: Mapping[str, str] = field(default_factory=dict)
    matched_names: Mapping[str, str] = field(default_factory=dict)
    """Canonical quantity -> metric name that was found, so that a name drift can be shown."""
    scrape_s: float | None = None
    """Request start to last byte."""
    page_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class EngineRates:
    """What moved on one engine between two readings; every rate is None where a counter is missing or fell."""

    engine: str
    dt_s: float
    reset: bool = False
    """A counter fell, or the pages are two processes': a restart, or another worker. All rates here are None."""
    generation_tok_s: float | None = None
    prompt_tok_s: float | None = None
    finished_per_s: float | None = None
    drafts_per_s: float | None = None
    draft_tok_s: float | None = None
    accepted_tok_s: float | None = None
    preemptions: float | None = None
    """Count over the interval."""
    prefix_hit_ratio: float | None = None
    accepted_per_pos: tuple[float, ...] = ()
    """Accepted per draft by position, over the interval; empty where nothing was drafted."""
    acceptance_length: float | None = None
    """1 + accepted / drafts; None where nothing was drafted."""
    acceptance_rate: float | None = None
    effective_k: float | None = None
    quantiles_ms: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    """(p50, p99) in ms over the interval for ttft_s, tpot_s, e2e_s, queue_s; None where buckets cannot tell."""
    in_system: float | None = None
    """Mean requests in the system, by Little's law from the latency of those that ended in the interval."""
    unanswered: float | None = None
    """Mean requests before their first token, by the same law from the times to first token of the interval."""
    latency_mean_s: float | None = None
    """Mean latency of the requests that ended in the interval."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What HTTP shows of a server, for the fingerprint; None where the server does not say."""

    version: str | None = None
    model: str | None = None
    """Served name."""
    model_root: str | None = None
    max_model_len: int | None = None
    models: tuple[str, ...] = ()
    speculative_algorithm: str | None = None
    """SGLang `/server_info` only; vLLM does not show its method."""
    k: int | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a number is void, qualified or missing: a stable code for programs and a sentence for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Latency:
    """p50 and p99 over the requests that ended in the steady window; None where there were none."""

    p50_ms: float | None
    p99_ms: float | None


LIMITED = "limited"
"""The note by which a sweep says that admission, not the ladder, set the batch; it saw every poll, others do not."""

SCALED = "counter_scaled"
"""The note by which a sweep says that the server's counter is not exact and the answers' usage counts."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement of a sweep: arm x rung x repeat. Void cells are kept, with their reasons, and never averaged."""

    arm: str
    rung: int
    """Closed-loop clients for the whole endpoint."""
    repeat: int
    order: int
    """Position in the sweep, from 0."""
    started_at_s: float
    window_s: float | None
    """Steady window between the two edge scrapes' first bytes."""
    concurrency: float | None
    """Requests in the system per engine by Little's law over the window; the x of everything."""
    output_tok_s: float | None
    """The verdict's number, all engines summed: from the server's counter (SGLang's scaled to usage), else, marked by a
    note, the client's."""
    server_tok_s: float | None
    client_tok_s: float | None
    requests: int
    """Finished well inside the whole cell."""
    errors: int
    capped_share: float | None
    """Share of finished requests that hit max_tokens."""
    ttft: Latency
    tpot: Latency
    e2e: Latency
    prompt_tokens_mean: float | None
    output_tokens_mean: float | None
    running_mean: float | None
    """Polled gauge, per engine; only a check on `concurrency`."""
    waiting_mean: float | None
    kv_usage_max: float | None
    preemptions: float | None
    drafts: float | None
    draft_tokens: float | None
    accepted_tokens: float | None
    accepted_per_pos: tuple[float, ...]
    """Accepted per draft by position."""
    prefix_hit_ratio: float | None
    client_tokens: int | None
    """Usage counts over the whole cell, idle to idle."""
    server_tokens: float | None
    """Server counter over the same span."""
    foreign_requests: float | None
    """Finished on the server during the cell and not ours."""
    loop_lag_p99_ms: float | None
    client_cpu_share: float | None
    in_flight_mean: float | None
    k: int | None
    engine_count: int | None
    void: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()
    dispatch_p99_ms: float | None = None
    """Our own delay: from the instant a client wants to send to the last byte of its request on the wire."""
    client_workers: int | None = None
    """Processes that carried the load."""
    retried: int = 0
    """Requests sent a second time because a kept connection turned out to be closed before any byte came."""
    ramp_cut_s: float | None = None
    """What was cut off the window's start because the data there were not steady yet."""
    foreign_prompt_tokens: float | None = None
    """Prompt tokens that the server read during the cell and that were not ours."""
    start: int | None = None
    """Which start of the server this cell ran on, counted over the sweep; None where no arm is restarted."""
    steps: float | None = None
    """Steps of all engines in the steady window (vLLM's histogram of tokens per step); None where no page tells."""
    output_gap_ms: float | None = None
    """vLLM: mean gap between two outputs of one request in the window, by the engine's own stamps: the length of a step
    as decoding requests see it, up to 5% short of window over steps where they prefill together."""

    @property
    def valid(self) -> bool:
        """True where nothing voids the cell."""
        return not self.void

    @property
    def limited(self) -> bool:
        """True where a note says that admission, not the ladder, set the batch."""
        return any(note.code == LIMITED for note in self.notes)

    @property
    def acceptance_length(self) -> float | None:
        """1 + accepted / drafts, None where nothing was drafted."""
        if not self.drafts or self.accepted_tokens is None:
            return None
        return 1.0 + self.accepted_tokens / self.drafts
