"""Decides whether a sweep may start now; pure, so that `check`, the daemon and the command give the same answer.

Looks at nothing itself: what it is told comes from `observe.py` and the caller. Every refusal is listed, not the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from probes.sweep.hours import in_window, window_left_s
from probes.values import Reason, State

_UNPAUSE = "`specwatch pause --resume` ends the pause"
LASTING = frozenset({"window_left", "budget_minutes", "budget_tokens", "budget_cost"})
"""Codes of refusals that waiting does not lift: the same sweep is refused again at any later time of this window."""


@dataclass(frozen=True, slots=True)
class ArmLoad:
    """What one arm's address did while it was watched."""

    arm: str
    url: str
    state: State
    reason: str = ""
    concurrency_max: float | None = None
    """Highest running + waiting, all engines summed."""
    kv_usage_max: float | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What a sweep is expected to take from now on."""

    seconds: float
    tokens_upper: int
    """Output tokens, an upper bound."""


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What the user allows."""

    max_live_concurrency: float
    max_kv_usage: float
    window: str | None = None
    """HH:MM-HH:MM in `timezone`; None allows any time."""
    timezone: str = "UTC"
    max_minutes: float | None = None
    max_total_tokens: int | None = None
    cost_per_hour: float | None = None
    """In the currency of `max_cost`."""
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class GateInputs:
    """What is known at the time of the decision."""

    arms: tuple[ArmLoad, ...]
    paused_until_s: float | None = None
    pause_reason: str = ""
    noprobe_file: str | None = None
    """Path of the `.noprobe` file, where it exists."""
    firing: tuple[str, ...] = ()
    """Endpoints of this pool on which an alert fires."""
    not_restored: tuple[str, ...] = ()
    """Endpoints of this pool that an earlier sweep restarted and that are not put back yet."""
    need: Need | None = None
    """None where nothing has been estimated: no budget then refuses."""


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Allowed only where there is no reason against it."""

    allowed: bool
    reasons: tuple[Reason, ...]


def decide(inputs: GateInputs, limits: GateLimits, now: float) -> GateVerdict:
    """Whether a sweep may start at `now` (Unix seconds)."""
    reasons = [*_standing(inputs, limits, now)]
    if inputs.need is not None:
        reasons += _budget(inputs.need, limits, now)
    for arm in inputs.arms:
        reasons += _arm_reasons(arm, limits)
    return GateVerdict(allowed=not reasons, reasons=tuple(reasons))


def _standing(inputs: GateInputs, limits: GateLimits, now: float) -> list[Reason]:
    reasons = []
    if inputs.noprobe_file is not None:
        text = f"the file {inputs.noprobe_file} forbids probing; delete it to allow sweeps again"
        reasons.append(Reason("noprobe", text))
    if inputs.not_restored:
        text = f"an earlier sweep restarted {', '.join(inputs.not_restored)} and it is not put back yet"
        reasons.append(Reason("not_restored", f"{text}; `specwatch stop` puts it back and says what hinders"))
    if inputs.paused_until_s is not None and now < inputs.paused_until_s:
        until = datetime.fromtimestamp(inputs.paused_until_s, ZoneInfo(limits.timezone))
        why = f": {inputs.pause_reason}" if inputs.pause_reason else ""
        reasons.append(Reason("paused", f"sweeps are paused until {until:%Y-%m-%d %H:%M %Z}{why}; {_UNPAUSE}"))
    if inputs.firing:
        text = f"an alert fires on {', '.join(inputs.firing)}: no experiments while somebody may be at work there"
        reasons.append(Reason("alert_firing", text))
    if limits.window is not None and not in_window(limits.window, limits.timezone, now):
        local = datetime.fromtimestamp(now, ZoneInfo(limits.timezone))
        text = f"it is {local:%H:%M} {limits.timezone}, outside the window {limits.window}"
        reasons.append(Reason("outside_window", text))
    return reasons


def _budget(need: Need, limits: GateLimits, now: float) -> list[Reason]:
    reasons = []
    shorter = "fewer rungs or repeats, or a shorter cell_s, would make it shorter"
    if limits.window is not None and in_window(limits.window, limits.timezone, now):
        left_s = window_left_s(limits.window, limits.timezone, now)
        if need.seconds > left_s:
            text = f"it takes about {_duration(need.seconds)}, but its window {limits.window} {limits.timezone} has"
            reasons.append(Reason("window_left", f"{text} {_duration(left_s)} left: {shorter}, or start it earlier"))
    if limits.max_minutes is not None and need.seconds > 60 * limits.max_minutes:
        text = f"it takes about {_duration(need.seconds)}, max_minutes allows {limits.max_minutes:g} min: {shorter}"
        reasons.append(Reason("budget_minutes", text))
    if limits.max_total_tokens is not None and need.tokens_upper > limits.max_total_tokens:
        text = f"it may generate up to {need.tokens_upper:,} tokens, max_total_tokens allows"
        reasons.append(Reason("budget_tokens", f"{text} {limits.max_total_tokens:,}: {shorter}"))
    if limits.max_cost is not None and limits.cost_per_hour is not None:
        cost = need.seconds / 3600 * limits.cost_per_hour
        if cost > limits.max_cost:
            text = (
                f"it costs about {cost:.2f} ({_duration(need.seconds)} at {limits.cost_per_hour:g} an hour), max_cost"
            )
            reasons.append(Reason("budget_cost", f"{text} allows {limits.max_cost:g}: {shorter}"))
    return reasons


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _arm_reasons(arm: ArmLoad, limits: GateLimits) -> list[Reason]:
    where = f"arm {arm.arm} at {arm.url}"
    if arm.state is not State.OK:
        return [Reason("unreachable_arm", f"{where} is {arm.state.words}: {arm.reason or 'no reason given'}")]
    reasons = []
    if arm.concurrency_max is None:
        reasons.append(Reason("load_unknown", f"{where} does not show running and waiting requests"))
    elif arm.concurrency_max > limits.max_live_concurrency:
        text = f"{where} has live traffic: {arm.concurrency_max:g} requests in the system"
        text += f", max_live_concurrency allows {limits.max_live_concurrency:g}"
        reasons.append(Reason("live_load", text))
    if arm.kv_usage_max is not None and arm.kv_usage_max > limits.max_kv_usage:
        text = f"{where} uses {arm.kv_usage_max:.0%} of its KV cache, max_kv_usage allows {limits.max_kv_usage:.0%}"
        reasons.append(Reason("kv_usage", text))
    return reasons
