"""The score of a sweep: who climbs, what is left, when going on is hopeless."""

from __future__ import annotations

from dataclasses import replace

from probes.sweep.assemble import assemble
from probes.sweep.climb import Climb
from probes.values import Cell, Latency, Reason
from tests.support.evidence import evidence
from tests.support.plans import plan

CLEAN = assemble(evidence())
LIMITED = (Reason("limited", "admission is the limit here: KV cache 97% full"),)
NOT_DRAFTING = (Reason("arm_not_drafting", "arm k3 does not draft: no draft was made during the cell"),)


def play(climb: Climb, took_s: float = 1.0, **changes: object) -> Cell:
    slot = climb.next()
    assert slot is not None
    cell = replace(CLEAN, arm=slot.arm, rung=slot.rung, repeat=slot.repeat, order=slot.order, **changes)  # type: ignore[arg-type]
    climb.finish(cell, took_s)
    return cell


def test_an_arm_at_its_limit_finishes_the_rung_and_climbs_no_further() -> None:
    climb = Climb(plan(ladder=(1, 2, 4), repeats=2))
    seen = []
    while (slot := climb.next()) is not None:
        seen.append((slot.arm, slot.rung))
        play(climb, notes=LIMITED if (slot.arm, slot.rung) == ("k3", 2) else ())
    assert seen.count(("k3", 2)) == 2
    assert ("k3", 4) not in seen
    assert seen.count(("off", 4)) == 2
    assert climb.done == climb.total == 10


def test_one_void_cell_does_not_end_the_climb_but_two_do() -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=2))
    void = (Reason("client_limit", "busy"),)
    play(climb, notes=LIMITED, void=void)
    assert climb.total == 8
    play(climb)
    play(climb)
    play(climb, notes=LIMITED, void=void)
    assert climb.total == 6


def test_the_time_left_follows_measured_cells() -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=2))
    assert climb.eta_s is None
    play(climb, took_s=3.0)
    assert climb.eta_s == 7 * 3.0
    play(climb, took_s=5.0)
    assert climb.eta_s == 6 * 4.0


def test_two_cells_of_an_arm_that_cannot_be_watched_end_it() -> None:
    climb = Climb(plan())
    blind = (Reason("no_window", "the metrics page could not be read at the edges of the window"),)
    play(climb)
    play(climb, void=blind)
    assert climb.hopeless() is None
    play(climb, void=blind)
    said = climb.hopeless()
    assert said is not None
    assert "cannot be watched" in said


def test_two_cells_that_do_not_draft_end_it() -> None:
    climb = Climb(plan())
    play(climb)
    play(climb, void=NOT_DRAFTING)
    assert climb.hopeless() is None
    play(climb, void=NOT_DRAFTING)
    assert climb.hopeless() == "arm k3 does not draft: no draft was made during the cell"


def test_the_only_cell_of_an_arm_suffices() -> None:
    climb = Climb(plan(ladder=(1,), repeats=1))
    play(climb)
    play(climb, void=NOT_DRAFTING)
    assert climb.hopeless() is not None


def test_one_stray_cell_does_not_end_it() -> None:
    climb = Climb(plan())
    for void in ((), NOT_DRAFTING, ()):
        play(climb, void=void)
    assert climb.hopeless() is None


def test_an_arm_that_answers_nothing_ends_it() -> None:
    climb = Climb(plan(ladder=(1,), repeats=2))
    play(climb)
    errors = (Reason("errors", "3 of 3 requests failed; most often: HTTP 500"),)
    play(climb, void=errors, requests=0, errors=3)
    play(climb, void=errors, requests=0, errors=3)
    assert climb.hopeless() == "arm k3 answers no request: 3 of 3 requests failed; most often: HTTP 500"


def test_a_verdict_needs_valid_cells_of_baseline_and_another_arm() -> None:
    climb = Climb(plan(ladder=(1,), repeats=1))
    play(climb)
    assert climb.no_answer() == "no valid cell of k3"
    play(climb)
    assert climb.no_answer() is None


def test_the_request_time_is_the_arms_own_newest_on_that_rung() -> None:
    climb = Climb(plan())
    assert climb.request_s("off", 1) is None
    play(climb, e2e=Latency(800.0, 900.0))
    play(climb, e2e=Latency(400.0, 900.0))
    assert (climb.request_s("off", 1), climb.request_s("k3", 1)) == (0.8, 0.4)
    for e2e_ms in (400.0, 800.0, 1600.0):
        play(climb, e2e=Latency(e2e_ms, 2000.0))
    assert (climb.request_s("off", 1), climb.request_s("off", 2), climb.request_s("off", 4)) == (0.8, 1.6, 1.6)
