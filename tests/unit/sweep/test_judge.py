"""Each fault of a cell has its code and its sentence, and a clean cell has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from probes.answer_values import CurvePoint
from probes.load.health import UNKNOWN_HEALTH, ClientHealth
from probes.load.records import Ending
from probes.load.shape import LengthShape
from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.sweep.plan import LoadSpec
from probes.sweep.sameness import Seen
from probes.values import Cell, Identity
from tests.support.evidence import CLIENTS, RATE, TOKENS, evidence, with_pages, with_prompts, with_tokens

WHO = Identity(version="0.33.0", model="tiny", model_root="org/tiny", max_model_len=4096)


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
    "foreign prompt": ("foreign_traffic", lambda: with_prompts(TOKENS - 2)),
    "other version": ("server_changed", lambda: with_identity(version="0.33.1")),
    "other model": ("server_changed", lambda: with_identity(model_root="org/other")),
    "other length": ("server_changed", lambda: with_identity(max_model_len=8192)),
    "other K": ("server_changed", lambda: replace(evidence(speculative=True), seen=Seen(WHO, k=2), identity=WHO)),
    "errors": ("errors", lambda: fail_one(evidence(), 0.1)),
    "no usage": ("no_usage", lambda: with_tokens(None)),
    "usage differs": ("token_mismatch", lambda: with_tokens(97)),
    "nothing finished": ("too_few_requests", lambda: replace(evidence(), records=())),
    "few tokens": ("too_few_tokens", lambda: with_window(0.04)),
    "gauges apart": ("concurrency_mismatch", lambda: with_pages(evidence(), running=2.8)),
    "clients idle": ("concurrency_mismatch", lambda: with_pauses()),
    "prefix hits": ("prefix_hits", lambda: with_hits(0.06)),
    "too few prefix hits": ("prefix_hits", lambda: aiming_at(0.3, with_hits(0.24))),
    "no prefix cache": ("prefix_hits", lambda: aiming_at(0.3, evidence(prefix_queries=None, prefix_hits=None))),
    "lag": ("client_limit", lambda: replace(evidence(), health=ClientHealth(101.0, 0.1))),
    "cpu": ("client_limit", lambda: replace(evidence(), health=ClientHealth(1.0, 0.95))),
    "dispatch": ("client_limit", lambda: replace(evidence(), health=ClientHealth(1.0, 0.1, 101.0))),
    "health unknown": ("client_limit", lambda: replace(evidence(), health=UNKNOWN_HEALTH)),
    "stuck in the client": ("client_limit", lambda: with_late_sends()),
    "clients not filled": ("client_limit", lambda: with_late_launches()),
    "no token for a while": ("stalled", lambda: with_rates(*[RATE] * 5, 0, 0, 0, *[RATE] * 4)),
    "ever slower": ("not_steady", lambda: with_rates(*(RATE * (1 - 0.02 * second) for second in range(12)))),
    "counter fell": ("counter_reset", lambda: with_a_restart()),
    "uneven": ("engines_uneven", lambda: with_uneven()),
}


def with_drafts(count: float) -> Evidence:
    return evidence(speculative=True, drafts=count, draft_tokens=count, accepted_tokens=count)


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


def with_identity(**changes: Any) -> Evidence:
    return replace(evidence(), seen=Seen(WHO), identity=replace(WHO, **changes))


def aiming_at(ratio: float, given: Evidence) -> Evidence:
    return replace(given, load=LoadSpec(prefix_hit_target=ratio))


def with_late_launches() -> Evidence:
    """Clients that did not even try to send for a while."""
    given = evidence()
    late = tuple(replace(r, launched_s=r.launched_s + 0.2, sent_s=r.launched_s + 0.2) for r in given.records)
    return replace(given, records=late)


def with_rates(*tok_s: float) -> Evidence:
    """The window's seconds put out so many tokens each."""
    given = evidence()
    counts = list(accumulate(tok_s, initial=given.samples[0].engines[0].generation_tokens or 0.0))
    samples = tuple(
        replace(page, engines=(replace(page.engines[0], generation_tokens=count),))
        for page, count in zip(given.samples, counts, strict=True)
    )
    return replace(given, start=samples[0], end=samples[-1], samples=samples, after=None)


def with_hits(share: float, speculative: bool = False) -> Evidence:
    given = evidence(speculative)
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


def with_finish(reason: str, share: float) -> Evidence:
    given = evidence()
    count = round(share * len(given.records))
    return replace(
        given, records=tuple(replace(r, finish_reason=reason if r.index < count else "stop") for r in given.records)
    )


def with_command(restart: str) -> Evidence:
    given = evidence()
    return replace(given, arm=replace(given.arm, restart=restart))


def with_start(seen_s: float, now_s: float) -> Evidence:
    given = evidence()
    pages = [replace(page, process_start_s=now_s) for page in given.readings]
    return replace(
        given,
        seen=Seen(WHO, started_at_s=seen_s),
        before=pages[0],
        samples=tuple(pages[1:-1]),
        start=pages[1],
        end=pages[-2],
        after=pages[-1],
    )


def with_history(tok_s: float) -> Evidence:
    """An earlier sweep that had this at the cell's concurrency, between two of its rungs."""
    points = tuple(CurvePoint("off", CLIENTS * x, tok_s * x, repeat) for x in (0.5, 2.0) for repeat in range(2))
    return replace(evidence(), history=points)


@pytest.mark.parametrize(
    "given",
    [
        with_pages(evidence(), kv_usage=0.89),
        with_finish("length", 0.5),
        replace(with_finish("length", 0.9), load=LoadSpec(shape=LengthShape((10.0,), (20.0,), 500))),
        with_history(RATE / 0.96),
        replace(
            evidence(engines=2),
            history=tuple(
                replace(point, concurrency=point.concurrency / 2, output_tok_s=point.output_tok_s / 2)
                for point in with_history(RATE / 0.96).history
            ),
        ),
        replace(with_history(RATE / 0.92), history=with_history(RATE / 0.92).history[2:]),
        with_command("serve --speculative-config '{}'"),
        aiming_at(0.3, with_hits(0.27)),
        with_prompts(TOKENS - 1),
        with_rates(*[RATE] * 5, 0, 0, *[RATE] * 5),
        with_identity(),
        with_start(1000.0, 1000.2),
        with_identity(version=None, model_root=None, max_model_len=None),
        with_rates(*(RATE * (1 + 0.1 * (-1) ** second) for second in range(12))),
        with_rates(*(RATE * (1 - 0.003 * second) for second in range(12))),
    ],
)
def test_what_is_within_its_limit_is_not_spoken_of(given: Evidence) -> None:
    found = codes(assemble(given))
    assert (found[0], found[1] - {"not_idle", "rates_apart"}) == (set(), set())


def test_a_retried_request_may_have_reached_the_server_twice() -> None:
    given = evidence()
    fewer = (*given.records[:-2], replace(given.records[-2], retried=True))
    cell = assemble(replace(given, records=fewer))
    assert (cell.foreign_requests, cell.foreign_prompt_tokens, cell.retried) == (0, 0, 1)


def with_few_requests(share: float, target: float) -> Evidence:
    """One client on a slow server: few requests, the first of which cannot find what it shares with the others."""
    given = with_hits(share)
    return aiming_at(target, replace(given, records=tuple(replace(r, prompt_tokens=1600) for r in given.records[:5])))


def test_the_first_request_of_a_cell_cannot_hit() -> None:
    assert "prefix_hits" not in codes(assemble(with_few_requests(0.4, 0.5)))[0]
    assert "prefix_hits" in codes(assemble(with_few_requests(0.3, 0.5)))[0]
    assert "prefix_hits" in codes(assemble(aiming_at(0.5, with_hits(0.4))))[0]


def test_a_chat_template_stands_before_every_salt() -> None:
    """32 of 400 prompt tokens hit on every request; more than a template holds is not its."""
    plain = with_hits(0.08)
    plain = replace(plain, records=tuple(replace(r, prompt_tokens=400) for r in plain.records[:20]))
    assert codes(assemble(plain))[0] >= {"prefix_hits"}
    assert "prefix_hits" not in codes(assemble(replace(plain, chat=True)))[0]
    assert "prefix_hits" not in codes(assemble(aiming_at(0.05, replace(plain, chat=True))))[0]
    much = replace(with_hits(0.3), records=plain.records, chat=True)
    assert "prefix_hits" in codes(assemble(much))[0]


def test_a_drafter_has_the_last_shared_block_computed_again() -> None:
    """16 of 100 prompt tokens."""
    off, on = aiming_at(0.5, with_hits(0.3)), aiming_at(0.5, with_hits(0.3, speculative=True))
    assert "prefix_hits" in codes(assemble(off))[0]
    assert codes(assemble(on))[0] == set()
    assert "prefix_hits" in codes(assemble(aiming_at(0.5, with_hits(0.25, speculative=True))))[0]


def test_a_cut_ramp_leaves_the_rest_to_count() -> None:
    cell = assemble(with_rates(*[0.7 * RATE] * 3, *[RATE] * 9))
    assert (cell.ramp_cut_s, cell.window_s) == (3.0, 9.0)
    assert cell.server_tok_s == pytest.approx(RATE)


def with_a_stall(seconds: float = 2.0) -> Evidence:
    given = evidence()
    assert given.end is not None
    tokens = given.end.engines[0].generation_tokens or 0.0
    end = replace(given.end, engines=(replace(given.end.engines[0], generation_tokens=tokens - RATE * seconds),))
    return replace(given, end=end, samples=(*given.samples[:-2], end))


@pytest.mark.parametrize(("seconds", "voided"), [(4.0, False), (7.5, True)])
def test_two_counts_of_one_window_a_factor_of_two_apart_are_no_measurement(seconds: float, voided: bool) -> None:
    void, notes = codes(assemble(with_a_stall(seconds)))
    assert ("rates_contradict" in void) is voided
    assert "rates_apart" in notes


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (with_pages(evidence(), kv_usage=0.91), "limited"),
        (with_pages(evidence(), kv_usage=0.91), "kv_limit"),
        (with_pages(evidence(), running=3, waiting=1), "limited"),
        (with_pages(evidence(), running=3, waiting=1), "waiting"),
        (with_rates(*[0.7 * RATE] * 3, *[RATE] * 9), "ramp_cut"),
        (with_rates(*(RATE * (1 - 0.01 * second) for second in range(12))), "drifting"),
        (with_window(0.9), "short_window"),
        (fail_one(evidence(), 0.0125), "few_errors"),
        (replace(evidence(), was_idle=False), "not_idle"),
        (replace(evidence(), cut_off=2), "drain_cut_off"),
        (with_a_stall(), "rates_apart"),
        (replace(evidence(), health=ClientHealth(30.0, 0.1)), "latency_coarse"),
        (replace(evidence(), health=ClientHealth(1.0, 0.1, 30.0)), "latency_coarse"),
        (with_finish("length", 0.6), "capped"),
        (with_command("serve --x '{\"disable_by_batch_size\": 8}'"), "dead_flag"),
        (with_history(RATE / 0.92), "baseline_degraded"),
        (with_start(1000.0, 1060.0), "restarted_before"),
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


def test_a_preempted_prompt_that_is_counted_again_is_nobody_elses() -> None:
    given = with_prompts(TOKENS - 2)
    assert given.after is not None
    after = replace(given.after, engines=(replace(given.after.engines[0], preemptions=3),))
    assert codes(assemble(replace(given, after=after)))[0] == set()


def test_without_a_live_counter_the_clients_count_stands_in_and_says_so() -> None:
    cell = assemble(evidence(generation_tokens_live=False))
    assert codes(cell) == (set(), {"server_counter_missing"})
    assert cell.server_tok_s is None
    assert cell.output_tok_s == cell.client_tok_s == pytest.approx(RATE, rel=0.02)


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


def test_an_arm_that_changes_its_draft_length_may_draft_nothing_but_must_speculate() -> None:
    given = with_drafts(0.0)
    dynamic = replace(given, arm=replace(given.arm, dynamic=True))
    assert codes(assemble(dynamic)) == (set(), {"no_draft_here"})
    switched_off = evidence(speculative=True, drafting=False)
    switched_off = replace(switched_off, arm=replace(switched_off.arm, dynamic=True))
    assert "arm_not_drafting" in codes(assemble(switched_off))[0]
