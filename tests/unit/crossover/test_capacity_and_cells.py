"""What a sweep's cells become: points for the curve, limits for the capacity."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.answer_values import ArmVerdict, Axis, Capacity, CurvePoint, Verdict
from probes.crossover import cells_to_points, estimate
from probes.values import Cell, Latency, Reason

NOTHING = Latency(None, None)
CELL = Cell(
    arm="k3",
    rung=8,
    repeat=1,
    order=0,
    started_at_s=0.0,
    window_s=45.0,
    concurrency=7.9,
    output_tok_s=1000.0,
    server_tok_s=1000.0,
    client_tok_s=1001.0,
    requests=200,
    errors=0,
    capped_share=0.0,
    ttft=NOTHING,
    tpot=NOTHING,
    e2e=NOTHING,
    prompt_tokens_mean=178.0,
    output_tokens_mean=256.0,
    running_mean=7.8,
    waiting_mean=0.1,
    kv_usage_max=0.2,
    preemptions=0.0,
    drafts=None,
    draft_tokens=None,
    accepted_tokens=None,
    accepted_per_pos=(),
    prefix_hit_ratio=None,
    client_tokens=None,
    server_tokens=None,
    foreign_requests=None,
    loop_lag_p99_ms=None,
    client_cpu_share=None,
    in_flight_mean=None,
    k=None,
    engine_count=None,
)


def test_a_valid_cell_is_a_point_at_its_measured_concurrency() -> None:
    assert cells_to_points([CELL]) == [CurvePoint("k3", 7.9, 1000.0, 1, limited=False, running=7.8, kv_usage=0.2)]


@pytest.mark.parametrize(
    "cell",
    [
        replace(CELL, void=(Reason("foreign_traffic", "somebody else was there"),)),
        replace(CELL, concurrency=None),
        replace(CELL, output_tok_s=None),
    ],
)
def test_a_void_or_unmeasured_cell_is_no_point(cell: Cell) -> None:
    assert cells_to_points([cell]) == []


@pytest.mark.parametrize(
    ("cell", "limited"),
    [
        (replace(CELL, notes=(Reason("limited", "admission is the limit here: KV cache 99% full"),)), True),
        (replace(CELL, notes=(Reason("latency_coarse", "our event loop was late"),)), False),
    ],
)
def test_what_the_sweep_saw_marks_a_point_as_limited(cell: Cell, limited: bool) -> None:
    assert [point.limited for point in cells_to_points([cell])] == [limited]


def climb(arm: str, top: float, *, kv_at_top: float, running_at_top: float, limited: bool = True) -> list[CurvePoint]:
    """Two repeats over 8, 16, 32 in the system; the last rung as given."""
    return [
        CurvePoint(arm, x, tok_s, repeat, limited=limited and x == 32, running=running, kv_usage=kv)
        for x, tok_s, running, kv in [(8, 900, 8, 0.2), (16, 1700, 16, 0.4), (32, top, running_at_top, kv_at_top)]
        for repeat in range(2)
    ]


def judged(on: list[CurvePoint]) -> ArmVerdict:
    off = climb("off", 3000, kv_at_top=0.6, running_at_top=32, limited=False)
    return estimate(off + on, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE).arms["k3"]


@pytest.mark.parametrize(
    ("kv", "running", "limited_by"), [(0.7, 20, "waiting"), (0.99, 31, "kv"), (0.9, 31, "preemption")]
)
def test_capacity_ends_below_the_first_limited_rung(kv: float, running: float, limited_by: str) -> None:
    verdict = judged(climb("k3", 2000, kv_at_top=kv, running_at_top=running))
    assert verdict.capacity == Capacity(16, 1700, limited_by)


def test_capacity_without_a_limit_is_the_top_of_the_ladder() -> None:
    verdict = judged(climb("k3", 3100, kv_at_top=0.6, running_at_top=32, limited=False))
    assert verdict.capacity == Capacity(32, 3100, "top_of_ladder")


def test_capacity_is_of_one_engine_in_requests_and_in_tokens() -> None:
    """The running batch is polled per engine; beside it, the output of all of them would flatter each."""
    one = climb("k3", 3100, kv_at_top=0.6, running_at_top=32, limited=False)
    four = [replace(p, engines=4, output_tok_s=4 * p.output_tok_s) for p in one]
    assert judged(four).capacity == judged(one).capacity


def test_capacity_is_unknown_where_nobody_polled_the_running_batch() -> None:
    points = [CurvePoint(arm, x, 100 * x, 0) for arm in ("off", "k3") for x in (1.0, 8.0)]
    assert estimate(points, baseline="off", axis=Axis.CLIENTS).arms["k3"].capacity is None


def test_a_loss_by_admission_alone_is_a_crossover_and_says_so() -> None:
    """An arm that is faster until its drafts have eaten the KV space, then stands still while the baseline climbs."""
    on = climb("k3", 2000, kv_at_top=0.99, running_at_top=18)
    on = [replace(p, output_tok_s=1.3 * p.output_tok_s) if p.concurrency < 32 else p for p in on]
    verdict = judged(on)
    assert verdict.verdict is Verdict.CROSSES
    assert verdict.crossover is not None
    assert 16 < verdict.crossover < 32
    (held,) = [reason.text for reason in verdict.reasons if reason.code == "admission_limited"]
    assert held.startswith("On the rungs above 16 k3 "), "where between 16 and the next rung it began, nobody saw"


def test_limited_points_do_not_bend_the_curve_where_free_ones_reach() -> None:
    on = climb("k3", 3100, kv_at_top=0.6, running_at_top=32, limited=False)
    spoiled = [*on, CurvePoint("k3", 16, 500, 2, limited=True, running=9, kv_usage=0.99)]
    assert judged(spoiled).speedup == judged(on).speedup
