"""What the live arm costs: per token, in capacity, in output only where output is lost, and with the same arrivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from monitor.cost import cost_json, cost_now, saturated
from monitor.cost_text import cost_lines, slower_words
from monitor.now_values import AsOfNow, Cost
from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.values import EndpointStatus, EngineNow, StoredCrossover, StoredReading
from probes.answer_values import BandPoint, BestRange, CurveSample
from probes.values import Identity
from tests.support.readings import NOW_S, crossing, engine, minute, reading, stored

RUNGS = (1, 8, 16, 24, 32, 64)
OFF = (100.0, 800.0, 1500.0, 2000.0, 2400.0, 3200.0)
K3 = tuple(y * r for y, r in zip(OFF, (1.9, 1.5, 1.15, 1.0, 0.9, 0.8), strict=True))
K1 = tuple(y * r for y, r in zip(OFF, (1.3, 1.25, 1.2, 1.15, 1.1, 0.9), strict=True))


def samples(tok_s: Sequence[float], half: float = 0.03) -> tuple[CurveSample, ...]:
    return tuple(CurveSample(x, y, y * math.exp(-half), y * math.exp(half)) for x, y in zip(RUNGS, tok_s, strict=True))


def measured(*best: BestRange) -> StoredCrossover:
    """k3 crosses off at 24; k1 is ahead of both from 16 to 60."""
    k1 = crossing("k1", band=[(x, y / o, 0.96 * y / o, 1.04 * y / o) for x, y, o in zip(RUNGS, K1, OFF, strict=True)])
    held = stored(crossing(), k1, arm_k={"off": None, "k1": 1, "k3": 3})
    curves = {"off": samples(OFF), "k1": samples(K1), "k3": samples(K3)}
    return replace(held, result=replace(held.result, curves=curves, best=best))


def status(readings: Sequence[StoredReading], held: StoredCrossover | None, **changes: object) -> EndpointStatus:
    inputs = EndpointInputs(
        name="chat",
        pool="chat",
        declared_live_arm=None,
        readings=readings,
        identity=Identity(version="0.26.0", model_root="m"),
        fingerprint="f" * 12,
        crossover=held,
    )
    settings = LiveSettings(live_window_s=60.0, stale_after_s=20.0, max_age_s=14 * 86400.0, tolerated_loss_pct=3.0)
    return replace(endpoint_status(inputs, settings, NOW_S), **changes)  # type: ignore[arg-type]


def cost(readings: Sequence[StoredReading], held: StoredCrossover | None = None, **changes: object) -> Cost:
    held = held or measured()
    found = cost_now(status(readings, held, **changes), held, None)
    assert found is not None
    return found


def test_above_the_crossover_it_costs_time_per_token_and_capacity() -> None:
    found = cost(minute(32.0), tpot_p50_ms=20.0)
    assert found.slower_pct.value == pytest.approx(100 * (1 / 0.9 - 1))
    assert found.slower_pct.low == pytest.approx(100 * (1 / 0.94 - 1))
    assert found.slower_pct.high == pytest.approx(100 * (1 / 0.86 - 1))
    assert found.ms_per_token is not None
    assert found.ms_per_token.value == pytest.approx(2.0)
    assert found.best_arm == "k1"
    assert found.capacity_tok_s is not None
    assert found.capacity_tok_s.value == pytest.approx(500.0 * (1.1 / 0.9 - 1))
    assert found.capacity_tok_s.low is not None
    assert found.capacity_tok_s.low == pytest.approx(500.0 * (1.1 / 0.9 * math.exp(-0.03 * math.sqrt(2)) - 1))


def test_below_the_crossover_it_saves_and_nothing_is_lost() -> None:
    found = cost(minute(8.0), tpot_p50_ms=10.0)
    assert found.slower_pct.value < -30
    assert found.ms_per_token is not None
    assert found.ms_per_token.value == pytest.approx(-5.0)
    assert found.best_arm == "k3"
    assert found.capacity_tok_s is not None
    assert (found.capacity_tok_s.value, found.capacity_tok_s.low) == (0.0, 0.0)


def test_the_arm_that_the_sweep_names_best_is_the_one_compared_with() -> None:
    tie = measured(BestRange(20.0, 64.0, "off", 1.0, False))
    found = cost(minute(32.0), tie)
    assert found.best_arm == "off"
    assert found.capacity_tok_s is not None
    assert found.capacity_tok_s.value == pytest.approx(500.0 * (1 / 0.9 - 1))
    assert found.capacity_tok_s.low == pytest.approx(500.0 * (1 / 0.94 - 1))


def test_output_is_lost_only_while_requests_wait() -> None:
    def looks(*waiting: float | None) -> list[StoredReading]:
        held = minute(32.0)
        return [
            replace(one, reading=replace(one.reading, engines=(replace(one.reading.engines[0], waiting=w),)))
            for one, w in zip(held[-len(waiting) :], waiting, strict=True)
        ]

    assert saturated(looks(3, 0, 2, 4), NOW_S - 60, "0") is True
    assert saturated(looks(0, 1, 0, 0), NOW_S - 60, "0") is False
    assert saturated(looks(None, None, None), NOW_S - 60, "0") is None
    assert saturated(looks(3, 3, 3), NOW_S - 60, "1") is None
    assert saturated([replace(one, sweep_id=7) for one in looks(3, 3, 3)], NOW_S - 60, "0") is None
    queued = status([*minute(30.0)[:-4], *looks(2, 2, 2, 2)], measured()).cost
    quiet = status(minute(32.0), measured()).cost
    assert quiet is not None
    assert quiet.lost_tok_s is None
    assert quiet.saturated is False
    waits = cost_now(status(minute(32.0), measured()), measured(), True)
    assert waits is not None
    assert waits.lost_tok_s == waits.capacity_tok_s
    assert queued is not None
    assert queued.saturated is False, "most looks saw nobody wait"


def test_with_the_same_arrivals_the_others_sit_elsewhere() -> None:
    found = cost(minute(32.0))
    assert [one.arm for one in found.at_same_rate] == ["off", "k1"]
    off, k1 = found.at_same_rate
    assert off.concurrency is not None
    assert off.time_per_token is not None
    assert off.concurrency.value == pytest.approx(27.1, rel=0.01), "where off makes the 2160 tok/s of k3"
    assert off.time_per_token.value == pytest.approx(off.concurrency.value / 32.0)
    assert k1.concurrency is not None
    assert k1.concurrency.value < off.concurrency.value


def test_an_arm_that_cannot_carry_the_load_says_so() -> None:
    held = measured()
    weak = tuple(min(y, 1500.0) for y in OFF)
    held = replace(held, result=replace(held.result, curves={**held.result.curves, "k1": samples(weak)}))
    k1 = cost(minute(32.0), held).at_same_rate[1]
    assert k1.concurrency is None
    assert "could not carry it" in k1.reason


def test_while_speculation_is_off_it_costs_nothing_per_token_but_may_cost_capacity() -> None:
    found = cost(minute(8.0, k=None))
    assert found.slower_pct.value == 0.0
    assert found.best_arm == "k3"
    assert found.capacity_tok_s is not None
    assert found.capacity_tok_s.value == pytest.approx(500.0 * 0.5)


def test_the_answer_as_of_now_moves_every_number_where_it_decides() -> None:
    worse = crossing(band=((1, 1.2, 1.15, 1.25), (64, 0.6, 0.57, 0.63)))
    at = BandPoint(32.0, 0.7, 0.66, 0.74)
    now = AsOfNow(
        "k3", worse.verdict, 8.0, 7.0, 9.0, worse.speedup, 1.8, 2.6, None, None, None, None, (), True, {"k3": worse}
    )
    found = cost(minute(32.0), measured(BestRange(1.0, 64.0, "k1", 5.0, True)), speedup_now=at, as_of_now=now)
    assert found.slower_pct.value == pytest.approx(100 * (1 / 0.7 - 1))
    assert found.best_arm == "off", "k1 has no answer at the acceptance of now"
    assert found.capacity_tok_s is not None
    assert found.capacity_tok_s.value == pytest.approx(500.0 * (1 / 0.7 - 1))
    assert [one.arm for one in found.at_same_rate] == ["off"]
    assert cost(minute(32.0), as_of_now=replace(now, decides=False)).best_arm == "k1"


@pytest.mark.parametrize("concurrency", [0.0, 100.0])
def test_without_load_or_beyond_what_was_measured_there_is_no_cost(concurrency: float) -> None:
    assert status(minute(concurrency), measured()).cost is None


def test_what_may_not_be_compared_has_no_cost() -> None:
    other = replace(measured(), fingerprint="0" * 12)
    assert status(minute(32.0), other).cost is None
    assert status(minute(32.0), None).cost is None


def test_an_answer_without_curves_tells_the_time_per_token_alone() -> None:
    found = cost(minute(32.0), stored())
    assert found.slower_pct.value > 10
    assert found.best_arm is None
    assert found.capacity_tok_s is None
    assert found.at_same_rate == ()


def test_the_busiest_engine_s_own_output_is_what_counts() -> None:
    engines = (EngineNow("0", 32.0, 0.0, 0.4, 32.0, 1000.0), EngineNow("1", 30.0, 0.0, 0.4, 30.0, 900.0))
    found = cost(minute(32.0), engines=engines)
    assert found.capacity_tok_s is not None
    assert found.capacity_tok_s.value == pytest.approx(1000.0 * (1.1 / 0.9 - 1))


def test_the_words_and_the_json_say_the_same() -> None:
    held = measured()
    found = cost_now(status(minute(32.0), held, tpot_p50_ms=20.0), held, True)
    assert found is not None
    lines = cost_lines(found, "k3", "off")
    assert lines[0] == (
        "k3 against off: 10% [6, 14] less output at the same concurrency (11% [6, 16] more time per token); "
        "+2.0 [+1.2, +2.8] ms of each token"
    )
    assert lines[1].startswith("requests wait, so output is lost: k1 would make +111 [+")
    assert lines[2].startswith("with the requests that arrive now off would hold 26.9 [")
    assert lines[2].endswith("] times the time per token")
    document = cost_json(found)
    assert document is not None
    assert document["more_time_per_token_pct"]["value"] == pytest.approx(100 * (1 / 0.9 - 1))
    assert document["less_output_pct"]["value"] == pytest.approx(10.0)
    assert document["less_output_pct"]["low"] == pytest.approx(6.0)
    assert document["less_output_pct"]["high"] == pytest.approx(14.0)
    assert document["lost_tok_s"] == document["capacity_tok_s"]
    assert [one["arm"] for one in document["at_same_rate"]] == ["off", "k1"]
    assert cost_json(None) is None


def test_a_lead_inside_the_noise_is_not_called_a_loss() -> None:
    tie = measured(BestRange(16.0, 64.0, "off", 1.0, False))
    at = BandPoint(25.0, 0.985, 0.95, 1.02)
    found = cost(minute(25.0), tie, speedup_now=at)
    (line,) = [line for line in cost_lines(found, "k3", "off") if "tok/s" in line]
    assert line.startswith("off could make +7.6 [-9.8, +26.3] tok/s per engine at this concurrency")
    assert line.endswith("within the noise of k3")
    assert "lost" not in line


def test_one_look_says_nothing_of_a_queue() -> None:
    one = [StoredReading(reading(NOW_S, [engine(waiting=4.0)]), None)]
    assert saturated(one, NOW_S - 60, "0") is None


def test_a_wider_band_as_of_now_makes_a_wider_answer() -> None:
    def width(half: float) -> float:
        band = [(x, r, r - half, r + half) for x, r in ((1, 1.9), (16, 1.15), (32, 0.9), (64, 0.8))]
        moved = crossing(band=band)
        now = AsOfNow(
            "k3", moved.verdict, 24.0, 20.0, 29.0, moved.speedup, 1.8, 2.6, None, None, None, None, (), True,
            {"k3": moved},
        )  # fmt: skip
        rate = cost(minute(32.0), as_of_now=now).at_same_rate[0]
        assert rate.concurrency is not None
        assert rate.concurrency.low is not None
        return rate.concurrency.value - rate.concurrency.low

    assert 0 < width(0.01) < width(0.06) < width(0.1)


def test_slower_is_told_in_output_and_in_time_per_token() -> None:
    assert slower_words(BandPoint(12.5, 0.75, 0.72, 0.78)) == (
        "25% [22, 28] less output at the same concurrency (33% [28, 39] more time per token)"
    )
    assert slower_words(BandPoint(4.0, 1.25, 1.0, 1.6)) == (
        "25% [0, 60] more output at the same concurrency (20% [0, 38] less time per token)"
    )


def test_an_arm_that_nobody_measured_that_low_is_told_in_words() -> None:
    held = measured()
    high = replace(held.result, curves={**held.result.curves, "k1": samples(K1)[2:]})
    (line,) = [
        line for line in cost_lines(cost(minute(18.0), replace(held, result=high)), "k3", "off") if "what k1" in line
    ]
    assert line == (
        "what k1 would do with the requests that arrive now: not known: it would often hold fewer than 16 requests at "
        "once, and nothing was measured that low (a ladder that begins at 1 tells)"
    )
