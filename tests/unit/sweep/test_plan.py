"""The order of cells balances drift, and the cost adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probes.sweep.plan import LoadSpec, StreamRate, SweepPlan, cell_order, estimate, warmup_rung
from tests.support.plans import arm, plan


def restarted(*names: str, **changes: Any) -> SweepPlan:
    arms = tuple(replace(arm(name), restart=f"start {name}") for name in names)
    return plan(*arms, **{"baseline": names[0], **changes})


def letters(arms: str, repeats: int, ladder: tuple[int, ...] = (1,)) -> list[str]:
    made = plan(*(arm(name) for name in arms), baseline=arms[0], repeats=repeats, ladder=ladder)
    slots = cell_order(made)
    assert [slot.order for slot in slots] == list(range(len(slots)))
    return ["".join(slot.arm for slot in slots if slot.rung == rung) for rung in ladder]


@pytest.mark.parametrize(
    ("arms", "repeats", "expected"),
    [
        ("AB", 1, ["AB", "BA"]),
        ("AB", 2, ["ABBA", "ABBA"]),
        ("AB", 3, ["ABBAAB", "BAABBA"]),
        ("AB", 4, ["ABBAABBA", "ABBAABBA"]),
        ("ABC", 2, ["ABCCBA", "ABCCBA"]),
        ("ABC", 1, ["ABC", "CBA"]),
    ],
)
def test_the_order_within_rungs(arms: str, repeats: int, expected: list[str]) -> None:
    assert letters(arms, repeats, ladder=(1, 2)) == expected


@pytest.mark.parametrize("repeats", [2, 4, 6])
@pytest.mark.parametrize("arms", ["AB", "ABC", "ABCDE"])
def test_even_repeats_are_palindromes_so_every_arm_has_the_same_mean_position(arms: str, repeats: int) -> None:
    (rung,) = letters(arms, repeats)
    assert rung == rung[::-1]
    assert {sum(i for i, name in enumerate(rung) if name == one) for one in arms} == {
        repeats * (len(rung) - 1) / 2,
    }


def test_rungs_climb() -> None:
    rungs = [slot.rung for slot in cell_order(plan(ladder=(1, 4, 9)))]
    assert rungs == sorted(rungs)


def test_restarted_arms_climb_the_whole_ladder_on_starts_of_their_own_that_mirror_each_other() -> None:
    slots = cell_order(restarted("A", "B", ladder=(1, 4, 9), repeats=2))
    passes = [slots[i : i + 3] for i in range(0, len(slots), 3)]
    assert ["".join(sorted({slot.arm for slot in one})) for one in passes] == ["A", "B", "B", "A"]
    assert all([slot.rung for slot in one] == [1, 4, 9] for one in passes)
    assert [{slot.start for slot in one} for one in passes] == [{0}, {1}, {2}, {3}]
    assert [slot.order for slot in slots] == list(range(12))
    assert [slot.repeat for slot in slots[::3]] == [0, 0, 1, 1]


def test_arms_that_stand_on_their_own_have_no_starts() -> None:
    assert {slot.start for slot in cell_order(plan())} == {None}


def test_restarted_arms_are_warmed_after_every_start_and_the_cost_says_how_many_there_are() -> None:
    sweep = restarted("off", "k3", ladder=(1, 8), repeats=4, warmup_s=20.0)
    cost, cold = estimate(sweep), estimate(replace(sweep, warmup_s=0.0))
    assert (cost.starts, cold.starts) == (8, 8)
    assert cost.seconds - cold.seconds == 8 * 20.0
    assert estimate(plan()).starts == 0


def test_refinement_is_bounded_by_the_ladders_own_cells() -> None:
    cost = estimate(plan(ladder=(1, 8), repeats=4, refine_octaves=0.5))
    assert cost.refine_cells_upper == cost.cells == 16
    assert cost.refine_seconds_upper == pytest.approx(cost.seconds)
    assert cost.refine_tokens_upper >= cost.tokens_upper
    assert estimate(plan()).refine_cells_upper == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"baseline": "none"}, "not among the arms"),
        ({"arms": (arm("off"),)}, "nothing to compare with"),
        ({"arms": (arm("off"), arm("off"))}, "same name"),
        ({"ladder": ()}, "ladder"),
        ({"ladder": (4, 2)}, "ladder"),
        ({"ladder": (0, 2)}, "ladder"),
        ({"repeats": 0}, "repeats"),
    ],
)
def test_a_plan_that_gives_no_answer_is_refused_in_words(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        plan(**changes)


def test_cost_counts_cells_and_bounds_tokens() -> None:
    cost = estimate(plan(ladder=(1, 8), repeats=4, cell_s=45.0, warmup_s=20.0))
    assert cost.cells == 16
    assert 16 * 45 + 40 < cost.seconds < 16 * 60 + 40
    assert cost.tokens_upper > 4 * 2 * (1 + 8) * 45 * 100


def test_a_cell_takes_two_requests_to_ramp_and_one_to_drain_beside_its_window() -> None:
    """As guessed at 15 ms a token, also where requests outlast the window many times over."""
    cost = estimate(plan(ladder=(1,), repeats=2, cell_s=2.0, warmup_s=0.0, load=LoadSpec(max_tokens=2000)))
    assert cost.seconds == pytest.approx(cost.cells * (2.0 + 3 * 30.0 + 1.0))


def test_what_requests_took_in_an_earlier_sweep_says_how_long_cells_take() -> None:
    seen = tuple(StreamRate(name, rung, 50.0, 2.0 * rung) for name in ("off", "k3") for rung in (1, 2))
    cost = estimate(plan(ladder=(1, 2, 4), repeats=2, cell_s=10.0, warmup_s=0.0, seen=seen))
    assert cost.cells == 12
    assert cost.seconds == pytest.approx(4 * sum(10.0 + 3 * request_s + 1.0 for request_s in (2.0, 4.0, 8.0)))


def test_no_cell_goes_on_for_ever() -> None:
    seen = tuple(StreamRate(name, 1, 50.0, 5000.0) for name in ("off", "k3"))
    cost = estimate(plan(ladder=(1,), repeats=2, cell_s=10.0, warmup_s=0.0, seen=seen))
    assert cost.seconds == pytest.approx(cost.cells * (10.0 + 360.0 + 1.0))


def test_the_warm_up_is_a_rung_of_the_ladder_and_not_the_highest() -> None:
    assert warmup_rung(plan(ladder=(1, 2, 16, 64))) == 16
    assert warmup_rung(plan(ladder=(32, 64))) == 32
