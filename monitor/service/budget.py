"""What a sweep will take and what it may take, so that the gate can refuse one that would only be cut off.

Pure: the clock is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.config.model import ProbeConfig
from probes.sweep.budget import cell_tokens, stream_rates
from probes.sweep.climb import Climb
from probes.sweep.gate import GateLimits, Need
from probes.sweep.hours import in_window, window_left_s
from probes.sweep.plan import SweepPlan, estimate
from probes.values import Cell

START_SHARE = 1 / 6
"""Of `start_timeout_s`, which is set for the slowest start there may be: what one start is expected to take."""


def need_of(plan: SweepPlan, probe: ProbeConfig, done: Sequence[Cell] = (), used_tokens: int = 0) -> Need:
    """What is left to do of the ladder when `done` is there and the sweep that made it has used so many tokens.

    Tokens count from the first cell on, because their budget does; time counts from now. What is left are the high
    rungs, which make the most tokens; how fast streams are, the cells that are there say best.
    """
    known = (*stream_rates(done, plan.cell_s, plan.load.max_tokens), *plan.seen)
    cost = estimate(replace(plan, seen=known), Climb(plan, done).left)
    used = max(used_tokens, sum(cell_tokens(plan, cell) for cell in done))
    return Need(cost.seconds + _starts_s(plan, probe, cost.starts), used + cost.tokens_upper)


def starts_s(plan: SweepPlan, probe: ProbeConfig) -> float:
    """Seconds of bringing servers up: one start for each pass over the ladder, and one that restores.

    As long as one took the last time, where that is known.
    """
    return _starts_s(plan, probe, estimate(plan).starts)


def _starts_s(plan: SweepPlan, probe: ProbeConfig, starts: int) -> float:
    return (starts + 1) * _one_start_s(plan, probe) if starts else 0.0


def _one_start_s(plan: SweepPlan, probe: ProbeConfig) -> float:
    return probe.start_timeout_s * START_SHARE + probe.drain_s if plan.start_s is None else plan.start_s


def limits_of(probe: ProbeConfig, *, now: bool) -> GateLimits:
    """What the config allows; `--now` knows no window."""
    return GateLimits(
        max_live_concurrency=probe.max_live_concurrency,
        max_kv_usage=probe.max_kv_usage,
        window=None if now else probe.window,
        timezone=probe.timezone,
        max_minutes=probe.max_minutes,
        max_total_tokens=probe.max_total_tokens,
        cost_per_hour=probe.cost_per_hour,
        max_cost=probe.max_cost,
    )


def bounded(plan: SweepPlan, probe: ProbeConfig, now_s: float, *, now: bool) -> SweepPlan:
    """The same plan, its minutes cut to what its window and its money have left; `--now` knows no window.

    A server that was restarted must be back when its window ends, so a start is kept in hand for that.
    """
    minutes = [plan.max_minutes]
    if not now and probe.window is not None:
        inside = in_window(probe.window, probe.timezone, now_s)
        left_s = window_left_s(probe.window, probe.timezone, now_s) if inside else 0.0
        back_s = _one_start_s(plan, probe) if plan.restarts else 0.0
        minutes.append(max(0.0, left_s - back_s) / 60)
    if probe.max_cost is not None and probe.cost_per_hour:
        minutes.append(60 * probe.max_cost / probe.cost_per_hour)
    return replace(plan, max_minutes=min(minutes))


def restore_bound_s(probe: ProbeConfig) -> float:
    """How long putting a restarted server back may take: its start, both hooks and a minute of proof."""
    return probe.start_timeout_s + 2 * probe.hook_timeout_s + 60.0
