"""What a sweep will take and when it is due, as `check` shows it; pure, the clock is an argument."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from monitor.commands.check_fit import fit_remarks
from monitor.commands.check_text import Remark, Section, count, duration
from monitor.commands.plan_cost import SweepCost
from monitor.commands.plan_text import price_text, tokens
from monitor.config.model import ProbeConfig
from monitor.schedule import next_fire
from probes.sweep.plan import SweepPlan


def sweep_section(
    title: str,
    probe: ProbeConfig,
    planned: tuple[SweepPlan, SweepCost] | None,
    remarks: Sequence[Remark],
    now: datetime,
    here: tzinfo | None,
) -> Section:
    """Arms, cost, next time and window of one pool's sweep; without a plan the cost is unknown, and said to be.

    `here` is the reader's own zone, None for the machine's.
    """
    due = next_fire(probe.schedule, probe.timezone, now) if probe.schedule is not None else None
    when = [
        ("next", _when(due, here)),
        ("window", f"{probe.window} {probe.timezone}" if probe.window else "any time"),
    ]
    if planned is None:
        return Section(title, when, [*remarks, Remark.note("the cost is not estimated until the problems are mended")])
    plan, cost = planned
    return Section(title, [*_rows(probe, plan, cost), *when], [*remarks, *fit_remarks(plan, probe, now)])


def _rows(probe: ProbeConfig, plan: SweepPlan, cost: SweepCost) -> list[tuple[str, str]]:
    rungs = ", ".join(str(rung) for rung in plan.ladder)
    auto = " (auto)" if probe.ladder == "auto" else ""
    watch = f", and {duration(probe.quiet_s)} of watching first" if probe.quiet_s else ""
    rows = [
        ("arms", _arms(plan)),
        ("ladder", f"{rungs} clients{auto}, {count(plan.repeats, 'repeat')} of {plan.cell_s:g} s"),
        (
            "takes",
            f"about {duration(cost.seconds)}: {count(cost.cells, 'cell')}{watch}; "
            f"at most {tokens(cost.output_tokens_upper)} output tokens",
        ),
    ]
    if plan.restarts:
        each_s = cost.down_s / cost.restarts
        text = f"{cost.restarts} of one server, about {duration(each_s)} each and {duration(cost.down_s)} in all"
        rows.append(("restarts", text))
    price = price_text(probe, cost)
    return [*rows, ("costs", price)] if price is not None else rows


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
