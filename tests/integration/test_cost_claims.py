"""What a cost claims happens on the simulator when somebody switches the arm, in virtual time.

The same functions print the tables of `docs/cost.md` with more requests.
"""

from __future__ import annotations

import pytest

from benchmarks.cover_cost import LADDERS, coverage
from benchmarks.eval_cost import Pair, pair, switched_closed, switched_open


@pytest.fixture(scope="module")
def servers() -> Pair:
    """Both arms measured from 1 to 96 requests, without noise."""
    return pair(request_steps=15_000)


@pytest.mark.parametrize("clients", [12, 40])
def test_at_one_concurrency_output_moves_as_predicted(servers: Pair, clients: int) -> None:
    true, predicted = switched_closed(servers, clients, request_steps=15_000)
    assert predicted.low < true < predicted.high
    assert predicted.ratio == pytest.approx(true, rel=0.03)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_at_one_arrival_rate_output_stays_and_time_per_token_moves_as_predicted(servers: Pair, share: float) -> None:
    on, off, there = switched_open(servers, share, requests=1500)
    assert off.tok_s == pytest.approx(on.tok_s, rel=0.01), "below saturation output is what arrives"
    assert there.concurrency is not None
    assert there.concurrency == pytest.approx(off.concurrency, rel=0.05)
    assert there.low is not None
    assert there.high is not None
    assert there.low < off.concurrency < there.high
    assert off.running / on.running == pytest.approx(off.concurrency / on.concurrency, rel=0.03)
    assert off.token_s / on.token_s == pytest.approx(there.concurrency / on.concurrency, rel=0.05)
    assert off.token_s > 1.2 * on.token_s


@pytest.mark.parametrize("ladder", ["doubling", "sparse"])
def test_intervals_of_noisy_sweeps_cover_as_often_as_they_say(ladder: str) -> None:
    found = coverage(LADDERS[ladder], 80, seed=4)
    assert 0.84 <= found.same_rate <= 0.97
    assert found.same_concurrency >= 0.82
    assert found.width_octaves < 0.25
    assert found.silent <= 0.02 * found.cases
