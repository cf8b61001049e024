"""Pure derivation of one endpoint's live status from its recent readings and its pool's newest crossover.

Takes the clock as an argument, touches nothing; what cannot be told comes out as None or `unknown` with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.as_of_now import as_of_now
from monitor.compared import arms_compared, compared, seen_faster
from monitor.cost import with_cost
from monitor.live_arm import LiveArm, find_live_arm
from monitor.live_window import LiveWindow, live_window
from monitor.now_values import AsOfNow, LiveMix
from monitor.observed import with_output
from monitor.values import CrossoverNow, EndpointStatus, StoredCrossover, StoredReading
from monitor.verdict_now import (
    BY_CLIENTS,
    contradicted,
    no_alert,
    not_borne_out,
    not_swept,
    rule_applies,
    verdict_of,
    withdrawal,
)
from probes.answer_values import ArmVerdict, Axis, BandPoint, Verdict
from probes.crossover import speedup_at
from probes.values import Identity, State


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """The parts of the config that live status depends on."""

    live_window_s: float
    stale_after_s: float
    max_age_s: float
    tolerated_loss_pct: float


@dataclass(frozen=True, slots=True)
class EndpointInputs:
    """What is known of one endpoint at one instant."""

    name: str
    pool: str
    declared_live_arm: str | None
    readings: Sequence[StoredReading]
    """Oldest first, at least the live window, failed scrapes included."""
    identity: Identity | None
    fingerprint: str | None
    crossover: StoredCrossover | None
    sweep_id: int | None = None
    """A sweep that is loading this endpoint now or did within its settle time."""
    settled_at_s: float | None = None
    """Of a sweep that has ended: when its settle time is over."""
    declared_baseline: str | None = None
    """The pool's arm without speculation, as config names it."""
    mix: LiveMix | None = None


def endpoint_status(inputs: EndpointInputs, settings: LiveSettings, now_s: float) -> EndpointStatus:
    """Everything the screens, the alert rule and `once` say of one endpoint."""
    state, reason, age_s = _state(inputs.readings, settings, now_s)
    window = live_window(inputs.readings, now_s - settings.live_window_s)
    arm = find_live_arm(inputs.declared_live_arm, inputs.crossover, window, inputs.declared_baseline)
    crossover = _crossover_now(inputs, arm, window, settings, now_s)
    barrier = _barrier(inputs, state, reason, window, arm, crossover, now_s)
    now = None
    if barrier is None and inputs.crossover is not None and crossover is not None:
        now = as_of_now(inputs.crossover, crossover.for_arm, arm.name, window, inputs.mix)
        barrier = withdrawal(now)
    judged = compared(crossover, now)
    verdict, verdict_reason = verdict_of(barrier, window, judged, now)
    speculating = (
        arm.name is not None and inputs.crossover is not None and (arm.name != inputs.crossover.result.baseline)
    )
    speedup = None
    if barrier is None and speculating and crossover is not None:
        speedup = _speedup(inputs.crossover, crossover.for_arm, window, now)
    costs = speculating and window.speculation_configured is not False
    applies, applies_reason = rule_applies(barrier, costs, window, speedup)
    least = 1 - settings.tolerated_loss_pct / 100
    alerting = applies and speedup is not None and speedup.high < least
    if alerting and seen_faster(now):
        alerting, applies_reason = False, contradicted(now)
    elif alerting and speedup is not None and (both := with_output(speedup, now)).high >= least:
        alerting, applies_reason = False, not_borne_out(both, now)
    if applies and not alerting:
        applies_reason = applies_reason or no_alert(verdict, speedup, settings.tolerated_loss_pct)
    found = EndpointStatus(
        name=inputs.name,
        pool=inputs.pool,
        state=state,
        reason=reason,
        age_s=age_s,
        engine_kind=window.engine_kind,
        version=inputs.identity.version if inputs.identity else None,
        engines=window.engines if state is State.OK else (),
        running_max=window.running_max if state is State.OK else None,
        concurrency=window.concurrency if state is State.OK else None,
        busiest_engine=window.busiest_engine if state is State.OK else None,
        speculation_configured=window.speculation_configured,
        drafting=window.drafting if state is State.OK else None,
        k=window.k,
        effective_k=window.effective_k,
        acceptance_length=window.acceptance_length if state is State.OK else None,
        acceptance_rate=window.acceptance_rate if state is State.OK else None,
        live_arm=arm.name,
        live_arm_reason=arm.reason,
        crossover=crossover,
        verdict=verdict,
        verdict_reason=verdict_reason,
        alerting=alerting,
        alerting_reason=applies_reason,
        speedup_now=speedup,
        headroom=_headroom(judged, window.concurrency) if barrier is None else None,
        loss_pct=(1 - speedup.ratio) * 100 if speedup is not None and speedup.ratio < 1 else None,
        output_tok_s=window.output_tok_s if state is State.OK else None,
        ttft_p50_ms=window.ttft_ms[0] if state is State.OK else None,
        ttft_p99_ms=window.ttft_ms[1] if state is State.OK else None,
        tpot_p50_ms=window.tpot_ms[0] if state is State.OK else None,
        tpot_p99_ms=window.tpot_ms[1] if state is State.OK else None,
        sweep_id=inputs.sweep_id,
        rule_applies=applies,
        as_of_now=now,
    )
    return with_cost(
        found, inputs.crossover if barrier is None else None, inputs.readings, now_s - settings.live_window_s
    )


def _state(readings: Sequence[StoredReading], settings: LiveSettings, now_s: float) -> tuple[State, str, float | None]:
    """Newest scrape's state; a good one that is too old is stale. Age is that of the newest good reading."""
    if not readings:
        return State.STALE, "no scrape yet", None
    newest = readings[-1].reading
    good = next((r.reading for r in reversed(readings) if r.reading.state is State.OK), None)
    age_s = max(0.0, now_s - good.at_s) if good is not None else None
    if newest.state is not State.OK:
        return newest.state, newest.reason, age_s
    if age_s is not None and age_s > settings.stale_after_s:
        return State.STALE, f"newest scrape is {age_s:.0f} s old", age_s
    return State.OK, "", age_s


def _crossover_now(
    inputs: EndpointInputs, arm: LiveArm, window: LiveWindow, settings: LiveSettings, now_s: float
) -> CrossoverNow | None:
    """The live arm's crossover; while speculation is off, that of the speculative arm that would serve best."""
    stored = inputs.crossover
    if stored is None or arm.name is None:
        return None
    name = arm.name
    if name == stored.result.baseline:
        best = _best_speculative(stored, window.concurrency)
        if best is None:
            return None
        name = best
    measured = stored.result.arms.get(name)
    if measured is None:
        return None
    age_s = max(0.0, now_s - stored.measured_at_s)
    return CrossoverNow(
        for_arm=name,
        verdict=measured.verdict,
        value=measured.crossover,
        low=measured.low,
        high=measured.high,
        age_s=age_s,
        sweep_id=stored.sweep_id,
        expired=age_s > settings.max_age_s,
        band=measured.speedup,
        imported=stored.imported,
    )


def _best_speculative(stored: StoredCrossover, concurrency: float | None) -> str | None:
    arms = [a for name, a in stored.result.arms.items() if name != stored.result.baseline]
    if not arms:
        return None

    def rank(verdict: ArmVerdict) -> tuple[float, float]:
        point = speedup_at(verdict, concurrency) if concurrency else None
        reach = verdict.crossover or 0.0
        if verdict.verdict is Verdict.ALWAYS_FASTER:
            reach = float("inf")
        return (point.ratio if point is not None else 0.0, reach)

    return max(arms, key=rank).arm


def _barrier(
    inputs: EndpointInputs,
    state: State,
    reason: str,
    window: LiveWindow,
    arm: LiveArm,
    crossover: CrossoverNow | None,
    now_s: float,
) -> str | None:
    """The first reason why live traffic and the crossover must not be put side by side, in any number."""
    stored = inputs.crossover
    if state is not State.OK:
        return f"{state.words}: {reason}"
    if inputs.sweep_id is not None and inputs.settled_at_s is not None:
        left_s = max(0.0, inputs.settled_at_s - now_s)
        return f"sweep {inputs.sweep_id} has ended and settles for another {left_s:.0f} s; traffic is not compared"
    if inputs.sweep_id is not None:
        return f"sweep {inputs.sweep_id} is loading this endpoint; its traffic is not compared"
    if stored is None:
        return not_swept(inputs.pool)
    if inputs.fingerprint is None:
        return "the server's version and model are not known yet, so no crossover can be matched to it"
    if inputs.fingerprint != stored.fingerprint:
        return (
            f"the server ({inputs.fingerprint}) is not what sweep {stored.sweep_id} measured ({stored.fingerprint}): "
            "version, model, cache settings, hardware or revision differ; sweep again"
        )
    if arm.name is None:
        return arm.reason
    if crossover is None:
        return f"sweep {stored.sweep_id} has no result for arm {arm.name}"
    if crossover.expired:
        return f"the crossover is {crossover.age_s / 86400:.1f} d old and has expired; sweep again"
    if stored.result.axis is Axis.CLIENTS and len(window.engines) != 1:
        return BY_CLIENTS
    if window.concurrency is None:
        return window.reason
    return None


def _headroom(crossover: CrossoverNow | None, concurrency: float | None) -> float | None:
    """Only of a crossover: the edges of other verdicts say how far something was clear, and no load is over those."""
    if crossover is None or crossover.verdict is not Verdict.CROSSES or crossover.low is None or not concurrency:
        return None
    return crossover.low / concurrency


def _speedup(stored: StoredCrossover | None, arm: str, window: LiveWindow, now: AsOfNow | None) -> BandPoint | None:
    if stored is None or window.concurrency is None or window.concurrency <= 0:
        return None
    return speedup_at(arms_compared(stored, now)[arm], window.concurrency)
