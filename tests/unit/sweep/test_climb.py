"""The score of a sweep: who climbs, what is left, when going on is hopeless."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probes.sweep.climb import Climb
from probes.sweep.plan import CellSlot
from probes.values import Cell, Latency, Reason
from tests.support.plans import arm, plan
from tests.support.sweep_cells import FOREIGN, cell, cell_of

LIMITED = (Reason("limited", "admission is the limit here: KV cache 97% full"),)
NOT_DRAFTING = (Reason("arm_not_drafting", "arm k3 does not draft: no draft was made during the cell"),)


def play(climb: Climb, took_s: float = 1.0, **changes: Any) -> Cell:
    slot = climb.next()
    assert slot is not None
    made = cell_of(slot, **changes)
    climb.finish(made, took_s)
    return made


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


def test_an_arm_that_was_measured_and_goes_silent_is_an_outage_and_no_mismatch() -> None:
    errors = (Reason("errors", "3 of 3 requests failed; most often: nothing listens there"),)
    climb = Climb(plan(ladder=(1, 2), repeats=2))
    play(climb)
    play(climb)
    play(climb, void=errors, requests=0, errors=3)
    assert climb.outage() is None
    play(climb)
    play(climb)
    play(climb, void=errors, requests=0, errors=3)
    said = climb.outage()
    assert said is not None
    assert said.startswith("arm k3 was measured and now answers nothing: 3 of 3 requests failed")


def test_an_arm_that_never_answered_is_no_outage() -> None:
    climb = Climb(plan(ladder=(1,), repeats=2))
    play(climb)
    errors = (Reason("errors", "3 of 3 requests failed; most often: HTTP 500"),)
    play(climb, void=errors, requests=0, errors=3)
    play(climb, void=errors, requests=0, errors=3)
    assert climb.outage() is None


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
    assert (climb.request_s("off", 1), climb.request_s("off", 2)) == (0.8, 1.6)


def test_a_rung_that_was_not_climbed_yet_is_taken_for_a_full_servers() -> None:
    """Too short a time would send prompts faster than the server reads them on."""
    climb = Climb(plan(ladder=(2, 4), repeats=1))
    play(climb, e2e=Latency(800.0, 900.0))
    assert climb.request_s("off", 4) == 1.6
    assert climb.request_s("off", 3) == pytest.approx(1.2)
    assert climb.request_s("off", 1) == 0.8
    assert climb.request_s("off", 200) == 3.2, "so long a step is made on a server that is far from full"


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"preemptions": 1.0}, "preemption"),
        ({"kv_usage_max": 0.91}, "kv"),
        ({"notes": LIMITED}, "waiting"),
        ({"ttft": Latency(300.0, 2100.0)}, "ttft"),
    ],
)
def test_every_limit_ends_the_climb_of_its_arm_alone_and_is_named(changes: dict[str, Any], limit: str) -> None:
    climb = Climb(plan(ladder=(1, 2, 4), repeats=1, max_ttft_s=2.0))
    while (slot := climb.next()) is not None:
        play(climb, **(changes if (slot.arm, slot.rung) == ("k3", 2) else {}))
    assert climb.tops == {"k3": (2, limit)}
    assert [(c.arm, c.rung) for c in climb.cells] == [("off", 1), ("k3", 1), ("k3", 2), ("off", 2), ("off", 4)]


@pytest.mark.parametrize("changes", [{"kv_usage_max": 0.9}, {"ttft": Latency(300.0, 2000.0)}, {"preemptions": 0.0}])
def test_just_below_a_limit_it_climbs_on(changes: dict[str, Any]) -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=1, max_ttft_s=2.0))
    play(climb, **changes)
    assert climb.tops == {}


def test_without_a_limit_for_ttft_none_is_too_late() -> None:
    climb = Climb(plan(ladder=(1, 2)))
    play(climb, ttft=Latency(3e5, 9e5))
    assert climb.tops == {}


def test_what_others_requests_filled_says_nothing_of_the_arm() -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=2))
    play(climb, notes=LIMITED, void=FOREIGN)
    play(climb)
    play(climb)
    play(climb, notes=LIMITED, void=FOREIGN)
    assert climb.tops == {}


def test_a_restarted_arm_at_its_limit_climbs_no_further_on_later_starts_either() -> None:
    arms = [replace(arm(name), restart="start") for name in ("off", "k3")]
    climb = Climb(plan(*arms, ladder=(1, 2, 4), repeats=2))
    while (slot := climb.next()) is not None:
        play(climb, notes=LIMITED if (slot.arm, slot.rung) == ("k3", 2) else ())
    assert max(c.rung for c in climb.cells if c.arm == "k3") == 2
    assert [c.rung for c in climb.cells if c.arm == "off"] == [1, 2, 4, 1, 2, 4]


def test_a_disturbed_cell_is_measured_again_at_once_and_both_are_kept() -> None:
    climb = Climb(plan(ladder=(1,), repeats=1))
    slot = climb.next()
    assert slot is not None
    play(climb, void=FOREIGN)
    climb.again(slot)
    assert climb.next() == slot
    play(climb)
    play(climb)
    assert [(c.arm, c.valid) for c in climb.cells] == [("off", False), ("off", True), ("k3", True)]
    assert climb.done == climb.total == 3


def test_what_was_measured_before_is_not_measured_again() -> None:
    before = [cell("off", 1), cell("k3", 1, order=1)]
    climb = Climb(plan(ladder=(1, 2), repeats=1), before)
    assert (climb.done, climb.total) == (2, 4)
    assert [play(climb).arm for _ in range(2)] == ["k3", "off"]
    assert climb.next() is None
    assert climb.cells[:2] == before


def test_a_limit_that_was_met_before_the_interruption_still_holds() -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=1), [cell("off", 1, notes=LIMITED), cell("k3", 1, order=1)])
    assert climb.tops == {"off": (1, "waiting")}
    assert play(climb).arm == "k3"
    assert climb.next() is None


def test_faults_of_an_earlier_night_are_not_held_against_an_arm() -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=1), [cell("k3", 1, void=NOT_DRAFTING), cell("k3", 2, void=NOT_DRAFTING)])
    assert climb.hopeless() is None


def test_the_last_cell_of_a_resumed_arm_does_not_decide_alone() -> None:
    climb = Climb(plan(ladder=(1, 2), repeats=1), [cell("off", 1), cell("k3", 1, order=1)])
    play(climb, void=(Reason("no_window", "the metrics page could not be read at the edges of the window"),))
    assert not climb.waits_for("k3")
    assert climb.hopeless() is None


def test_added_cells_come_last_and_are_numbered_on() -> None:
    climb = Climb(plan(ladder=(1,), repeats=1))
    assert climb.next_order == 2
    climb.add([CellSlot("off", 3, 0, 2)])
    assert climb.next_order == 3
    assert [play(climb).rung for _ in range(3)] == [1, 1, 3]


def test_the_time_left_counts_the_starts_still_to_come() -> None:
    arms = [replace(arm(name), restart="start") for name in ("off", "k3")]
    climb = Climb(plan(*arms, ladder=(1, 2), repeats=1))
    climb.started(100.0)
    play(climb, took_s=10.0)
    play(climb, took_s=10.0)
    assert climb.eta_s == 2 * 10.0 + 100.0
