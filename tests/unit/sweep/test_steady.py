"""Where a window becomes steady is told from its polls, and from nothing where they cannot tell."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest

from probes.load.records import Ending, RequestRecord
from probes.sweep.evidence import Evidence
from probes.sweep.steady import cut_ramp, trend
from tests.support.evidence import RATE, evidence, reading


def window(*tok_s: float, live: bool = True) -> Evidence:
    """A window of one-second polls with these rates."""
    counts = list(accumulate(tok_s, initial=1000.0))
    samples = tuple(
        replace(page, engines=(replace(page.engines[0], generation_tokens=count, generation_tokens_live=live),))
        for page, count in ((reading(3.0 + second), count) for second, count in enumerate(counts))
    )
    return replace(evidence(), start=samples[0], end=samples[-1], samples=samples)


def cut_s(given: Evidence) -> float | None:
    return cut_ramp(given).ramp_cut_s


def noisy(count: int, seed: int, slope: float = 0.0) -> list[float]:
    rng = np.random.default_rng(seed)
    return [float(RATE * (1 + slope * (n - count / 2) / count + 0.05 * rng.normal())) for n in range(count)]


def test_a_slow_start_is_cut_and_the_rest_kept() -> None:
    given = window(100, 200, 300, *[RATE] * 13)
    kept = cut_ramp(given)
    assert kept.ramp_cut_s == 3.0
    assert kept.start == given.samples[3]
    assert kept.samples == given.samples[3:]


def test_at_most_half_of_a_window_is_cut() -> None:
    found = cut_s(window(*[0.8 * RATE] * 11, *[RATE] * 9))
    assert found is None or found <= 10.0


def test_polls_too_few_to_tell_cut_nothing_and_show_no_trend() -> None:
    given = window(100, 200, 300, *[RATE] * 4)
    assert cut_ramp(given) is given
    assert trend(given) is None


def test_noise_is_neither_a_ramp_nor_a_trend() -> None:
    """5% from poll to poll, as at a few streams; one clear trend in a thousand is chance."""
    windows = [window(*noisy(45, seed)) for seed in range(200)]
    assert sum(cut_s(given) is not None for given in windows) <= 1
    assert sum(found.clear for given in windows if (found := trend(given)) is not None) <= 2


def test_waves_are_not_taken_for_a_trend() -> None:
    """Requests that start together end together: neighbouring polls are alike, and seem to rise or fall for long."""
    windows = []
    for seed in range(200):
        rng, wave, rates = np.random.default_rng(seed), 0.0, []
        for _ in range(45):
            wave = 0.6 * wave + 0.04 * rng.normal()
            rates.append(float(RATE * (1 + wave)))
        windows.append(window(*rates))
    # Were neighbours taken as independent, 17 of them would show a trend and 19 be cut.
    assert sum(found.clear for given in windows if (found := trend(given)) is not None) <= 4
    assert sum(cut_s(given) is not None for given in windows) <= 7


def with_unlike_requests(clients: int, request_s: float, seed: int, slope: float = 0.0) -> Evidence:
    """A steady server on which each request has a speed of its own, as where some texts draft well and some badly."""
    rng, edges, made = np.random.default_rng(seed), np.arange(46.0), []
    rates = np.zeros(45)
    for client in range(clients):
        start_s = -float(rng.uniform(0, request_s))
        while start_s < 45:
            speed = float(rng.uniform(60, 140)) * (1 + slope * (start_s / 45 - 0.5))
            tokens = round(float(rng.uniform(50, 150)) * request_s)
            end_s = start_s + tokens / speed
            rates += speed * (edges[1:].clip(start_s, end_s) - edges[:-1].clip(start_s, end_s))
            made.append(request(client, 3 + start_s, 3 + end_s, tokens))
            start_s = end_s
    return replace(window(*(rates * (1 + 0.02 * rng.normal(size=45)))), records=tuple(made))


def request(client: int, start_s: float, end_s: float, tokens: int) -> RequestRecord:
    return RequestRecord(0, client, start_s, start_s, start_s, end_s, end_s, Ending.OK, 10, tokens, "stop")


@pytest.mark.parametrize(("clients", "request_s"), [(1, 8), (1, 15), (1, 25), (4, 15), (16, 25)])
def test_few_requests_of_unlike_speed_are_neither_a_ramp_nor_a_trend(clients: int, request_s: float) -> None:
    windows = [with_unlike_requests(clients, request_s, seed) for seed in range(100)]
    # By the polls alone up to 36 of them would be cut and 16 show a trend.
    assert sum(cut_s(given) is not None for given in windows) <= 3
    assert sum(found.clear for given in windows if (found := trend(given)) is not None) <= 3


def test_a_drift_shows_through_requests_of_unlike_speed() -> None:
    found = [trend(with_unlike_requests(64, 8, seed, slope=-0.4)) for seed in range(10)]
    assert all(one is not None and one.clear and one.change < -0.2 for one in found)


def test_a_drift_is_a_trend_and_not_a_ramp() -> None:
    for seed in range(20):
        given = window(*noisy(45, seed, slope=-0.3))
        assert cut_s(given) is None
        found = trend(given)
        assert found is not None
        assert found.clear
        assert found.change == pytest.approx(-0.3, abs=0.1)


def test_a_server_that_stops_is_no_ramp() -> None:
    assert cut_s(window(*[RATE] * 7, *[0.0] * 9)) is None


def test_without_a_live_counter_the_requests_times_tell() -> None:
    given = window(*[0.0] * 12, live=False)
    found = trend(given)
    assert found is not None
    assert found.change == pytest.approx(0.0, abs=0.01)


def test_a_counter_that_falls_tells_nothing() -> None:
    assert trend(window(*[RATE] * 6, -2000, *[RATE] * 6)) is None
