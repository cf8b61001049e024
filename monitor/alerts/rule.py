"""Decides when "speculation costs throughput here" fires and leaves; pure, the clock is an argument, nothing is sent.

Prometheus' life of an alert: inactive, pending for `for_s`, firing until it has been clear for `keep_firing_for_s`.
Where nothing can be judged nothing changes: missing data neither fires nor resolves, and its time counts for neither.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum

from monitor.alerts import text
from monitor.compared import compared_in, seen_faster
from monitor.observed import with_output
from monitor.values import AlertEvent, AlertPhase, AlertState, EndpointStatus, LiveVerdict, StoredCrossover
from monitor.verdict_now import speedup_against
from probes.values import State


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """The alert part of the config in seconds and percent."""

    for_s: float
    keep_firing_for_s: float
    tolerated_loss_pct: float
    clear_loss_pct: float
    enabled: bool = True
    gap_tolerance_s: float = 60.0
    """Longest stretch without a judgement that a running clock survives. It must exceed the time between evaluations,
    and a daemon's restart should fit in."""


class Finding(StrEnum):
    """What one look says of the condition."""

    BREACH = "breach"
    """The whole band is under 1 - tolerated loss, and still is with the live output weighed in."""
    BETWEEN = "between"
    """Neither: the band straddles the threshold, or the middle has not come back far enough."""
    CLEAR = "clear"
    OFF = "off"
    """The server shows that speculation is off."""
    NO_DATA = "no_data"


def judge(status: EndpointStatus, settings: RuleSettings) -> Finding:
    """What this status says of the condition, forgetting all earlier ones."""
    if status.state is not State.OK or status.sweep_id is not None:
        return Finding.NO_DATA
    if status.speculation_configured is False:
        return Finding.OFF
    speedup = status.speedup_now
    if not (status.rule_applies or status.alerting) or speedup is None:
        # A load under the lowest rung has no measured speedup, but "below the crossover" is an answer all the same.
        # Without it an alert of the afternoon would stand all night.
        return Finding.CLEAR if status.verdict is LiveVerdict.BELOW else Finding.NO_DATA
    if seen_faster(status.as_of_now):
        # What the server itself shows to be faster wakes nobody and keeps nobody up, whatever an old band says.
        return Finding.CLEAR
    both = with_output(speedup, status.as_of_now)
    if max(speedup.high, both.high) < 1 - settings.tolerated_loss_pct / 100:
        return Finding.BREACH
    if max(speedup.ratio, both.ratio) > 1 - settings.clear_loss_pct / 100:
        return Finding.CLEAR
    return Finding.BETWEEN


def _load_is_gone(status: EndpointStatus, settings: RuleSettings) -> bool:
    """Whether the newest look alone shows a load at which nothing is lost: the mean still holds what has just ended."""
    crossover = compared_in(status)
    engine = next((one for one in status.engines if one.engine == status.busiest_engine), None)
    if crossover is None or engine is None or engine.running is None or engine.waiting is None:
        return False
    shown = (engine.concurrency or 0.0) - (engine.unseen or 0.0)
    load = (engine.running + engine.waiting) * ((engine.concurrency or 0.0) / shown if shown else 1.0)
    below = bool(crossover.band) and load < crossover.band[0].concurrency
    here = crossover.band[0] if below else speedup_against(load, crossover)
    return here is not None and here.ratio > 1 - settings.clear_loss_pct / 100


def evaluate(
    state: AlertState,
    status: EndpointStatus,
    settings: RuleSettings,
    now_s: float,
    measured: StoredCrossover | None = None,
) -> tuple[AlertState, AlertEvent | None]:
    """The state after one look, and the event where there is something to tell.

    `measured` is the sweep that the endpoint is compared with; from it the text names the arm that would serve best.
    `AlertState.evaluated_at_s` is the last look that could be judged.
    """
    if not settings.enabled:
        return retire(state, status.pool, "alerts are switched off in the config", now_s)
    finding = judge(status, settings)
    if finding is Finding.NO_DATA:
        since_s = state.no_data_since_s if state.no_data_since_s is not None else now_s
        return replace(state, no_data_since_s=min(since_s, now_s)), None
    seen = _wind_clocks(state, settings, now_s)
    if seen.phase is AlertPhase.FIRING:
        return _while_firing(seen, status, settings, finding, now_s)
    if finding is not Finding.BREACH:
        return replace(seen, phase=AlertPhase.INACTIVE, pending_since_s=None), None
    since_s = seen.pending_since_s if seen.pending_since_s is not None else now_s
    if now_s - since_s < settings.for_s or _load_is_gone(status, settings):
        return replace(seen, phase=AlertPhase.PENDING, pending_since_s=since_s), None
    firing = replace(
        seen,
        phase=AlertPhase.FIRING,
        pending_since_s=since_s,
        firing_since_s=now_s,
        clear_since_s=None,
        alert_id=alert_id_of(state.endpoint, state.rule, since_s),
    )
    title, body = text.firing(status, settings, since_s, now_s, measured)
    return firing, _event(firing, status.pool, "firing", now_s, title, body, text.facts(status, measured))


def retire(state: AlertState, pool: str, reason: str, now_s: float) -> tuple[AlertState, AlertEvent | None]:
    """Take an alert down for a reason outside the data: switched off, or its endpoint left the config."""
    if state.phase is not AlertPhase.FIRING:
        return AlertState(state.endpoint, state.rule), None
    title, body = text.resolved(state.endpoint, pool, reason, _started_s(state, now_s), now_s)
    gone = AlertState(state.endpoint, state.rule, evaluated_at_s=now_s)
    return gone, _event(state, pool, "resolved", now_s, title, body, {"resolved_because": reason})


def _wind_clocks(state: AlertState, settings: RuleSettings, now_s: float) -> AlertState:
    """Bring the running clocks up to `now_s`, for the first look after any stretch without a judgement.

    A stretch longer than the tolerance starts them again: what held before it says nothing about now. A shorter one
    without data is taken out of them. A clock that was set back makes no instant lie in the future.
    """
    pending_s, clear_s, last_s = state.pending_since_s, state.clear_since_s, state.evaluated_at_s
    if last_s is not None and now_s - last_s > settings.gap_tolerance_s:
        shift_s = float("inf")
    elif state.no_data_since_s is not None:
        shift_s = max(0.0, now_s - state.no_data_since_s)
    else:
        shift_s = 0.0
    firing = state.phase is AlertPhase.FIRING
    return replace(
        state,
        pending_since_s=pending_s if pending_s is None or firing else min(pending_s + shift_s, now_s),
        clear_since_s=min(clear_s + shift_s, now_s) if clear_s is not None else None,
        evaluated_at_s=now_s,
        no_data_since_s=None,
    )


def _while_firing(
    state: AlertState, status: EndpointStatus, settings: RuleSettings, finding: Finding, now_s: float
) -> tuple[AlertState, AlertEvent | None]:
    if finding is Finding.OFF:
        reason = text.OFF_NOW
    elif finding is not Finding.CLEAR:
        return replace(state, clear_since_s=None), None
    else:
        since_s = state.clear_since_s if state.clear_since_s is not None else now_s
        if now_s - since_s < settings.keep_firing_for_s:
            return replace(state, clear_since_s=since_s), None
        reason = text.recovery(status, settings)
    title, body = text.resolved(state.endpoint, status.pool, reason, _started_s(state, now_s), now_s)
    facts = {**text.facts(status, None), "resolved_because": reason}
    gone = AlertState(state.endpoint, state.rule, evaluated_at_s=now_s)
    return gone, _event(state, status.pool, "resolved", now_s, title, body, facts)


def _started_s(state: AlertState, now_s: float) -> float:
    started = state.pending_since_s if state.pending_since_s is not None else state.firing_since_s
    return now_s if started is None else started


def alert_id_of(endpoint: str, rule: str, since_s: float) -> str:
    """The same for a transition that is decided twice because the first could not be saved."""
    return hashlib.sha256(f"{endpoint}\n{rule}\n{since_s!r}".encode()).hexdigest()[:16]


def _event(
    state: AlertState, pool: str, kind: str, now_s: float, title: str, body: str, facts: dict[str, text.Fact]
) -> AlertEvent:
    started_s = _started_s(state, now_s)
    return AlertEvent(
        alert_id=state.alert_id or alert_id_of(state.endpoint, state.rule, started_s),
        endpoint=state.endpoint,
        pool=pool,
        rule=state.rule,
        kind=kind,
        at_s=now_s,
        started_at_s=started_s,
        title=title,
        text=body,
        facts=facts,
    )
