"""Arithmetic of one steady window: who was in the system, what came out, how long it took; pure.

Little's law gives the concurrency: request-seconds inside the window over its length. Knows no server and no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probes.load.records import Ending, RequestRecord
from probes.values import Latency


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the monotonic clock, in seconds."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Never negative."""
        return max(0.0, self.end_s - self.start_s)

    def overlap_s(self, start_s: float, end_s: float) -> float:
        """Seconds of another stretch that lie in this one."""
        return max(0.0, min(self.end_s, end_s) - max(self.start_s, start_s))


def in_system_mean(records: Sequence[RequestRecord], window: Span) -> float:
    """Mean requests in the system, from bytes sent to last byte, all engines together (Little's law)."""
    return sum(window.overlap_s(r.sent_s, r.end_s) for r in records if r.sent_s is not None) / window.length_s


def in_flight_mean(records: Sequence[RequestRecord], window: Span) -> float:
    """Mean requests that the client had decided to send and not seen the end of."""
    return sum(window.overlap_s(r.launched_s, r.end_s) for r in records) / window.length_s


def client_tokens_in(records: Sequence[RequestRecord], window: Span) -> float:
    """Usage tokens inside the window, each request's spread evenly between its first and last token."""
    total = 0.0
    for record in records:
        if record.output_tokens is None or record.first_s is None or record.last_s is None:
            continue
        span_s = record.last_s - record.first_s
        if span_s > 0:
            total += record.output_tokens * window.overlap_s(record.first_s, record.last_s) / span_s
        elif window.start_s <= record.first_s < window.end_s:
            total += record.output_tokens
    return total


def ended_in(records: Sequence[RequestRecord], window: Span) -> list[RequestRecord]:
    """Requests that finished well inside the window."""
    return [r for r in records if r.ending is Ending.OK and window.start_s <= r.end_s < window.end_s]


def ttft_s(record: RequestRecord) -> float | None:
    """Bytes sent to first token."""
    return None if record.sent_s is None or record.first_s is None else record.first_s - record.sent_s


def tpot_s(record: RequestRecord) -> float | None:
    """(last - first) / (n - 1), n from usage: right under speculation, where one event carries several tokens."""
    n = record.output_tokens
    if n is None or n < 2 or record.first_s is None or record.last_s is None:
        return None
    return (record.last_s - record.first_s) / (n - 1)


def e2e_s(record: RequestRecord) -> float | None:
    """Bytes sent to last byte."""
    return None if record.sent_s is None else record.end_s - record.sent_s


def latency(values_s: Sequence[float | None]) -> Latency:
    """p50 and p99 by nearest rank."""
    known = sorted(value for value in values_s if value is not None)
    if not known:
        return Latency(None, None)
    return Latency(1e3 * known[(len(known) - 1) // 2], 1e3 * known[-(-99 * len(known) // 100) - 1])


def mean(values: Sequence[float]) -> float | None:
    """None for nothing."""
    return sum(values) / len(values) if values else None
