"""Decides whether a sweep may start now; pure, so that `check`, the daemon and the command give the same answer.

Looks at nothing itself: what it is told comes from `observe.py` and the caller. Every refusal is listed, not the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from probes.values import Reason, State

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


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
class GateLimits:
    """What the user allows."""

    max_live_concurrency: float
    max_kv_usage: float
    window: str | None = None
    """HH:MM-HH:MM in `timezone`; None allows any time."""
    timezone: str = "UTC"


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


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Allowed only where there is no reason against it."""

    allowed: bool
    reasons: tuple[Reason, ...]


def decide(inputs: GateInputs, limits: GateLimits, now: float) -> GateVerdict:
    """Whether a sweep may start at `now` (Unix seconds)."""
    reasons = [*_standing(inputs, limits, now)]
    for arm in inputs.arms:
        reasons += _arm_reasons(arm, limits)
    return GateVerdict(allowed=not reasons, reasons=tuple(reasons))


def _standing(inputs: GateInputs, limits: GateLimits, now: float) -> list[Reason]:
    reasons = []
    if inputs.noprobe_file is not None:
        text = f"the file {inputs.noprobe_file} forbids probing; delete it to allow sweeps again"
        reasons.append(Reason("noprobe", text))
    if inputs.paused_until_s is not None and now < inputs.paused_until_s:
        until = datetime.fromtimestamp(inputs.paused_until_s, ZoneInfo(limits.timezone))
        why = f": {inputs.pause_reason}" if inputs.pause_reason else ""
        reasons.append(Reason("paused", f"sweeps are paused until {until:%Y-%m-%d %H:%M %Z}{why}"))
    if inputs.firing:
        text = f"an alert fires on {', '.join(inputs.firing)}: no experiments while somebody may be at work there"
        reasons.append(Reason("alert_firing", text))
    if limits.window is not None and not in_window(limits.window, limits.timezone, now):
        local = datetime.fromtimestamp(now, ZoneInfo(limits.timezone))
        text = f"it is {local:%H:%M} {limits.timezone}, outside the window {limits.window}"
        reasons.append(Reason("outside_window", text))
    return reasons


def _arm_reasons(arm: ArmLoad, limits: GateLimits) -> list[Reason]:
    where = f"arm {arm.arm} at {arm.url}"
    if arm.state is not State.OK:
        return [Reason("unreachable_arm", f"{where} is {arm.state.value}: {arm.reason or 'no reason given'}")]
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


def in_window(spec: str, timezone: str, now_s: float) -> bool:
    """Whether the wall clock of `timezone` lies in `HH:MM-HH:MM` at `now_s` (Unix seconds).

    The start is inside, the end is not; a start after the end crosses midnight; equal ends mean all day. On days when
    clocks change, an hour that comes twice counts twice and one that is skipped does not come.
    Raises ValueError for another form and ZoneInfoNotFoundError for an unknown zone.
    """
    match = _WINDOW.fullmatch(spec)
    if match is None:
        raise ValueError(f"a window is written HH:MM-HH:MM, not {spec!r}")
    hours = [int(part) for part in match.groups()]
    start, end = 60 * hours[0] + hours[1], 60 * hours[2] + hours[3]
    local = datetime.fromtimestamp(now_s, ZoneInfo(timezone))
    minute = 60 * local.hour + local.minute
    if start < end:
        return start <= minute < end
    return start == end or minute >= start or minute < end


def window_left_s(spec: str, timezone: str, now_s: float) -> float:
    """Seconds until the window that `now_s` lies in ends; infinite where it means all day. Raises like `in_window`."""
    match = _WINDOW.fullmatch(spec)
    if match is None:
        raise ValueError(f"a window is written HH:MM-HH:MM, not {spec!r}")
    start_hour, start_minute, hour, minute = (int(part) for part in match.groups())
    if (start_hour, start_minute) == (hour, minute):
        return float("inf")
    local = datetime.fromtimestamp(now_s, ZoneInfo(timezone))
    end = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if end <= local:
        end += timedelta(days=1)
    return max(0.0, end.timestamp() - now_s)
