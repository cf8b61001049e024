"""The simulator crosses where it is told to, and its speed is that of the measured GPU."""

from __future__ import annotations

import pytest

from benchmarks.fit_sim import ARMS, DATA, TURNAROUND_S, crossing, measured, replay
from probes.sim.model import H200
from probes.sim.spec import SimSpec
from probes.sim.truth import throughput_tok_s, true_crossover, true_curve


def test_every_measured_cell_is_met_within_six_percent_and_every_crossing_within_ten() -> None:
    cells = measured(DATA)
    assert len(cells) == 36
    simulated = {(arm, clients): replay(ARMS[arm], clients, H200, TURNAROUND_S) for arm, clients in cells}
    for cell, tok_s in cells.items():
        assert simulated[cell] == pytest.approx(tok_s, rel=0.06), cell

    def curve(source: dict[tuple[str, int], float], arm: str) -> dict[int, float]:
        return {clients: tok_s for (name, clients), tok_s in source.items() if name == arm}

    for arm, expected in (("k1", 240.0), ("k3", 167.0), ("k5", 93.0)):
        assert crossing(curve(cells, arm), curve(cells, "off")) == pytest.approx(expected, rel=0.01)
        assert crossing(curve(simulated, arm), curve(simulated, "off")) == pytest.approx(expected, rel=0.10)


@pytest.mark.parametrize("wanted", [8.0, 24.0, 60.0])
def test_k3_crosses_near_where_it_was_told_to(wanted: float) -> None:
    found = true_crossover(SimSpec(k=0, crossover=wanted), SimSpec(k=3, crossover=wanted), request_steps=30_000)
    assert found == pytest.approx(wanted, rel=0.06)


def test_more_drafts_cross_earlier() -> None:
    off = SimSpec(k=0, crossover=24.0)
    found = [true_crossover(off, SimSpec(k=k, crossover=24.0), request_steps=30_000) for k in (5, 3)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0] < 0.8 * found[1]


def test_no_crossover_means_that_speculation_wins_at_any_load() -> None:
    off, on = SimSpec(k=0, crossover=None, max_num_seqs=64), SimSpec(k=3, crossover=None, max_num_seqs=64)
    assert true_crossover(off, on, request_steps=10_000) is None
    assert all(speedup > 1.3 for *_, speedup in true_curve(off, on, [1, 16, 64], request_steps=10_000))


def test_lower_acceptance_crosses_earlier() -> None:
    off = SimSpec(k=0, crossover=24.0)
    worse = SimSpec(k=3, crossover=24.0, acceptance=(0.55, 0.3, 0.16))
    found = true_crossover(off, worse, request_steps=30_000)
    assert found is not None
    assert found < 16.0


def test_noise_does_not_touch_the_truth() -> None:
    truths = {
        throughput_tok_s(SimSpec(k=3, seed=1, start_noise=n, step_noise=n), 4, request_steps=2000) for n in (0, 9)
    }
    assert len(truths) == 1


def test_engines_add_up_and_time_scale_divides() -> None:
    one = throughput_tok_s(SimSpec(k=3), 4, request_steps=2000)
    assert throughput_tok_s(SimSpec(k=3, engines=2), 4, request_steps=2000) == pytest.approx(2 * one)
    assert throughput_tok_s(SimSpec(k=3, time_scale=4.0), 4, request_steps=2000) == pytest.approx(one / 4)


def test_a_cache_too_small_for_the_prompt_is_said() -> None:
    with pytest.raises(ValueError, match="KV blocks"):
        throughput_tok_s(SimSpec(k=0, kv_tokens=160), 1, prompt_tokens=500)
