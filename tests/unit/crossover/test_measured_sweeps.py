"""The estimator on sweeps that somebody measured, against crossings read from the numbers by hand."""

from __future__ import annotations

import pytest

from probes.answer_values import Axis, Crossover, Verdict
from probes.crossover import estimate
from tests.support.measured_sweeps import Published, h200_points, published_sweeps

BY_HAND = {"k5": 93.0, "k3": 167.0, "k1": 240.0}
"""Log-linear crossings of the means, by clients."""


@pytest.fixture(params=["in_system", "clients"])
def h200(request: pytest.FixtureRequest) -> Crossover:
    by_clients = request.param == "clients"
    axis = Axis.CLIENTS if by_clients else Axis.CONCURRENCY_PER_ENGINE
    return estimate(h200_points(by_clients=by_clients), baseline="off", axis=axis)


@pytest.mark.parametrize("arm", BY_HAND)
def test_h200_crossings_are_where_the_means_cross(h200: Crossover, arm: str) -> None:
    verdict = h200.arms[arm]
    assert verdict.verdict is Verdict.CROSSES
    assert verdict.crossover == pytest.approx(BY_HAND[arm], rel=0.1)
    assert verdict.low is not None
    assert verdict.low < BY_HAND[arm]
    assert verdict.high is None or verdict.high > BY_HAND[arm]


def test_h200_the_last_crossing_is_open_above_because_the_ladder_ends_there(h200: Crossover) -> None:
    assert h200.arms["k1"].high is None
    assert h200.arms["k3"].high is not None
    assert h200.arms["k5"].high is not None


def test_h200_kv_space_limits_every_drafting_arm_at_the_top(h200: Crossover) -> None:
    for verdict in h200.arms.values():
        assert verdict.capacity is not None
        assert verdict.capacity.limited_by == "kv"
        assert verdict.capacity.running == pytest.approx(122, abs=3)
        assert "admission_limited" in [reason.code for reason in verdict.reasons]


def test_h200_shorter_drafts_win_as_concurrency_rises(h200: Crossover) -> None:
    sure = [r.arm for r in h200.best if r.confident]
    assert sure == ["k3", "k1"]
    assert h200.best[0].arm == "k3", "k5 is no faster at low concurrency, so the shorter draft is named"
    assert h200.best[-1].arm == "off"
    assert not h200.best[-1].confident


TABLES = published_sweeps()


def judged(table: Published) -> Crossover:
    return estimate(table.points, baseline="off", axis=Axis.CLIENTS)


@pytest.mark.parametrize("table", [t for t in TABLES if t.verdict], ids=lambda t: t.id)
def test_published_tables_read_as_a_person_reads_them(table: Published) -> None:
    verdict = judged(table).arms["on"]
    assert verdict.verdict == table.verdict, table.why
    if table.between is not None:
        assert verdict.crossover is not None
        assert table.between[0] <= verdict.crossover <= table.between[1], table.why


@pytest.mark.parametrize("table", [t for t in TABLES if not t.verdict], ids=lambda t: t.id)
def test_ambiguous_tables_get_no_narrow_answer(table: Published) -> None:
    verdict = judged(table).arms["on"]
    closed = verdict.low is not None and verdict.high is not None
    assert verdict.verdict is Verdict.UNCLEAR or not closed or (verdict.high or 0) > 4 * (verdict.low or 1), table.why


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.id)
def test_a_decisive_table_is_never_turned_round(table: Published) -> None:
    verdict = judged(table).arms["on"].verdict
    if all(speedup > 1.1 for _, speedup in table.speedups):
        assert verdict is Verdict.ALWAYS_FASTER
    if all(speedup < 0.9 for _, speedup in table.speedups):
        assert verdict is Verdict.NEVER_FASTER
