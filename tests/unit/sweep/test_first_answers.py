"""What a cell tells where the first answer of each client was cut: lengths and times come from the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.load.first import first_answer
from probes.load.records import RequestRecord
from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.values import Cell, EngineKind, Reading
from tests.support.evidence import CLIENTS, RATE, TOKENS, evidence


def with_first_answers(given: Evidence | None = None) -> Evidence:
    """Each client's first answer ends at its share of `TOKENS`; the others stop by themselves."""
    given = given or evidence()
    in_order = sorted(given.records, key=lambda record: (record.launched_s, record.client))
    numbered = [replace(record, index=number) for number, record in enumerate(in_order)]
    return replace(given, first=CLIENTS, records=tuple(map(_cut, numbered)))


def _cut(record: RequestRecord) -> RequestRecord:
    tokens = first_answer(TOKENS, record.index, CLIENTS)
    return replace(record, output_tokens=tokens, finish_reason="stop" if tokens == TOKENS else "length")


def all_tokens(given: Evidence) -> int:
    return sum(record.output_tokens or 0 for record in given.records)


def counted(given: Evidence, tokens: float, kind: EngineKind = EngineKind.VLLM) -> Evidence:
    """The server's counter says so from idle to idle."""

    def shown(page: Reading) -> Reading:
        return replace(page, engine_kind=kind)

    assert given.before is not None
    assert given.after is not None
    (engine,) = given.after.engines
    samples = tuple(map(shown, given.samples))
    after = replace(shown(given.after), engines=(replace(engine, generation_tokens=tokens),))
    return replace(given, before=shown(given.before), samples=samples, start=samples[0], end=samples[-1], after=after)


def codes(cell: Cell) -> set[str]:
    return {reason.code for reason in (*cell.void, *cell.notes)}


def test_lengths_are_those_of_whole_answers_and_tokens_are_all() -> None:
    given = with_first_answers()
    cell = assemble(counted(given, all_tokens(given)))
    assert (cell.output_tokens_mean, cell.capped_share) == (TOKENS, 0.0)
    assert cell.client_tokens == cell.server_tokens == all_tokens(given) < TOKENS * cell.requests
    assert cell.requests == len(given.records)
    assert (cell.foreign_requests, codes(cell)) == (0, set())


def test_cut_answers_that_reach_into_the_window_give_no_time_but_are_in_the_system() -> None:
    given = with_first_answers()
    late = tuple(
        replace(record, end_s=record.end_s + 3.0, last_s=record.end_s + 3.0) if record.index < CLIENTS - 1 else record
        for record in given.records
    )
    cell, as_it_was = assemble(replace(given, records=late)), assemble(given)
    assert (cell.e2e, cell.ttft, cell.tpot) == (as_it_was.e2e, as_it_was.ttft, as_it_was.tpot)
    assert cell.concurrency is not None
    assert as_it_was.concurrency is not None
    assert cell.concurrency == pytest.approx(as_it_was.concurrency + (CLIENTS - 1) * 1.0 / 12.0)


def test_cut_answers_alone_are_no_cell() -> None:
    given = with_first_answers()
    few = replace(given, records=given.records[: CLIENTS - 1])
    assert "too_few_requests" in codes(assemble(few))
    assert "too_few_requests" not in codes(assemble(replace(given, records=given.records[:CLIENTS])))


def test_what_sglang_counts_otherwise_is_told_from_the_length_of_whole_answers() -> None:
    """Its counter is off by so many tokens an answer, and more by share where answers are short."""
    given, ends = with_first_answers(), 2
    sglang = counted(given, all_tokens(given) + ends * len(given.records), EngineKind.SGLANG)
    cell = assemble(sglang)
    assert cell.server_tok_s == pytest.approx(RATE)
    assert cell.output_tok_s == pytest.approx(RATE * TOKENS / (TOKENS + ends))


def going_on(*clients: int) -> Evidence:
    """The first answers of these clients reach into the window."""
    given = with_first_answers()
    assert given.window is not None
    late_s = given.window.start_s + 0.1
    return replace(given, records=tuple(replace(r, end_s=late_s) if r.index in clients else r for r in given.records))


@pytest.mark.parametrize(("given", "voids"), [(going_on(0), False), (going_on(0, 1), True)])
def test_a_window_with_too_many_cut_answers_voids_the_cell(given: Evidence, voids: bool) -> None:
    """One client may have an answer that goes on and on; more read more prompts than a steady load."""
    assert ("cut_answers" in {reason.code for reason in assemble(given).void}) is voids


def test_the_last_first_answer_is_whole_and_may_go_on() -> None:
    assert "cut_answers" not in codes(assemble(going_on(0, CLIENTS - 1)))


def test_requests_lost_with_their_worker_are_nobodys_first() -> None:
    given = with_first_answers()
    lost = replace(given, records=tuple(replace(r, index=-1) for r in given.records))
    assert "cut_answers" not in codes(assemble(lost))
