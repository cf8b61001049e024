"""Decides when a scheduled sweep is tried again and whether a missed one is caught up; pure, it starts nothing.

Sweeps are retried and caught up inside their window only: what was planned for the night must not come at noon.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from monitor.config.crontab import next_run, parse_crontab
from monitor.config.model import ProbeConfig
from monitor.config.times import zone
from monitor.values import SweepRecord
from probes.sweep.gate import LASTING
from probes.sweep.hours import in_window, window_began_s

TRIES_WITHOUT_WINDOW = 6
OVER = frozenset({"measured", "arm_mismatch", "failed", "not_restored"})
"""Outcomes that another try of the same night would only repeat, or must not follow."""


def worth_another(sweep: SweepRecord) -> bool:
    """Whether time alone may heal what ended this sweep: traffic, a pause, a server that is away, its own death.

    Not where somebody stopped it, its budget ran out, or the gate said that the plan itself is too large.
    """
    if sweep.outcome == "refused":
        return not LASTING.intersection(sweep.ended_by.split(","))
    if sweep.outcome == "aborted":
        return sweep.ended_by in ("traffic", "outage", "owner")
    return sweep.outcome == "died"


def next_try(last: SweepRecord | None, tries: int, probe: ProbeConfig, now_s: float) -> float | None:
    """When a scheduled sweep is tried again (Unix seconds) after `tries` tries, the newest of which was `last`.

    None where it is over: measured, stopped, hopeless, or no time is left in the window. Without a window six tries
    are made. `last` None: it could not even begin, because another sweep of the pool was running.
    """
    if last is not None and not worth_another(last):
        return None
    if probe.backoff_minutes <= 0:
        return None
    at_s = now_s + 60 * probe.backoff_minutes
    if probe.window is None:
        return at_s if tries < TRIES_WITHOUT_WINDOW else None
    began_s = window_began_s(probe.window, probe.timezone, now_s)
    if not in_window(probe.window, probe.timezone, at_s):
        return None
    # The same window still, not the next day's: a long backoff must not jump over the hours between.
    return at_s if window_began_s(probe.window, probe.timezone, at_s) == began_s else None


def missed_start(probe: ProbeConfig, sweeps: Sequence[SweepRecord], now_s: float) -> float | None:
    """The instant of this window at which the schedule fired and nothing came of it; None where there is none.

    `sweeps` are the pool's newest. Caught up is a start that nobody was there for, that was refused or ended by
    traffic, or whose process died; without a window there is no telling until when it would still be welcome.
    """
    if probe.schedule is None or probe.window is None or not in_window(probe.window, probe.timezone, now_s):
        return None
    began_s = window_began_s(probe.window, probe.timezone, now_s)
    if began_s is None:
        return None
    fired = next_run(parse_crontab(probe.schedule), zone(probe.timezone), datetime.fromtimestamp(began_s - 1.0, tz=UTC))
    if fired is None or fired.timestamp() > now_s:
        return None
    since = [s for s in sweeps if s.started_at_s >= fired.timestamp()]
    if any(s.outcome == "running" or not worth_another(s) for s in since):
        return None
    return fired.timestamp()
