"""Crossovers of TPOT and TTFT: what they rest on, how they lie to throughput's, and how sure few requests make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from probes.answer_values import ArmVerdict, Axis, Verdict
from probes.crossover import cells_to_points, estimate
from probes.crossover.latency import latency_crossovers
from probes.values import Cell, Latency, Reason
from tests.support.latency_sweeps import latency_sweep
from tests.support.sweep_cells import CLEAN

LADDER = (1, 2, 4, 8, 16, 32, 64)
Ms = Callable[[float], float]


def sweep(tpot: Ms, ttft: Ms, output: Ms, requests: int = 400) -> list[Cell]:
    """Two arms; each function is the arm's gain over the baseline at a concurrency, by metric."""
    cells = []
    for arm in ("off", "k3"):
        for x in map(float, LADDER):
            for repeat in range(3):
                wobble = 1 + 0.004 * (repeat - 1)
                gain = [f(x) if arm == "k3" else 1.0 for f in (tpot, ttft, output)]
                own = 10 * (1 + x / 40) / gain[0] * wobble
                first = 50 * (1 + x / 20) / gain[1] * wobble
                cells.append(
                    replace(
                        CLEAN,
                        arm=arm,
                        rung=int(x),
                        repeat=repeat,
                        concurrency=x,
                        output_tok_s=100 * x / (1 + x / 40) * gain[2] * wobble,
                        requests=requests,
                        tpot=Latency(own, 1.2 * own),
                        ttft=Latency(first, 1.2 * first),
                    )
                )
    return cells


def falls_at(at: float) -> Ms:
    return lambda x: (x / at) ** -0.3


def found(cells: list[Cell]) -> dict[str, ArmVerdict]:
    answer = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    return {metric: arms["k3"] for metric, arms in latency_crossovers(cells, answer).items()}


def codes(verdict: ArmVerdict) -> set[str]:
    return {reason.code for reason in verdict.reasons}


def test_each_metric_has_its_own_crossover() -> None:
    answers = found(sweep(falls_at(30), falls_at(6), falls_at(15)))
    assert set(answers) == {"tpot_p50", "tpot_p99", "ttft_p50", "ttft_p99"}
    for metric, truth in {"tpot_p50": 30, "tpot_p99": 30, "ttft_p50": 6, "ttft_p99": 6}.items():
        verdict = answers[metric]
        assert verdict.verdict is Verdict.CROSSES
        assert verdict.crossover == pytest.approx(truth, rel=0.1)
        assert verdict.low is not None
        assert verdict.high is not None
        assert verdict.low < truth < verdict.high
    assert "pays_beyond_throughput" in codes(answers["tpot_p50"])
    assert "pays_less_than_throughput" in codes(answers["ttft_p50"])


def test_where_the_intervals_overlap_nothing_is_said_of_beyond_or_less() -> None:
    answers = found(sweep(falls_at(15.5), falls_at(15), falls_at(15)))
    assert not codes(answers["tpot_p50"]) & {"pays_beyond_throughput", "pays_less_than_throughput"}


def test_a_first_token_that_always_comes_later_is_never_faster_though_output_gains() -> None:
    answers = found(sweep(falls_at(200), lambda x: 0.8, falls_at(200)))
    assert answers["ttft_p50"].verdict is Verdict.NEVER_FASTER
    assert "pays_less_than_throughput" in codes(answers["ttft_p50"])
    assert answers["tpot_p50"].verdict is Verdict.ALWAYS_FASTER


def test_a_latency_that_was_compared_above_the_throughput_crossover_only_says_nothing_of_below() -> None:
    cells = sweep(falls_at(6), falls_at(6), falls_at(6))
    high = [replace(c, tpot=c.tpot if c.rung >= 16 else Latency(None, None)) for c in cells]
    never = found(high)["tpot_p50"]
    assert never.verdict is Verdict.NEVER_FASTER
    assert not codes(never) & {"pays_beyond_throughput", "pays_less_than_throughput"}


def test_a_p99_of_few_requests_is_left_out_and_a_median_is_not() -> None:
    assert set(found(sweep(falls_at(30), falls_at(6), falls_at(15), requests=30))) == {"tpot_p50", "ttft_p50"}
    assert found(sweep(falls_at(30), falls_at(6), falls_at(15), requests=5)) == {}


def test_cells_that_are_void_or_that_the_client_timed_badly_give_no_latency() -> None:
    cells = sweep(falls_at(30), falls_at(6), falls_at(15))
    late = Reason("latency_coarse", "our event loop was late")
    wild = Latency(1e6, 1e6)
    spoilt = [
        replace(cell, tpot=wild, ttft=wild, notes=(late,)) if cell.rung == 8 and cell.arm == "k3" else cell
        for cell in cells
    ]
    assert found(spoilt)["tpot_p50"].verdict is Verdict.CROSSES
    void = [replace(cell, tpot=wild, void=(late,)) if cell.rung == 8 and cell.arm == "k3" else cell for cell in cells]
    assert found(void)["tpot_p50"].verdict is Verdict.CROSSES


def test_a_metric_needs_two_rungs_in_both_arms() -> None:
    cells = sweep(falls_at(30), falls_at(6), falls_at(15))
    one_rung = [c if c.arm == "off" or c.rung == 4 else replace(c, tpot=Latency(None, None)) for c in cells]
    assert set(found(one_rung)) == {"ttft_p50", "ttft_p99"}
    no_base = [replace(c, ttft=Latency(None, None)) if c.arm == "off" else c for c in cells]
    assert set(found(no_base)) == {"tpot_p50", "tpot_p99"}


@pytest.mark.parametrize("repeats", [1, 2])
def test_intervals_of_a_p99_hold_the_truth_though_requests_and_repeats_are_few(repeats: int) -> None:
    held = seen = 0
    for seed in range(60):
        made = latency_sweep(seed, repeats=repeats)
        answer = estimate(cells_to_points(made.cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
        verdict = latency_crossovers(made.cells, answer)["tpot_p99"]["on"]
        if verdict.verdict is Verdict.CROSSES:
            seen += 1
            held += (verdict.low or 0.0) <= made.crossover <= (verdict.high or float("inf"))
    assert seen > 30
    assert held >= 0.8 * seen
