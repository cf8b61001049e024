"""Live traffic of a mix between two swept ones, on a real server: what is said of it, and what a sweep of it measured.

The third sweep, of that very mix on the same machine, is the truth here; no answer below has seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import pytest

from monitor.now_values import AsOfNow
from monitor.values import EndpointStatus, LiveVerdict
from probes.answer_values import ArmVerdict, BandPoint, Verdict
from probes.crossover import speedup_at
from tests.support.alert_replay import (
    H200,
    LIKE_SWEEP,
    MIX_FIXTURE,
    MIX_SWEEP,
    Look,
    answer,
    by_phase,
    looks,
    readings_in,
)

MEASURED = H200 / "streaming" / "mix-1024.json"
GOOD, TOO_MANY, POOR = "k3-64", "k3-100", "poor-60"


@cache
def seen() -> tuple[Look, ...]:
    """With both sweeps in the store."""
    return tuple(looks(readings_in(MIX_FIXTURE), sweep=MIX_SWEEP, earlier=LIKE_SWEEP))


@cache
def with_one_sweep() -> tuple[Look, ...]:
    return tuple(looks(readings_in(MIX_FIXTURE), sweep=LIKE_SWEEP))


def truth(arm: str) -> ArmVerdict:
    return answer(MEASURED).result.arms[arm]


def measured(arm: str, concurrency: float) -> float:
    point = speedup_at(truth(arm), concurrency)
    assert point is not None
    return point.ratio


def statuses(found: Iterable[Look], *phases: str) -> list[EndpointStatus]:
    """Of looks whose window holds the phase's server and load alone."""
    began_s: dict[str, float] = {}
    return [
        look.status
        for look in found
        if look.phase in phases and look.at_s > began_s.setdefault(look.phase, look.at_s) + 25
    ]


def moved(found: Iterable[Look], phase: str) -> list[tuple[float, AsOfNow]]:
    """What those say of the live mix, and at which load."""
    return [(s.concurrency, s.as_of_now) for s in statuses(found, phase) if s.concurrency and s.as_of_now is not None]


def said_at(now: AsOfNow, concurrency: float) -> BandPoint:
    point = speedup_at(now.arms["k3"], concurrency)
    assert point is not None
    return point


def test_a_mix_between_the_two_that_were_swept_is_answered_and_as_of_now() -> None:
    looked = moved(seen(), GOOD)
    assert len(looked) > 15
    for _, now in looked:
        assert now.decides
        assert now.verdict is Verdict.ALWAYS_FASTER
        assert now.mix is not None
        assert now.mix.mix.prompt_tokens == pytest.approx(1024, rel=0.01)
        assert now.mix.mix.output_tokens == pytest.approx(128, rel=0.01)


def test_the_speedup_that_is_said_holds_what_a_sweep_of_that_mix_measured() -> None:
    for concurrency, now in moved(seen(), GOOD):
        for at in (24.0, 40.0, min(concurrency, 63.9)):
            said = said_at(now, at)
            assert said.low < measured("k3", at) < said.high
            assert said.ratio == pytest.approx(measured("k3", at), rel=0.10)


def test_that_of_a_poor_draft_does_too() -> None:
    looked = moved(seen(), POOR)
    assert len(looked) > 12
    for concurrency, now in looked:
        assert now.acceptance_length == pytest.approx(1.74, abs=0.02)
        for at in (24.0, 40.0, concurrency):
            said = said_at(now, at)
            assert said.low < measured("poor", at) < said.high
            assert said.ratio == pytest.approx(measured("poor", at), rel=0.10)


def test_two_mixes_say_more_of_the_one_between_than_the_nearer_alone() -> None:
    both, nearer = answer(MIX_SWEEP, LIKE_SWEEP).result.step_model, answer(MIX_SWEEP).result.step_model
    assert both is not None
    assert nearer is not None
    assert len(both.mixes) == 2
    alone = moved(looks(readings_in(MIX_FIXTURE), sweep=MIX_SWEEP), POOR)
    for (at, now), (_, without) in zip(moved(seen(), POOR), alone, strict=True):
        band, wide = said_at(now, at), said_at(without, at)
        assert band.high / band.low < 0.95 * wide.high / wide.low
        assert now.low is not None, "a gain is sure at small loads"
        assert without.low is None


def test_no_verdict_contradicts_the_sweep_of_that_mix() -> None:
    assert truth("k3").verdict is Verdict.ALWAYS_FASTER
    assert truth("poor").verdict is Verdict.CROSSES
    for _, now in moved(seen(), POOR):
        assert now.verdict is Verdict.UNCLEAR
        assert said_at(now, 64.0).low < 1
    for look in seen():
        load, speedup = look.status.concurrency or 0.0, look.status.speedup_now
        assert look.status.verdict is not LiveVerdict.ABOVE
        if look.phase == GOOD and speedup is not None:
            assert load > 64 or speedup.low > 1
        if look.phase == POOR and load > 50:
            assert look.status.verdict is LiveVerdict.UNKNOWN


def test_a_load_above_the_ladder_is_answered_by_nothing() -> None:
    above = [look.status for look in seen() if look.phase == TOO_MANY and (look.status.concurrency or 0.0) > 82]
    assert len(above) > 10
    for status in above:
        assert status.verdict is LiveVerdict.UNKNOWN
        assert status.speedup_now is None
        assert "outside the range that the sweep measured" in status.alerting_reason


def test_with_the_first_sweep_alone_no_answer_is_given() -> None:
    for phase in (GOOD, POOR):
        looked = moved(with_one_sweep(), phase)
        assert len(looked) > 12
        for _, now in looked:
            assert now.verdict is Verdict.INSUFFICIENT
            assert [reason.code for reason in now.reasons] == ["mix_not_covered"]
    assert not [s for s in statuses(with_one_sweep(), GOOD, POOR) if s.speedup_now is not None]


@pytest.mark.parametrize("found", [seen, with_one_sweep], ids=["both", "one"])
def test_nobody_is_woken(found: Callable[[], tuple[Look, ...]]) -> None:
    assert not [event for told in by_phase(found()).values() for event in told]
