"""Real SGLang pages of an H200, idle after a load: what its adapter reads off gauges that stand as last reported."""

from __future__ import annotations

import re

import pytest

from probes.engines.catalogue import PageFacts
from probes.scrape.rates import rates_between
from probes.values import EngineKind, Reading, State
from tests.unit.engines.pages import only_engine, real, see

OFF = "sglang-0.5.15-h200-off-idle.prom"
EAGLE3 = "sglang-0.5.15-h200-eagle3-idle.prom"


def facts_of(body: bytes) -> PageFacts:
    seen = see(body)
    assert seen.state is State.OK, seen.reason
    assert seen.facts is not None
    return seen.facts


def value(name: str, start: bytes) -> float:
    """The one sample of a page that begins so."""
    (line,) = (line for line in real(name).splitlines() if line.startswith(start))
    return float(line.rpartition(b" ")[2])


def test_with_eagle3_the_page_tells_k_and_that_speculation_is_configured() -> None:
    facts = facts_of(real(EAGLE3))
    assert (facts.kind, facts.speculation_configured) == (EngineKind.SGLANG, True)
    assert value(EAGLE3, b"sglang:spec_num_draft_tokens{") == 4, "verified tokens, the last emitted one included"
    assert facts.k == 3


def test_without_speculation_a_decode_report_has_set_the_gauges_and_their_zeros_mean_off() -> None:
    facts = facts_of(real(OFF))
    assert value(OFF, b"sglang:decode_sum_seq_lens{") > 0
    assert (facts.speculation_configured, facts.k) == (False, None)
    (engine,) = facts.engines
    assert engine.acceptance_length_gauge is None, "its 0 is no acceptance"
    assert engine.spec_verify_calls is None


def test_the_same_zeros_before_the_first_decode_report_do_not_mean_off() -> None:
    body = re.sub(rb"(?m)^(sglang:decode_sum_seq_lens\{.*\}) .*$", rb"\1 0.0", real(OFF))
    assert facts_of(body).speculation_configured is None


@pytest.mark.parametrize(("name", "running", "kv_usage"), [(EAGLE3, 112.0, 0.31), (OFF, 0.0, 0.0)])
def test_the_running_gauge_of_an_idle_server_is_its_last_report_s(name: str, running: float, kv_usage: float) -> None:
    assert value(name, b'sglang:http_requests_active{endpoint="/v1/completions",method="POST"}') == 0.0
    engine = only_engine(real(name))
    assert (engine.running, engine.waiting, engine.kv_usage) == (running, 0.0, kv_usage)
    assert engine.finished == 240.0


@pytest.mark.parametrize(("name", "counter"), [(EAGLE3, 12138.0), (OFF, 11480.0)])
def test_with_drafts_the_live_token_counter_has_more_than_the_answers(name: str, counter: float) -> None:
    engine = only_engine(real(name))
    assert engine.generation_tokens_live
    assert engine.generation_tokens == counter
    assert engine.histograms["generation_tokens"].total == value(name, b"sglang:generation_tokens_total{") == 11480.0


def since_start(name: str) -> tuple[Reading, Reading]:
    """A page, and before it the same page with every count at 0."""
    body = real(name)
    keep = rb"(?!sglang:(?:spec_num|spec_accept|decode_sum|page_size|num_pages|max_total))"
    empty = re.sub(rb"(?m)^" + keep + rb"(sglang:\S.*) \S+$", rb"\1 0.0", body)
    first, last = (
        Reading(
            "chat", at_s, at_s, State.OK, engine_kind=facts.kind, engines=facts.engines, k=facts.k,
            matched_names=facts.matched_names,
        )
        for at_s, facts in ((1.0, facts_of(empty)), (61.0, facts_of(body)))
    )  # fmt: skip
    return first, last


def test_acceptance_is_of_the_answers_and_their_verify_calls() -> None:
    (rates,) = rates_between(*since_start(EAGLE3))
    answers, requests, calls = 11480.0, 240.0, 4318.0
    assert rates.acceptance_length == pytest.approx(1 + (answers - requests - calls) / calls)
    assert rates.acceptance_length == pytest.approx(2.603, abs=0.001), "2.81 by the live counter, 2.7 by the gauge"
    assert only_engine(real(EAGLE3)).acceptance_length_gauge == 2.7


def test_without_speculation_there_is_no_acceptance() -> None:
    (rates,) = rates_between(*since_start(OFF))
    assert rates.acceptance_length is None
