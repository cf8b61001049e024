"""Each fault of a cell has its code and its sentence, and a clean cell has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from probes.load.health import ClientHealth
from probes.load.records import Ending
from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.values import Cell, EngineKind
from tests.support.evidence import CLIENTS, RATE, evidence, with_pages


def codes(cell: Cell) -> tuple[set[str], set[str]]:
    return {reason.code for reason in cell.void}, {reason.code for reason in cell.notes}


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("speculative", [False, True])
def test_a_clean_cell_has_no_reasons_and_the_right_numbers(speculative: bool, engines: int) -> None:
    cell = assemble(evidence(speculative, engines))
    assert codes(cell) == (set(), set())
    assert cell.window_s == 12.0
    assert cell.output_tok_s == cell.server_tok_s == pytest.approx(RATE)
    assert cell.client_tok_s == pytest.approx(RATE, rel=0.02)
    assert cell.concurrency == pytest.approx(CLIENTS / engines)
    assert cell.client_tokens == cell.server_tokens == 20 * RATE
    assert (cell.foreign_requests, cell.preemptions, cell.prefix_hit_ratio) == (0, 0, 0)
    assert cell.ttft.p50_ms == pytest.approx(100)
    assert cell.e2e.p50_ms == pytest.approx(1000)
    assert cell.tpot.p50_ms == pytest.approx(900 / 99)


def test_acceptance_comes_from_the_cells_own_counters() -> None:
    cell = assemble(evidence(speculative=True))
    assert cell.acceptance_length == 2.0
    assert cell.accepted_per_pos == pytest.approx((0.5, 0.25, 0.25))
    assert cell.k == 3


def fail_one(given: Evidence, share: float) -> Evidence:
    count = round(share * len(given.records))
    failed = [replace(r, ending=Ending.ERROR, error="HTTP 500: no", output_tokens=None) for r in given.records[:count]]
    return replace(given, records=(*failed, *given.records[count:]))


VOID: dict[str, tuple[str, Callable[[], Evidence]]] = {
    "no edge": ("no_window", lambda: replace(evidence(), end=None)),
    "on arm, no drafts": ("arm_not_drafting", lambda: with_drafts(0.0)),
    "on arm, no spec series": ("arm_not_drafting", lambda: evidence(speculative=True, drafting=False)),
    "off arm, drafts": ("arm_drafting", lambda: evidence(drafting=True)),
    "foreign": ("foreign_traffic", lambda: replace(evidence(), records=evidence().records[:-1])),
    "errors": ("errors", lambda: fail_one(evidence(), 0.1)),
    "no usage": ("no_usage", lambda: with_tokens(None)),
    "usage differs": ("token_mismatch", lambda: with_tokens(97)),
    "nothing finished": ("too_few_requests", lambda: replace(evidence(), records=())),
    "few tokens": ("too_few_tokens", lambda: with_window(0.04)),
    "gauges apart": ("concurrency_mismatch", lambda: with_pages(evidence(), running=2.8)),
    "clients idle": ("concurrency_mismatch", lambda: with_pauses()),
    "prefix hits": ("prefix_hits", lambda: with_hits(0.06)),
    "lag": ("client_limit", lambda: replace(evidence(), health=ClientHealth(101.0, 0.1))),
    "cpu": ("client_limit", lambda: replace(evidence(), health=ClientHealth(1.0, 0.95))),
    "stuck in the client": ("client_limit", lambda: with_late_sends()),
    "counter fell": ("counter_reset", lambda: with_a_restart()),
    "uneven": ("engines_uneven", lambda: with_uneven()),
}


def with_drafts(count: float) -> Evidence:
    return evidence(speculative=True, drafts=count, draft_tokens=count, accepted_tokens=count)


def with_tokens(count: int | None) -> Evidence:
    given = evidence()
    return replace(given, records=tuple(replace(r, output_tokens=count) for r in given.records))


def with_window(length_s: float) -> Evidence:
    given = evidence()
    assert given.start is not None
    end = replace(given.start, mono_s=given.start.mono_s + length_s, engines=(
        replace(given.start.engines[0], generation_tokens=3 * RATE + RATE * length_s),))  # fmt: skip
    return replace(given, end=end, samples=(given.start, end))


def with_pauses() -> Evidence:
    given = evidence()
    return replace(given, records=tuple(replace(r, sent_s=r.launched_s + 0.2) for r in given.records))


def with_late_sends() -> Evidence:
    given = evidence()
    return replace(given, records=tuple(replace(r, sent_s=r.launched_s + 0.15) for r in given.records))


def with_hits(share: float) -> Evidence:
    given = evidence()
    assert given.after is not None
    engine = given.after.engines[0]
    assert engine.prefix_queries is not None
    changed = replace(engine, prefix_hits=share * engine.prefix_queries)
    return replace(given, after=replace(given.after, engines=(changed,)))


def with_a_restart() -> Evidence:
    given = evidence()
    fallen = replace(given.samples[5], engines=(replace(given.samples[5].engines[0], generation_tokens=7),))
    return replace(given, samples=(*given.samples[:5], fallen, *given.samples[6:]))


def with_uneven() -> Evidence:
    given = evidence(engines=2)
    samples = tuple(
        replace(page, engines=(replace(page.engines[0], running=2.5), replace(page.engines[1], running=1.5)))
        for page in given.samples
    )
    return replace(given, samples=samples)


@pytest.mark.parametrize("name", VOID)
def test_a_fault_voids_the_cell_under_its_code(name: str) -> None:
    code, make = VOID[name]
    cell = assemble(make())
    found = [reason for reason in cell.void if reason.code == code]
    assert found, cell.void
    assert not cell.valid
    assert found[0].text[0].islower() or found[0].text[0].isdigit()


def test_clients_in_step_may_all_be_missing_in_some_polls() -> None:
    given = evidence()
    samples = [
        page if poll % 3 else replace(page, engines=(replace(page.engines[0], running=0.0),))
        for poll, page in enumerate(given.samples)
    ]
    assert not assemble(replace(given, samples=tuple(samples))).void


def test_late_sends_do_not_count_as_reaching_the_server() -> None:
    assert codes(assemble(with_late_sends()))[0] == {"client_limit", "concurrency_mismatch"}


def with_a_stall() -> Evidence:
    given = evidence()
    assert given.end is not None
    tokens = given.end.engines[0].generation_tokens or 0.0
    end = replace(given.end, engines=(replace(given.end.engines[0], generation_tokens=tokens - RATE * 2),))
    return replace(given, end=end, samples=(*given.samples[:-2], end))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (with_pages(evidence(), kv_usage=0.96), "limited"),
        (with_pages(evidence(), running=3, waiting=1), "limited"),
        (fail_one(evidence(), 0.0125), "few_errors"),
        (replace(evidence(), was_idle=False), "not_idle"),
        (replace(evidence(), cut_off=2), "drain_cut_off"),
        (with_a_stall(), "rates_apart"),
        (replace(evidence(), health=ClientHealth(30.0, 0.1)), "latency_coarse"),
    ],
)
def test_a_remark_does_not_void(given: Evidence, code: str) -> None:
    void, notes = codes(assemble(given))
    assert code in notes
    assert not void


def test_preemptions_also_limit_the_climb() -> None:
    given = evidence()
    assert given.after is not None
    after = replace(given.after, engines=(replace(given.after.engines[0], preemptions=3),))
    cell = assemble(replace(given, after=after))
    assert codes(cell) == (set(), {"preemptions", "limited"})
    assert cell.preemptions == 3


def test_without_a_live_counter_the_clients_count_stands_in_and_says_so() -> None:
    cell = assemble(evidence(generation_tokens_live=False))
    assert codes(cell) == (set(), {"server_counter_missing"})
    assert cell.server_tok_s is None
    assert cell.output_tok_s == cell.client_tok_s == pytest.approx(RATE, rel=0.02)


def test_an_sglang_arm_is_verified_by_its_verify_calls_else_not_verified() -> None:
    silent: dict[str, Any] = {"kind": EngineKind.SGLANG, "drafts": None, "draft_tokens": None, "accepted_tokens": None}
    assert codes(assemble(evidence(True, **silent)))[1] == {"arm_not_verified"}
    assert codes(assemble(evidence(True, **silent, spec_verify_calls=7)))[0] == {"arm_not_drafting"}


def test_a_page_that_does_not_tell_leaves_the_baseline_unverified() -> None:
    given = evidence()
    samples = tuple(replace(page, speculation_configured=None) for page in given.samples)
    cell = assemble(replace(given, samples=samples, before=None, after=None))
    assert codes(cell) == (set(), {"arm_not_verified"})


def test_a_short_window_is_not_void_for_being_short() -> None:
    assert assemble(with_window(0.5)).void == ()


def test_totals_are_not_compared_where_requests_were_cut_off() -> None:
    given = evidence()
    cut = replace(given.records[-1], ending=Ending.CANCELLED, output_tokens=None)
    many = tuple(replace(r, output_tokens=97) for r in given.records[:-1])
    assert "token_mismatch" not in codes(assemble(replace(given, records=(*many, cut))))[0]
