"""The counters that the simulated engine moves and its page shows; sums only, no clock and no text."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

TTFT_EDGES = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
)  # fmt: skip
TOKEN_TIME_EDGES = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
)  # fmt: skip
REQUEST_TIME_EDGES = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0,
    1920.0, 7680.0,
)  # fmt: skip
ITERATION_EDGES = (1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0)
COUNT_EDGES = (1.0, 2.0, 5.0, 10.0, 20.0)
PREEMPTION_EDGES = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0)
FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")


def request_token_edges(max_model_len: int) -> tuple[float, ...]:
    """vLLM's 1-2-5 series up to the longest context."""
    edges: list[float] = []
    decade = 1
    while True:
        for step in (1, 2, 5):
            if step * decade > max_model_len:
                return tuple(edges)
            edges.append(float(step * decade))
        decade *= 10


class Histogram:
    """A Prometheus histogram with fixed edges; `counts` are per bucket, not cumulative; the last is beyond all."""

    __slots__ = ("counts", "edges", "total")

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.counts = [0] * (len(edges) + 1)
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Add `times` samples of one value."""
        self.counts[bisect_left(self.edges, value)] += times
        self.total += value * times

    @property
    def count(self) -> int:
        """Samples so far."""
        return sum(self.counts)


def _seconds() -> Histogram:
    return Histogram(REQUEST_TIME_EDGES)


def _token_times() -> Histogram:
    return Histogram(TOKEN_TIME_EDGES)


@dataclass(slots=True)
class Counters:
    """Lifetime totals of one engine, named as on vLLM's page."""

    k: int
    max_model_len: int
    drafts: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    accepted_per_pos: list[int] = field(default_factory=list)
    prefix_queries: int = 0
    prefix_hits: int = 0
    preemptions: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FINISH_REASONS, 0))
    ttft_s: Histogram = field(default_factory=lambda: Histogram(TTFT_EDGES))
    inter_token_s: Histogram = field(default_factory=_token_times)
    """One sample per request and step, as vLLM counts it: the step time, not the time per token."""
    time_per_output_token_s: Histogram = field(default_factory=_token_times)
    e2e_s: Histogram = field(default_factory=_seconds)
    queue_s: Histogram = field(default_factory=_seconds)
    inference_s: Histogram = field(default_factory=_seconds)
    prefill_s: Histogram = field(default_factory=_seconds)
    decode_s: Histogram = field(default_factory=_seconds)
    iteration_tokens: Histogram = field(default_factory=lambda: Histogram(ITERATION_EDGES))
    params_n: Histogram = field(default_factory=lambda: Histogram(COUNT_EDGES))
    request_preemptions: Histogram = field(default_factory=lambda: Histogram(PREEMPTION_EDGES))
    request_prompt_tokens: Histogram = field(init=False)
    request_generation_tokens: Histogram = field(init=False)
    request_max_generation_tokens: Histogram = field(init=False)
    request_max_tokens: Histogram = field(init=False)
    request_computed_tokens: Histogram = field(init=False)

    def __post_init__(self) -> None:
        edges = request_token_edges(self.max_model_len)
        self.accepted_per_pos = [0] * self.k
        self.request_prompt_tokens = Histogram(edges)
        self.request_generation_tokens = Histogram(edges)
        self.request_max_generation_tokens = Histogram(edges)
        self.request_max_tokens = Histogram(edges)
        self.request_computed_tokens = Histogram(edges)
