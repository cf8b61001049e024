"""Decides what is told of a server that a sweep restarted and could not put back: the loudest alert there is; pure.

It fires at the first look, is repeated every hour until the server is back, and neither `[alerts] enabled` nor a
channel's `send_resolved` silences it: production is not what its owner believes it to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from monitor.alerts.rule import alert_id_of
from monitor.alerts.text import utc, who
from monitor.units import age_text
from monitor.values import AlertEvent, AlertPhase, AlertState, Unrestored

RULE = "not_restored"
REPEAT_S = 3600.0


def advance(
    state: AlertState, left: Unrestored | None, pool: str, now_s: float
) -> tuple[AlertState, AlertEvent | None]:
    """The state after one look, and the event where there is something to tell.

    `left` None: nothing is left to restore on this endpoint. A reminder has an `alert_id` of its own that begins with
    that of the first message; the resolution has the first one's.
    """
    if left is None:
        if state.phase is not AlertPhase.FIRING:
            return AlertState(state.endpoint, RULE), None
        return AlertState(state.endpoint, RULE, evaluated_at_s=now_s), _resolved(state, pool, now_s)
    if state.phase is not AlertPhase.FIRING or state.firing_since_s is None:
        begun = AlertState(
            endpoint=left.endpoint,
            rule=RULE,
            phase=AlertPhase.FIRING,
            pending_since_s=now_s,
            firing_since_s=now_s,
            alert_id=alert_id_of(left.endpoint, RULE, now_s),
            evaluated_at_s=now_s,
        )
        return begun, _firing(begun, left, pool, now_s, 0)
    seen = replace(state, evaluated_at_s=now_s)
    told = _hours(state.firing_since_s, state.evaluated_at_s)
    due = _hours(state.firing_since_s, now_s)
    return seen, _firing(seen, left, pool, now_s, due) if due > told else None


def _hours(since_s: float, at_s: float | None) -> int:
    return 0 if at_s is None else max(0, int((at_s - since_s) // REPEAT_S))


def _firing(state: AlertState, left: Unrestored, pool: str, now_s: float, hours: int) -> AlertEvent:
    name = left.endpoint
    since_s = state.firing_since_s if state.firing_since_s is not None else now_s
    still = f" for {age_text(now_s - since_s)} now" if hours else ""
    arm = f"its live arm {left.live_arm}" if left.live_arm else "its live arm"
    tries = "1 try has" if left.attempts == 1 else f"{left.attempts} tries have"
    lines = [
        f"What: a sweep restarted {name}, and the server has not been brought back to {arm}{still}. "
        "What it serves now, if it serves at all, is not what production is meant to run.",
        f"Last look: {left.seen or 'nobody has looked at its page yet'}.",
        f"Why: {left.reason or 'the reason is not known'}.",
        f"Since: {utc(since_s)}; {tries} failed.",
        "What to do:",
        f"- `specwatch stop {name}` tries again at once and says what hinders",
        f"- where you have started {arm} by hand, run it all the same: it proves what runs, undoes what `before` did "
        "and closes this alert",
        "specwatch goes on trying meanwhile, and repeats this message every hour.",
        f"Journal: {left.journal}; what the commands said: {Path(left.journal).with_suffix('.log')}",
    ]
    return _event(
        state,
        pool,
        "firing",
        now_s,
        f"{state.alert_id}.{hours}" if hours else str(state.alert_id),
        f"{who(name, pool)}: NOT RESTORED{still}: the server does not run {arm} after a sweep",
        "\n".join(lines),
        {"attempts": left.attempts, "reason": left.reason, "live_arm": left.live_arm, "hours": hours},
    )


def _resolved(state: AlertState, pool: str, now_s: float) -> AlertEvent:
    since_s = state.firing_since_s if state.firing_since_s is not None else now_s
    lasted = age_text(max(0.0, now_s - since_s))
    return _event(
        state,
        pool,
        "resolved",
        now_s,
        str(state.alert_id),
        f"{who(state.endpoint, pool)}: restored after {lasted}",
        # Who deletes the journal has proved nothing to us.
        f"Why: its journal is closed. That takes health, the served model, its counters and one real completion to "
        f"prove the live arm; only where somebody deleted the file by hand nobody has looked.\n"
        f"It lasted {lasted}, from {utc(since_s)} to {utc(now_s)}.",
        {"resolved_because": "restored"},
    )


def _event(
    state: AlertState,
    pool: str,
    kind: str,
    now_s: float,
    alert_id: str,
    title: str,
    text: str,
    facts: Mapping[str, str | float | int | bool | None],
) -> AlertEvent:
    return AlertEvent(
        alert_id=alert_id,
        endpoint=state.endpoint,
        pool=pool,
        rule=RULE,
        kind=kind,
        at_s=now_s,
        started_at_s=state.firing_since_s if state.firing_since_s is not None else now_s,
        title=title,
        text=text,
        facts=dict(facts),
    )
