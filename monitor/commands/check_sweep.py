"""What a sweep will take and when it is due, against its window and its limit; pure, the clock is an argument."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from monitor.commands.check_text import Remark, Section, duration
from monitor.config.model import ProbeConfig
from monitor.config.times import minutes_left, parse_window
from monitor.schedule import next_fire
from probes.sweep.plan import SweepPlan, estimate


def sweep_section(
    title: str, probe: ProbeConfig, plan: SweepPlan | None, remarks: list[Remark], now: datetime, here: tzinfo | None
) -> Section:
    """Arms, cost, next time and window of one pool's sweep; without a plan the cost is unknown, and said to be.

    `here` is the reader's own zone, None for the machine's.
    """
    rows = [("arms", _arms(plan))] if plan is not None else []
    due = next_fire(probe.schedule, probe.timezone, now) if probe.schedule is not None else None
    rows.append(("next", _when(due, here)))
    rows.append(("window", f"{probe.window} {probe.timezone}" if probe.window else "any time"))
    if plan is None:
        return Section(title, rows, [*remarks, Remark.note("the cost is not estimated until the problems are mended")])
    cost = estimate(plan)
    total_s = cost.seconds + probe.quiet_s
    rungs = ", ".join(str(rung) for rung in plan.ladder)
    auto = " (auto)" if probe.ladder == "auto" else ""
    rows[1:1] = [
        ("ladder", f"{rungs} clients{auto}, {plan.repeats} repeats of {plan.cell_s:g} s"),
        (
            "takes",
            f"about {duration(total_s)}: {cost.cells} cells, and {duration(probe.quiet_s)} of watching first; "
            f"at most {_short(cost.tokens_upper)} output tokens",
        ),
    ]
    return Section(title, rows, [*remarks, *_fits(probe, total_s, cost.seconds, due)])


def _fits(probe: ProbeConfig, total_s: float, load_s: float, due: datetime | None) -> Iterator[Remark]:
    shorter = "fewer rungs or repeats, or a shorter cell_s, would make it shorter"
    if load_s > probe.max_minutes * 60:
        yield Remark.problem(
            f"the sweep takes about {duration(load_s)}, longer than max_minutes allows ({probe.max_minutes:g} min): "
            f"{shorter}"
        )
    if probe.window is None:
        return
    window = parse_window(probe.window)
    start = window[0] if due is None else due.hour * 60 + due.minute
    left = minutes_left(window, start)
    if left is None or total_s <= left * 60:
        return
    took, has = duration(total_s), duration(left * 60)
    if due is None:
        yield Remark.problem(f"the sweep takes about {took}, but its window is {has} long: {shorter}")
    else:
        yield Remark.problem(
            f"the sweep takes about {took}, but from {due:%H:%M} its window has {has} left: start earlier, or {shorter}"
        )


def _arms(plan: SweepPlan) -> str:
    def one(name: str) -> str:
        roles = [role for role, holder in (("baseline", plan.baseline), ("live", plan.live_arm)) if holder == name]
        return f"{name} ({', '.join(roles)})" if roles else name

    return ", ".join(one(arm.name) for arm in plan.arms)


def _when(due: datetime | None, here: tzinfo | None) -> str:
    if due is None:
        return "no schedule: only when somebody asks"
    local = due.astimezone(here)
    form = "%a %Y-%m-%d %H:%M %Z"
    same = local.utcoffset() == due.utcoffset()
    return f"{due:{form}}" if same else f"{due:{form}} ({local:{form}} here)"


def _short(tokens: int) -> str:
    if tokens < 10_000:
        return str(tokens)
    return f"{tokens / 1e6:.1f} million" if tokens >= 1e6 else f"{tokens / 1e3:.0f} thousand"
