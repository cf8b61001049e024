"""Arithmetic of the steady window."""

from __future__ import annotations

import pytest

from probes.load.records import Ending, RequestRecord
from probes.sweep.window import Span, client_tokens_in, ended_in, in_flight_mean, in_system_mean, latency, tpot_s


def record(start_s: float, end_s: float, tokens: int | None = 10, **changes: float | None) -> RequestRecord:
    return RequestRecord(
        index=0,
        client=0,
        launched_s=start_s,
        sent_s=changes.get("sent_s", start_s),
        first_s=changes.get("first_s", start_s),
        last_s=changes.get("last_s", end_s),
        end_s=end_s,
        ending=Ending.OK,
        output_tokens=tokens,
    )


WINDOW = Span(10.0, 20.0)


def test_littles_law_counts_request_seconds_inside_the_window_only() -> None:
    records = [record(0, 30), record(5, 15), record(15, 40), record(12, 14), record(0, 10), record(20, 30)]
    assert in_system_mean(records, WINDOW) == pytest.approx((10 + 5 + 5 + 2) / 10)


def test_a_request_that_waits_in_the_client_is_in_flight_but_not_in_the_system() -> None:
    late = [record(10, 20, sent_s=15.0)]
    assert in_system_mean(late, WINDOW) == pytest.approx(0.5)
    assert in_flight_mean(late, WINDOW) == pytest.approx(1.0)
    assert in_system_mean([record(10, 20, sent_s=None)], WINDOW) == 0.0


def test_tokens_are_spread_between_first_and_last() -> None:
    assert client_tokens_in([record(5, 15)], WINDOW) == pytest.approx(5.0)
    assert client_tokens_in([record(0, 30, tokens=30)], WINDOW) == pytest.approx(10.0)
    assert client_tokens_in([record(5, 15, tokens=None)], WINDOW) == 0.0
    once = record(5, 15, tokens=1, first_s=12.0, last_s=12.0)
    assert client_tokens_in([once], WINDOW) == 1.0
    assert client_tokens_in([once], Span(13.0, 20.0)) == 0.0


def test_only_what_ended_inside_gives_latencies() -> None:
    records = [record(0, 9), record(5, 15), record(15, 20)]
    assert ended_in(records, WINDOW) == [records[1]]


def test_time_per_token_needs_two_tokens() -> None:
    assert tpot_s(record(0, 9)) == pytest.approx(1.0)
    assert tpot_s(record(0, 9, tokens=1)) is None
    assert tpot_s(record(0, 9, tokens=None)) is None


def test_percentiles_are_nearest_ranks_and_unknown_for_nothing() -> None:
    hundred = latency([n / 1000 for n in range(1, 101)])
    assert hundred.p50_ms == pytest.approx(50)
    assert hundred.p99_ms == pytest.approx(99)
    assert latency([None]).p50_ms is None
    assert latency([0.004, None]).p99_ms == pytest.approx(4)
