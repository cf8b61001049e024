"""A server that was replaced by one whose counters stand higher: told by what one process cannot do to its own page."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from probes.scrape.rates import rates_between, restarted
from probes.values import EngineRates, Reading
from tests.support.records import a_failed_reading, a_reading, an_engine
from tests.support.replacements import REPLACED, SAME, Fields
from tests.unit.engines.pages import reading, real

K3, OFF = real("vllm-0.26.0-h200-k3-c161.prom"), real("vllm-0.26.0-h200-4api-off-c161.prom")


def test_a_switch_to_a_server_with_higher_counters_is_no_rate() -> None:
    a, b = reading(OFF, 10.0), reading(K3, 12.0)
    (old,), (new,) = a.engines, b.engines
    assert (new.generation_tokens or 0.0) - (old.generation_tokens or 0.0) > 1_600_000
    assert all(new.histograms[name].count >= h.count for name, h in old.histograms.items() if name in new.histograms)
    assert rates_between(a, b) == (EngineRates("0", 2.0, reset=True),)
    assert restarted(a, b)
    assert restarted(reading(K3, 10.0), reading(OFF, 12.0))


def test_unlike_replicas_behind_one_address_give_no_rate_at_all() -> None:
    pages = [reading(body, 2.0 * number) for number, body in enumerate((OFF, K3) * 3)]
    assert all(rate.reset for a, b in pairwise(pages) for rate in rates_between(a, b))


def test_sglang_without_the_verify_calls_that_it_had_is_another_server() -> None:
    """It shows them from the first request that drafted on, so that they may come and never go."""
    drafting, off = (
        reading(real("sglang-0.5.15-h200-eagle3-idle.prom"), 10.0),
        reading(real("sglang-0.5.15-h200-off-idle.prom"), 12.0),
    )
    (engine,) = off.engines
    later = replace(
        off, engines=(replace(engine, generation_tokens=1e6, prompt_tokens=1e6, finished=1e6, histograms={}),)
    )
    assert restarted(drafting, later)
    (engine,) = drafting.engines
    fresh = replace(drafting, engines=(replace(engine, spec_verify_calls=None),))
    assert not restarted(fresh, replace(drafting, at_s=12.0, mono_s=12.0))


NGRAM = real("vllm-0.32.0-cpu-2api-ngram-unused.prom")


@pytest.mark.parametrize(
    "bodies",
    [
        [real(f"vllm-0.32.0-cpu-2api-off-{name}.prom") for name in ("unused", "c8", "c8-later")],
        [real("vllm-0.26.0-h200-4api-off-idle.prom"), OFF],
        [NGRAM, NGRAM.replace(b'tokens_total{engine="0",model_name="tiny"} 0.0', b'tokens_total{engine="0"} 9.0')],
    ],
    ids=["two", "four", "two that draft"],
)
def test_several_api_servers_show_the_same_server_from_their_first_page_on(bodies: list[bytes]) -> None:
    pages = [reading(body, 6.0 * number) for number, body in enumerate(bodies)]
    assert not any(restarted(a, b) for a, b in pairwise(pages))
    tokens = [reading.engines[0].generation_tokens or 0.0 for reading in pages]
    assert tokens == sorted(set(tokens))


def pair(fields: tuple[Fields, Fields]) -> tuple[Reading, Reading]:
    before, after = fields
    return a_reading(at_s=10.0, **before), a_reading(at_s=20.0, **{"engines": (an_engine(tokens=1100.0),), **after})


@pytest.mark.parametrize("fields", REPLACED.values(), ids=REPLACED.keys())
def test_what_one_process_cannot_do(fields: tuple[Fields, Fields]) -> None:
    a, b = pair(fields)
    assert restarted(a, b)
    assert rates_between(a, b) == (EngineRates("0", 10.0, reset=True),)


@pytest.mark.parametrize("fields", SAME.values(), ids=SAME.keys())
def test_what_one_process_can_do(fields: tuple[Fields, Fields]) -> None:
    a, b = pair(fields)
    assert not restarted(a, b)
    assert rates_between(a, b)[0].generation_tok_s == 100.0


def test_a_scrape_that_failed_is_no_other_server() -> None:
    assert not restarted(a_reading(at_s=10.0), a_failed_reading(at_s=20.0))
    assert not restarted(a_failed_reading(at_s=10.0), a_reading(at_s=20.0))
