"""Minutes and tokens are counted so that a sweep stops before it has spent too much, never after."""

from __future__ import annotations

import pytest

from probes.sweep.budget import Budget, tokens_upper
from probes.sweep.plan import CellSlot
from tests.support.plans import plan
from tests.support.sweep_cells import cell

NEXT = CellSlot("off", 8, 0, 9)


def test_minutes_run_out_at_their_end() -> None:
    budget = Budget(plan(max_minutes=2.0), 1000.0)
    assert budget.out_of_time(1120.0) is None
    assert budget.out_of_time(1120.1) == "the budget of 2 minutes ran out"


def test_what_would_not_end_in_time_is_not_begun() -> None:
    budget = Budget(plan(max_minutes=2.0), 1000.0)
    assert budget.too_short_for(30.0, 1090.0) is None
    assert budget.too_short_for(31.0, 1090.0) == "of 2 minutes 0.5 are left"


def test_without_a_limit_tokens_do_not_matter() -> None:
    budget = Budget(plan(), 0.0)
    budget.spend(10**9)
    assert budget.out_of_tokens([], [NEXT]) is None


def test_the_next_cell_is_bounded_by_what_a_client_made_on_the_rung_below() -> None:
    cells = [
        cell("off", 1, server_tokens=900.0),
        cell("off", 4, server_tokens=2000.0),
        cell("off", 16, server_tokens=16.0),
        cell("k3", 8),
    ]
    assert tokens_upper(plan(), cells, NEXT) == pytest.approx(1.25 * 500 * 8)


def test_before_anything_was_measured_a_stream_is_taken_to_be_fast() -> None:
    sweep = plan(cell_s=10.0)
    assert tokens_upper(sweep, [], NEXT) >= 8 * 10.0 * 200


def test_the_cell_that_might_pass_the_limit_is_refused_and_the_one_that_cannot_is_not() -> None:
    cells = [cell("off", 8, server_tokens=1000.0)]
    for limit, fits in ((2250, True), (2000, False)):
        budget = Budget(plan(max_total_tokens=limit), 0.0)
        budget.spend(1000)
        problem = budget.out_of_tokens(cells, [NEXT])
        assert (problem is None) is fits
        assert fits or problem == (
            "the budget of 2000 output tokens holds no further cell: 1000 are spent, up to 1250 needed"
        )


def test_cells_of_the_interrupted_sweep_were_paid_for_too() -> None:
    resumed = [cell("off", 1, server_tokens=700.0), cell("k3", 1, server_tokens=None, client_tokens=50)]
    assert Budget(plan(), 0.0, resumed).tokens == 750


def test_an_uncounted_cell_counts_for_the_most_it_can_have_been() -> None:
    blind = cell("off", 4, server_tokens=None, client_tokens=None)
    assert Budget(plan(cell_s=10.0), 0.0, [blind]).tokens >= 4 * 10 * 200


def test_what_others_were_served_is_not_on_our_bill() -> None:
    disturbed = cell("off", 1, server_tokens=9000.0, client_tokens=50, foreign_requests=3.0)
    assert Budget(plan(), 0.0, [disturbed]).tokens == 50
