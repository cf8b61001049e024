"""A hand-made snapshot of traffic that left what the sweep measured: acceptance fell, or requests became other ones."""

from __future__ import annotations

from dataclasses import replace

from monitor.now_values import AsOfNow, LiveMix
from monitor.values import AlertPhase, AlertState, EndpointStatus, LiveVerdict, Snapshot
from probes.answer_values import BandPoint, Verdict
from probes.steptime.values import Mix
from probes.values import Reason
from tests.support.scene_parts import crossover, endpoint, history, snapshot
from tests.support.scene_sweeps import NOW, band_at

SWEPT = Mix(prompt_tokens=178.0, output_tokens=256.0)


def _as_of_now(concurrency: float, acceptance: float, shift: float, observed: float) -> AsOfNow:
    """The swept band with all of its concurrencies scaled."""
    swept = crossover()
    assert swept.value is not None
    assert swept.low is not None
    assert swept.high is not None
    band = tuple(BandPoint(p.concurrency * shift, p.ratio, p.low * 0.99, p.high * 1.01) for p in swept.band)
    return AsOfNow(
        for_arm="k3",
        verdict=Verdict.CROSSES,
        value=swept.value * shift,
        low=swept.low * shift * 0.95,
        high=swept.high * shift * 1.05,
        band=band,
        acceptance_length=acceptance,
        acceptance_measured=2.62,
        break_even=BandPoint(concurrency, 2.31, 2.22, 2.40),
        mix=LiveMix(Mix(191.0, 249.0), requests=812.0, span_s=895.0),
        mix_measured=SWEPT,
        observed=BandPoint(concurrency, observed, observed * 0.86, observed * 1.13),
        decides=shift != 1.0,
        acceptance_moved=shift != 1.0,
    )


def _moved() -> EndpointStatus:
    now = _as_of_now(20.0, 1.98, 0.62, 0.90)
    speedup = band_at(now.band, 20.0)
    assert now.low is not None
    return endpoint(
        "chat-a",
        20.0,
        acceptance_length=1.98,
        acceptance_rate=0.33,
        as_of_now=now,
        verdict=LiveVerdict.ABOVE,
        speedup_now=speedup,
        loss_pct=(1 - speedup.ratio) * 100 if speedup is not None else None,
        alerting=True,
        headroom=now.low / 20.0,
    )


def _withdrawn() -> EndpointStatus:
    why = (
        "Requests have 6100 + 240 tokens now; the sweep had 178 + 256. How k3 does with those is not known: "
        "sweep this mix"
    )
    now = AsOfNow(
        for_arm="k3",
        verdict=Verdict.INSUFFICIENT,
        value=None,
        low=None,
        high=None,
        band=(),
        acceptance_length=2.58,
        acceptance_measured=2.62,
        break_even=None,
        mix=LiveMix(Mix(6100.0, 240.0), requests=140.0, span_s=890.0),
        mix_measured=SWEPT,
        observed=None,
        reasons=(Reason("mix_not_covered", why),),
        decides=True,
    )
    return endpoint(
        "chat-b",
        9.0,
        as_of_now=now,
        acceptance_length=2.58,
        verdict=LiveVerdict.UNKNOWN,
        verdict_reason=why,
        alerting_reason=why,
        speedup_now=None,
        headroom=None,
        loss_pct=None,
        alerting=False,
        rule_applies=False,
    )


def unmodelled() -> Snapshot:
    """chat-a lost acceptance, and its sweep does not tell what that does to the crossover."""
    why = "The crossover as swept will not follow today's acceptance and requests: the cells scatter by 9%."
    now = replace(
        _as_of_now(37.2, 1.98, 1.0, 0.9),
        break_even=None,
        acceptance_moved=True,
        reasons=(
            Reason("no_step_model", "The acceptance length is 1.98 now and was 2.62."),
            Reason("no_step_model", why),
        ),
    )
    return snapshot(endpoint("chat-a", 37.2, acceptance_length=1.98, as_of_now=now))


def drifted() -> Snapshot:
    """chat-a lost acceptance, chat-b got long prompts that no sweep covers, chat-c is as swept."""
    return snapshot(
        _moved(),
        _withdrawn(),
        endpoint("chat-c", 6.3, acceptance_length=2.6, as_of_now=_as_of_now(6.3, 2.6, 1.0, 1.24)),
        history={"chat-a": history(20.0, rising=True), "chat-b": history(9.0), "chat-c": history(6.3)},
        alerts=(AlertState("chat-a", "above_crossover", AlertPhase.PENDING, NOW - 70, None, None, None, NOW, None),),
    )
