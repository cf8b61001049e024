"""What a sweep's answer says of the acceptance that its arms had."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.verdict_text import crossover_lines
from probes.answer_values import Axis, Crossover
from probes.crossover import from_json, to_json
from probes.crossover.whole import completed
from probes.values import Cell, Reason
from tests.support.drift import h200
from tests.support.records import a_cell

BARE = Crossover("off", Axis.CONCURRENCY_PER_ENGINE, {})
ARM_K: dict[str, int | None] = {"off": None, "k3": 3}


def drafting(drafts: float, accepted: float, *, k: float = 3.0, **changes: object) -> Cell:
    tokens = drafts + accepted + 10.0
    return replace(
        a_cell("k3", requests=10),
        drafts=drafts,
        draft_tokens=k * drafts,
        accepted_tokens=accepted,
        server_tokens=tokens,
        client_tokens=int(tokens),
        **changes,  # type: ignore[arg-type]
    )


def acceptance(*cells: Cell) -> dict[str, float]:
    return dict(completed(BARE, cells, ARM_K).acceptance)


def test_every_draft_counts_once_whatever_its_cell() -> None:
    off = replace(a_cell("off"), drafts=None, draft_tokens=None, accepted_tokens=None, k=None)
    found = acceptance(off, drafting(1000.0, 1000.0), drafting(3000.0, 5000.0))
    assert found == {"k3": pytest.approx(2.5)}


def test_a_void_cell_says_nothing() -> None:
    void = drafting(9000.0, 0.0, void=(Reason("short", "it was too short"),))
    assert acceptance(drafting(1000.0, 1600.0), void) == {"k3": pytest.approx(2.6)}


def test_an_arm_whose_draft_length_follows_the_load_has_no_one_acceptance() -> None:
    assert acceptance(drafting(1000.0, 1600.0), drafting(1000.0, 600.0, k=1.0, rung=64, concurrency=64.0)) == {}


def test_it_is_kept_in_the_file() -> None:
    answer = completed(BARE, [drafting(1000.0, 1600.0)], ARM_K)
    assert from_json(to_json(answer)).acceptance == {"k3": pytest.approx(2.6)}


def test_without_a_model_the_answer_and_its_words_say_why() -> None:
    answer = completed(BARE, [drafting(1000.0, 1600.0)], ARM_K)
    assert answer.step_model is None
    assert [note.code for note in answer.notes][-1] == "no_step_model"
    assert any("no break-even is known: only 1 rung is usable of k3" in line for line in crossover_lines(answer))


def test_with_a_model_nothing_of_the_kind_is_said() -> None:
    assert "no_step_model" not in {note.code for note in h200().notes}
