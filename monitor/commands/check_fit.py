"""Whether a sweep would get through the gate's budgets and its window at the times it may start; pure.

It asks the gate itself, with the estimate that the gate uses, so that `check`, `--plan` and a sweep give one answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta

from monitor.commands.check_text import Remark
from monitor.commands.cut_answers import cut_answers, cut_words
from monitor.config.crontab import parse_crontab
from monitor.config.model import ProbeConfig
from monitor.config.times import parse_window, zone
from monitor.schedule import next_fire
from monitor.service.budget import limits_of, need_of
from probes.sweep.gate import LASTING, GateInputs, Need, decide
from probes.sweep.plan import SweepPlan

_STARTS = 48
"""Scheduled starts of one day that are looked at, at most."""


def fit_remarks(
    plan: SweepPlan, probe: ProbeConfig, now: datetime, *, skip_window: bool = False, need: Need | None = None
) -> Iterator[Remark]:
    """A problem for every budget that would refuse the sweep, and for a start from which its window is too short.

    `skip_window` is what `--now` does: no window, and no watching of the arms beforehand. `need` is what the sweep
    still takes where some of it is there already; None stands for all of it.
    """
    need = need if need is not None else need_of(plan, probe)
    inputs = GateInputs(arms=(), need=replace(need, seconds=need.seconds + (0.0 if skip_window else probe.quiet_s)))
    limits = limits_of(probe, now=skip_window)
    said: set[str] = set()
    for start in _starts(probe, now):
        for reason in decide(inputs, limits, start.timestamp()).reasons:
            # A start outside the window is a matter of the config, and said there.
            if reason.code in LASTING and reason.code not in said:
                said.add(reason.code)
                when = f"started at {start:%H:%M}, " if reason.code == "window_left" else ""
                yield Remark.problem(f"the gate would refuse this sweep: {when}{reason.text}")
    if (cut := cut_answers(plan.load)) is not None:
        yield Remark.note(cut_words(cut, plan.load.max_tokens))
    if plan.restarts and probe.before is None:
        yield Remark.note(
            "no before hook takes the server out of its router: it is restarted in the first quiet moment of "
            f"{probe.drain_s:g} s, and users who come then find no server"
        )


def _starts(probe: ProbeConfig, now: datetime) -> Sequence[datetime]:
    """The next scheduled starts of a day, else the start of the window, else now; in the probe's zone."""
    here = zone(probe.timezone)
    if probe.schedule is not None:
        found: list[datetime] = []
        for _ in range(min(_STARTS, len(parse_crontab(probe.schedule).minutes_of_day()))):
            due = next_fire(probe.schedule, probe.timezone, found[-1] if found else now)
            if due is None:
                break
            found.append(due)
        return found
    if probe.window is None:
        return [now.astimezone(here)]
    start = parse_window(probe.window)[0]
    opens = datetime.combine(now.astimezone(here).date(), time(start // 60, start % 60), here)
    return [opens if opens > now else opens + timedelta(days=1)]
