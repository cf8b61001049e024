"""What SGLang counts otherwise than vLLM, and that no clean cell is void for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probes.crossover.cells import draft_length
from probes.load.records import Ending
from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.sweep.sameness import Seen
from probes.values import Cell, EngineKind, Identity, Reading
from tests.support.evidence import RATE, TOKENS, evidence, with_pages, with_prompts, with_tokens

WHO = Identity(version="0.33.0", model="tiny", model_root="org/tiny", max_model_len=4096)


def codes(cell: Cell) -> tuple[set[str], set[str]]:
    return {reason.code for reason in cell.void}, {reason.code for reason in cell.notes}


def on_sglang(given: Evidence, page_tokens: int | None = None, k: int | None = None) -> Evidence:
    """The same pages as SGLang would show them."""
    config = {} if page_tokens is None else {"block_size": str(page_tokens)}
    pages = [replace(page, engine_kind=EngineKind.SGLANG, cache_config=config, k=k) for page in given.readings]
    return replace(given, before=pages[0], samples=tuple(pages[1:-1]), start=pages[1], end=pages[-2], after=pages[-1])


@pytest.mark.parametrize("missing", [0, 2])
def test_sglang_counts_requests_for_all_its_engines_together(missing: int) -> None:
    given = on_sglang(evidence(engines=2))

    def together(page: Reading) -> Reading:
        first, second = page.engines
        whole = (first.finished or 0.0) + (second.finished or 0.0)
        return replace(page, engines=(replace(first, finished=whole), replace(second, finished=None)))

    assert given.before is not None
    assert given.after is not None
    given = replace(given, before=together(given.before), after=together(given.after))
    cell = assemble(replace(given, records=given.records[missing:]))
    assert cell.foreign_requests == missing


@pytest.mark.parametrize(
    ("extra", "page_tokens", "voided"), [(50, 64, False), (50, None, False), (50, 16, True), (70, 64, True)]
)
def test_sglang_counts_whole_pages_of_a_prompt(extra: int, page_tokens: int | None, voided: bool) -> None:
    given = on_sglang(with_prompts(TOKENS - extra), page_tokens)
    assert ("foreign_traffic" in codes(assemble(given))[0]) == voided


@pytest.mark.parametrize(
    ("usage", "k", "voided"),
    [(97, 3, False), (97, None, True), (101, None, False), (94, 3, False), (93, 3, True), (99, 0, False)],
)
def test_sglang_counts_an_answers_ends_otherwise(usage: int, k: int | None, voided: bool) -> None:
    given = on_sglang(with_tokens(usage), k=k)
    few = tuple(replace(record, output_tokens=usage) for record in given.records)
    assert ("token_mismatch" in codes(assemble(replace(given, records=few)))[0]) == voided


def test_the_k_of_adaptive_speculation_is_no_other_server() -> None:
    seen = Seen(replace(WHO, k=4), k=4)
    given = replace(on_sglang(evidence(speculative=True), k=8), seen=seen, identity=replace(WHO, k=8))
    assert codes(assemble(given))[0] == set()


def test_an_sglang_arm_is_verified_by_its_verify_calls_else_not_verified() -> None:
    silent: dict[str, Any] = {"kind": EngineKind.SGLANG, "drafts": None, "draft_tokens": None, "accepted_tokens": None}
    assert codes(assemble(evidence(True, **silent)))[1] == {"arm_not_verified"}
    assert codes(assemble(evidence(True, **silent, spec_verify_calls=7)))[0] == {"arm_not_drafting"}
    nobody = replace(evidence(True, **silent, spec_verify_calls=7, finished=80.0), records=())
    assert "arm_not_verified" in codes(assemble(nobody))[1], "calls are added when a request finishes"


@pytest.mark.parametrize(("running", "voided"), [(2.8, False), (1.0, False), (5.2, True)])
def test_a_gauge_set_by_prefills_without_the_requests_they_let_in_is_no_fault(running: float, voided: bool) -> None:
    given = on_sglang(with_pages(evidence(), running=running))
    assert ("concurrency_mismatch" in codes(assemble(given))[0]) == voided


def verified(given: Evidence, *calls: float | None) -> Evidence:
    """The same pages with these verify calls, which the front end counts: the first until the last page."""

    def counted(page: Reading, count: float | None) -> Reading:
        first, *rest = page.engines
        return replace(page, engines=(replace(first, spec_verify_calls=count), *rest))

    assert given.before is not None
    assert given.after is not None
    between = tuple(counted(page, calls[0]) for page in given.samples)
    return replace(given, before=counted(given.before, calls[0]), samples=between, after=counted(given.after, calls[1]))


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize(
    ("calls", "void", "notes"),
    [
        ((None, 800.0), set(), set()),
        ((40.0, 840.0), set(), set()),
        ((40.0, 40.0), {"arm_not_drafting"}, set()),
        ((None, None), set(), {"arm_not_verified"}),
    ],
)
def test_verify_calls_tell_that_an_arm_drafts_from_its_first_finished_request_on(
    engines: int, calls: tuple[float | None, float | None], void: set[str], notes: set[str]
) -> None:
    plain: dict[str, Any] = {"drafts": None, "draft_tokens": None, "accepted_tokens": None, "accepted_per_pos": ()}
    given = verified(on_sglang(evidence(True, engines=engines, **plain), k=3), *calls)
    assert codes(assemble(given)) == (void, notes)


def test_an_arm_that_shows_no_speculation_once_it_has_decoded_does_not_draft() -> None:
    """Before its first steps the page says nothing of it."""
    plain: dict[str, Any] = {"drafts": None, "draft_tokens": None, "accepted_tokens": None, "accepted_per_pos": ()}
    given = verified(on_sglang(evidence(True, **plain), k=None), None, None)
    off = [replace(reading, speculation_configured=False) for reading in given.samples]
    assert given.before is not None
    assert given.after is not None
    given = replace(
        given,
        before=replace(given.before, speculation_configured=None),
        samples=tuple(off),
        after=replace(given.after, speculation_configured=False),
    )
    assert codes(assemble(given))[0] == {"arm_not_drafting"}


def drafting(calls: float, *, k: int | None = 3, usage: int = TOKENS, ending: Ending = Ending.OK) -> Cell:
    """80 answers of `usage` tokens by these verify calls, of 100 by the counter; the last one ends in another way."""
    plain: dict[str, Any] = {"drafts": None, "draft_tokens": None, "accepted_tokens": None, "accepted_per_pos": ()}
    given = verified(on_sglang(evidence(True, **plain), k=k), None, calls)
    *others, last = (replace(record, output_tokens=usage) for record in given.records)
    return assemble(replace(given, records=(*others, replace(last, ending=ending))))


def test_acceptance_is_what_answers_took_of_each_verify_call() -> None:
    cell = drafting(80 * 99 / 2.2)
    assert cell.acceptance_length == pytest.approx(2.2), "the first token of each answer is its prompt's"
    assert draft_length(cell) == pytest.approx(3.0)
    assert cell.void == ()


def test_a_counter_that_takes_in_what_no_answer_has_makes_no_draft_shorter() -> None:
    cell = drafting(80 * 97 / 2.2, usage=98)
    assert (cell.client_tokens, cell.server_tokens) == (7840, 8000.0)
    assert draft_length(cell) == pytest.approx(3.0)
    assert cell.acceptance_length == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("unclean", "known"), [({"k": None}, (None, True)), ({"ending": Ending.CANCELLED}, (10_800.0, False))]
)
def test_what_was_drafted_and_accepted_is_unknown_without_k_or_with_answers_that_are_not_whole(
    unclean: dict[str, Any], known: tuple[float | None, bool]
) -> None:
    cell = drafting(3600.0, **unclean)
    assert (cell.drafts, cell.draft_tokens) == (3600.0, known[0])
    assert (cell.acceptance_length is not None) is known[1]


def test_a_baseline_whose_server_verified_drafts_is_void() -> None:
    assert codes(assemble(verified(on_sglang(evidence()), None, 30.0)))[0] == {"arm_drafting"}


def test_k_comes_from_the_server_where_its_page_has_had_no_decode_report() -> None:
    given = on_sglang(evidence(True), k=None)
    assert assemble(replace(given, identity=replace(WHO, k=3))).k == 3
    assert assemble(replace(given, seen=Seen(replace(WHO, k=3)))).k == 3
    assert assemble(replace(on_sglang(evidence(True), k=2), identity=replace(WHO, k=3))).k == 2


def test_a_counter_that_could_not_be_scaled_says_so() -> None:
    given = on_sglang(with_tokens(99), k=3)
    *others, last = given.records
    cut = replace(given, records=(*others, replace(last, ending=Ending.CANCELLED)))
    assert "counter_not_scaled" in codes(assemble(cut))[1]
    assert assemble(cut).output_tok_s == pytest.approx(RATE)
    assert "counter_not_scaled" not in codes(assemble(given))[1]
    vllm = with_tokens(99)
    assert "counter_not_scaled" not in codes(assemble(replace(vllm, records=cut.records)))[1]


@pytest.mark.parametrize(("usage", "percent"), [(100, None), (99, "-1.0%"), (101, "+1.0%")])
def test_the_rate_is_what_users_got_and_not_what_drafts_made_past_the_end(usage: int, percent: str | None) -> None:
    given = on_sglang(with_tokens(usage), k=3)
    cell = assemble(given)
    assert cell.server_tok_s == pytest.approx(RATE)
    assert cell.output_tok_s == pytest.approx(RATE * usage / TOKENS)
    said = [note.text for note in cell.notes if note.code == "counter_scaled"]
    assert len(said) == (percent is not None)
    assert percent is None or percent in said[0]
    assert assemble(with_tokens(usage)).output_tok_s == pytest.approx(RATE), "vLLM's counter is exact"
