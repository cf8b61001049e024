"""Arrivals that do not wait for answers: as many as asked for, Little's law holds, and the same for every arm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.sim.arrivals import Arrival, poisson, serve
from probes.sim.engine import Engine
from probes.sim.spec import SimSpec
from probes.sim.truth import throughput_tok_s

QUIET = SimSpec(k=0, start_noise=0.0, step_noise=0.0)


def test_arrivals_come_at_the_rate_and_length_asked_for() -> None:
    made = poisson(5.0, 4000, 100.0, seed=2)
    assert made[-1].at_s == pytest.approx(4000 / 5.0, rel=0.05)
    assert sum(a.output_tokens for a in made) / 4000 == pytest.approx(100.0, rel=0.05)
    assert made == poisson(5.0, 4000, 100.0, seed=2)
    assert made != poisson(5.0, 4000, 100.0, seed=3)


def test_little_s_law_holds() -> None:
    seen = serve(Engine(QUIET), poisson(2.0, 800, 128.0))
    assert seen.concurrency == pytest.approx(seen.tok_s * seen.token_s, rel=0.03)
    assert seen.running <= seen.concurrency
    assert seen.waiting_share < 0.05


def test_requests_one_at_a_time_take_as_long_as_alone() -> None:
    alone = [Arrival(20.0 * n, 200) for n in range(30)]
    seen = serve(Engine(QUIET), alone)
    one = throughput_tok_s(QUIET, 1, request_steps=4000)
    assert 1 / seen.token_s == pytest.approx(one, rel=0.03)
    assert seen.tok_s == pytest.approx(200 / 20.0, rel=0.05)


def test_more_than_the_server_can_do_piles_up() -> None:
    small = replace(QUIET, max_num_seqs=4)
    seen = serve(Engine(small), poisson(20.0, 600, 128.0))
    assert seen.waiting_share > 0.9
    assert seen.running == pytest.approx(4.0, rel=0.05)
    assert seen.concurrency > 50
