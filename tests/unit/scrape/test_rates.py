"""Rates between two readings: exact numbers, restarts, missing data, engines that come and go."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.scrape.rates import COUNTERS, rates_between, restarted
from probes.values import EngineRates, EngineReading, Histogram, Reading, State

BEFORE = EngineReading(
    engine="0",
    generation_tokens=1000.0,
    prompt_tokens=500.0,
    finished=10.0,
    preemptions=1.0,
    prefix_queries=400.0,
    prefix_hits=100.0,
    drafts=100.0,
    draft_tokens=300.0,
    accepted_tokens=160.0,
    accepted_per_pos=(80.0, 50.0, 30.0),
)
AFTER = EngineReading(
    engine="0",
    generation_tokens=3600.0,
    prompt_tokens=1500.0,
    finished=20.0,
    preemptions=4.0,
    prefix_queries=800.0,
    prefix_hits=300.0,
    drafts=1100.0,
    draft_tokens=3300.0,
    accepted_tokens=1760.0,
    accepted_per_pos=(780.0, 550.0, 430.0),
)


def reading(at_s: float, *engines: EngineReading, start_s: float | None = None, mono_s: float | None = None) -> Reading:
    return Reading(
        "chat", 1_000_000 + at_s, at_s if mono_s is None else mono_s, State.OK, engines=engines, process_start_s=start_s
    )


def one(a: Reading, b: Reading) -> EngineRates:
    (rates,) = rates_between(a, b)
    return rates


def nothing(rates: EngineRates) -> bool:
    """True where no rate is given."""
    return rates == EngineRates(rates.engine, rates.dt_s, reset=rates.reset)


def test_golden_interval() -> None:
    rates = one(reading(10, BEFORE), reading(20, AFTER))
    assert rates.dt_s == 10.0
    assert not rates.reset
    assert rates.generation_tok_s == 260.0
    assert rates.prompt_tok_s == 100.0
    assert rates.finished_per_s == 1.0
    assert rates.preemptions == 3.0
    assert rates.prefix_hit_ratio == 0.5
    assert (rates.drafts_per_s, rates.draft_tok_s, rates.accepted_tok_s) == (100.0, 300.0, 160.0)
    assert rates.acceptance_length == pytest.approx(2.6)
    assert rates.acceptance_rate == pytest.approx(1600 / 3000)
    assert rates.effective_k == 3.0
    assert rates.accepted_per_pos == pytest.approx((0.7, 0.5, 0.4))


def test_where_nothing_was_drafted_there_is_no_acceptance() -> None:
    idle = replace(AFTER, drafts=100.0, draft_tokens=300.0, accepted_tokens=160.0, accepted_per_pos=(80.0, 50.0, 30.0))
    rates = one(reading(10, BEFORE), reading(20, idle))
    assert rates.generation_tok_s == 260.0
    assert rates.drafts_per_s == 0.0
    assert rates.acceptance_length is None
    assert rates.acceptance_rate is None
    assert rates.effective_k is None
    assert rates.accepted_per_pos == ()


def test_missing_counters_give_none_and_the_rest_stays() -> None:
    rates = one(reading(10, replace(BEFORE, drafts=None, prefix_hits=None)), reading(20, AFTER))
    assert rates.drafts_per_s is None
    assert rates.acceptance_length is None
    assert rates.prefix_hit_ratio is None
    assert rates.generation_tok_s == 260.0


def test_no_prefix_queries_is_no_hit_ratio() -> None:
    rates = one(reading(10, BEFORE), reading(20, replace(AFTER, prefix_queries=400.0, prefix_hits=100.0)))
    assert rates.prefix_hit_ratio is None


@given(
    st.sampled_from(COUNTERS[:-1]),
    st.floats(min_value=0.001, max_value=1e12),
    st.dictionaries(st.sampled_from(COUNTERS[:-1]), st.floats(min_value=0, max_value=1e6), max_size=6),
)
def test_any_counter_that_falls_voids_the_interval(fallen: str, by: float, grown: dict[str, float]) -> None:
    values: dict[str, float | None] = {name: getattr(BEFORE, name) + grown.get(name, 0.0) for name in COUNTERS[:-1]}
    values[fallen] = max(0.0, getattr(BEFORE, fallen) - by)
    a, b = reading(10, BEFORE), reading(20, replace(BEFORE, **values))  # type: ignore[arg-type]
    rates = one(a, b)
    assert rates.reset
    assert nothing(rates)
    assert restarted(a, b)


@given(
    st.lists(st.floats(min_value=0, max_value=1e9), min_size=9, max_size=9), st.floats(min_value=0.01, max_value=1e4)
)
def test_growth_is_never_negative_and_never_a_reset(growth: list[float], dt_s: float) -> None:
    grown = {name: getattr(BEFORE, name) + more for name, more in zip(COUNTERS[:-1], growth, strict=True)}
    a, b = reading(10, BEFORE), reading(10 + dt_s, replace(BEFORE, **grown))
    rates = one(a, b)
    assert not rates.reset
    assert not restarted(a, b)
    assert rates.generation_tok_s is not None
    assert rates.generation_tok_s >= 0
    assert rates.acceptance_length is None or rates.acceptance_length >= 1


def test_a_position_counter_that_falls_is_a_reset() -> None:
    assert one(reading(10, BEFORE), reading(20, replace(AFTER, accepted_per_pos=(780.0, 550.0, 29.0)))).reset


def test_a_new_process_is_a_reset_though_every_counter_grew() -> None:
    a, b = reading(10, BEFORE, start_s=100.0), reading(20, AFTER, start_s=105.0)
    assert one(a, b).reset
    assert nothing(one(a, b))
    assert restarted(a, b)


def test_engines_come_and_go() -> None:
    second = replace(AFTER, engine="1")
    rates = rates_between(reading(10, BEFORE), reading(20, AFTER, second))
    assert [item.engine for item in rates] == ["0", "1"]
    assert rates[0].generation_tok_s == 260.0
    assert nothing(rates[1])
    assert not rates[1].reset
    assert [item.engine for item in rates_between(reading(10, AFTER, second), reading(20, AFTER))] == ["0"]
    assert rates_between(reading(10, BEFORE), reading(20)) == ()


def test_one_engines_reset_leaves_the_others() -> None:
    a = reading(10, BEFORE, replace(BEFORE, engine="1"))
    b = reading(20, AFTER, replace(BEFORE, engine="1", generation_tokens=1.0))
    first, second = rates_between(a, b)
    assert first.generation_tok_s == 260.0
    assert second.reset


def test_time_is_taken_from_the_monotonic_clock_where_both_clocks_agree() -> None:
    a, b = reading(10, BEFORE, mono_s=100.0), reading(20.5, AFTER, mono_s=110.0)
    assert one(a, b).dt_s == 10.0
    assert one(a, b).generation_tok_s == 260.0


@pytest.mark.parametrize("mono_s", [3.0, 100.0])
def test_after_a_reboot_the_wall_clock_counts(mono_s: float) -> None:
    rates = one(reading(10, BEFORE, mono_s=100.0), reading(20, AFTER, mono_s=mono_s))
    assert rates.dt_s == 10.0
    assert rates.generation_tok_s == 260.0


def test_clocks_that_disagree_give_no_rate() -> None:
    rates = one(reading(10, BEFORE, mono_s=100.0), reading(3610, AFTER, mono_s=105.0))
    assert nothing(rates)
    assert not rates.reset


def test_the_same_reading_twice_gives_no_rate() -> None:
    assert nothing(one(reading(10, BEFORE), reading(10, BEFORE)))


def test_a_counter_read_from_another_metric_is_not_compared() -> None:
    a = replace(reading(10, BEFORE), matched_names={"generation_tokens": "sglang:generation_tokens_total"})
    new = replace(AFTER, generation_tokens=5.0)
    b = replace(reading(20, new), matched_names={"generation_tokens": "sglang:realtime_tokens_total"})
    rates = one(a, b)
    assert not rates.reset
    assert rates.generation_tok_s is None
    assert rates.prompt_tok_s == 100.0


def cumulative(edges: tuple[float, ...], *counts: float) -> Histogram:
    return Histogram((*edges, math.inf), counts, 0.0, counts[-1])


def quantiles(name: str, a: Histogram, b: Histogram) -> tuple[float | None, float | None] | None:
    rates = one(reading(10, replace(BEFORE, histograms={name: a})), reading(20, replace(AFTER, histograms={name: b})))
    return rates.quantiles_ms.get(name)


TTFT = (0.001, 0.1, 0.2, 0.4)


def test_quantiles_are_of_the_interval_and_interpolated_inside_the_page_s_buckets() -> None:
    a = cumulative(TTFT, 0, 90, 100, 100, 100)
    b = cumulative(TTFT, 0, 90, 140, 200, 200)
    found = quantiles("ttft_s", a, b)
    assert found is not None
    p50, p99 = found
    assert p50 == pytest.approx(200 + 200 * 10 / 60), "rank 50 of 100: 40 end below 200 ms, 10 of the next 60 below it"
    assert p99 == pytest.approx(200 + 200 * 59 / 60)


def test_a_quantile_beyond_the_last_edge_is_unknown() -> None:
    a, b = cumulative(TTFT, 0, 0, 0, 0, 0), cumulative(TTFT, 0, 60, 60, 60, 100)
    found = quantiles("ttft_s", a, b)
    assert found is not None
    assert found[0] == pytest.approx(1 + 99 * 50 / 60)
    assert found[1] is None


def test_a_coarse_lowest_bucket_does_not_tell() -> None:
    queue = (0.3, 0.5)
    found = quantiles("queue_s", cumulative(queue, 0, 0, 0), cumulative(queue, 60, 100, 100))
    assert found is not None
    assert found[0] is None, "somewhere below 300 ms"
    assert found[1] == pytest.approx(300 + 200 * 39 / 40)


def test_a_lowest_edge_of_zero_or_a_millisecond_does_tell() -> None:
    zero = (0.0, 0.001)
    assert quantiles("queue_s", cumulative(zero, 0, 0, 0), cumulative(zero, 99.5, 100, 100)) == (0.0, 0.0)
    fine = (0.001, 0.005)
    found = quantiles("ttft_s", cumulative(fine, 0, 0, 0), cumulative(fine, 100, 100, 100))
    assert found == pytest.approx((0.5, 0.99))


def test_an_interval_without_observations_has_no_quantiles() -> None:
    same = cumulative(TTFT, 0, 1, 2, 3, 3)
    assert quantiles("ttft_s", same, same) == (None, None)


def test_other_edges_are_not_compared() -> None:
    assert quantiles("ttft_s", cumulative((0.1,), 1, 1), cumulative((0.2,), 2, 2)) is None


def test_a_histogram_that_fell_is_a_reset() -> None:
    a = reading(10, replace(BEFORE, histograms={"e2e_s": cumulative(TTFT, 0, 1, 2, 3, 3)}))
    b = reading(20, replace(AFTER, histograms={"e2e_s": cumulative(TTFT, 0, 1, 1, 1, 1)}))
    assert one(a, b).reset
