"""Joins what a client saw with what the server did, by request id; pure arithmetic, both on one clock."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.load.jobs import Sample


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as the server knows it, in seconds of the monotonic clock."""

    arrived_s: float
    sent_s: Sequence[float]


@dataclass(frozen=True, slots=True)
class Row:
    """One sample in numbers; None where it was not measured."""

    chunks_per_s: float
    cpu_us_per_chunk: float
    cpu_share: float
    waited_share: float
    """Of the window: ready to run and kept from the core."""
    ttft_error_p50_ms: float | None
    ttft_error_p99_ms: float | None
    lag_p50_ms: float | None
    lag_p99_ms: float | None
    errors: int


def parse_log(text: str) -> dict[str, Answer]:
    """The server's log."""
    answers = {}
    for line in text.splitlines():
        request_id, arrived, *deltas = line.split(" ")
        at_ns = int(arrived)
        answers[request_id] = Answer(at_ns / 1e9, [(at_ns + int(delta)) / 1e9 for delta in deltas])
    return answers


def make_row(sample: Sample, answers: Mapping[str, Answer]) -> Row:
    """Rates and CPU from the window, errors of stamps from the whole sample."""
    wall_s = sample.end_s - sample.start_s
    chunks = sum(
        bisect_right(answer.sent_s, sample.end_s) - bisect_left(answer.sent_s, sample.start_s)
        for answer in answers.values()
    )
    errors_ms = ttft_errors_ms(sample, answers)
    lags_ms = chunk_lags_ms(sample, answers)
    return Row(
        chunks_per_s=chunks / wall_s,
        cpu_us_per_chunk=1e6 * sample.cpu_s / max(1, chunks),
        cpu_share=sample.cpu_s / wall_s,
        waited_share=sample.waited_s / wall_s,
        ttft_error_p50_ms=quantile(errors_ms, 0.5),
        ttft_error_p99_ms=quantile(errors_ms, 0.99),
        lag_p50_ms=quantile(lags_ms, 0.5),
        lag_p99_ms=quantile(lags_ms, 0.99),
        errors=len(sample.errors),
    )


def ttft_errors_ms(sample: Sample, answers: Mapping[str, Answer]) -> list[float]:
    """The client's TTFT minus the server's (arrival of the request to sending of the first chunk)."""
    return [
        1e3 * ((first_s - sent_s) - (answers[request_id].sent_s[0] - answers[request_id].arrived_s))
        for request_id, sent_s, first_s in sample.requests
    ]


def chunk_lags_ms(sample: Sample, answers: Mapping[str, Answer]) -> list[float]:
    """The client's stamp of each chunk sent inside the window minus the instant it was sent."""
    return [
        1e3 * (seen_s - sent_s)
        for request_id, stamps in sample.chunks.items()
        for seen_s, sent_s in zip(stamps, answers[request_id].sent_s, strict=False)
        if sample.start_s <= sent_s <= sample.end_s
    ]


def quantile(values: Sequence[float], share: float) -> float | None:
    """Nearest rank; None of nothing."""
    return sorted(values)[round(share * (len(values) - 1))] if values else None


def median_row(rows: Sequence[Row]) -> Row:
    """The median of every number by itself; errors add up."""

    def middle(name: str) -> float | None:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        return median(values) if values else None

    names = [name for name in Row.__slots__ if name != "errors"]
    return Row(**{name: middle(name) for name in names}, errors=sum(row.errors for row in rows))  # type: ignore[arg-type]
