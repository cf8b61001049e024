"""Checks one [endpoint.probe]: ladder, repeats, budgets, prompts, and a schedule that must fit its window.

Pure; the clock is an argument. What a sweep takes against that window is `check`'s to say: it needs the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from monitor.config.crontab import next_run, parse_crontab
from monitor.config.errors import Finding, Key
from monitor.config.model import ProbeConfig
from monitor.config.times import minutes_left, parse_window, zone


def check_probe(probe: ProbeConfig, key: Key, now: datetime) -> Iterator[Finding]:
    """Findings on the probe at `key`; `now` only decides whether its schedule ever comes."""
    if probe.ladder != "auto":
        yield from _check_ladder(probe.ladder, (*key, "ladder"))
    if probe.repeats % 2:
        yield Finding(
            (*key, "repeats"),
            f"{probe.repeats} is odd: arms take turns in A B B A order, which only balances drift over pairs",
            f"write repeats = {probe.repeats + 1}",
            note=True,
        )
    yield from _check_budgets(probe, key)
    yield from _check_prompts(probe, key)
    yield from _check_schedule(probe, key, now)


def _check_ladder(ladder: Sequence[int], key: Key) -> Iterator[Finding]:
    if not ladder:
        yield Finding(key, "the ladder is empty", 'write ladder = "auto" or e.g. [1, 2, 4, 8, 16, 32, 64]')
    elif any(lower >= upper for lower, upper in pairwise(ladder)):
        yield Finding(key, "the rungs must rise", f"write ladder = {sorted(set(ladder))}")
    elif ladder[0] > 1:
        yield Finding(
            key, f"starts at {ladder[0]}: nothing will be known below it", f"write ladder = {[1, *ladder]}", note=True
        )


def _check_budgets(probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    if probe.max_cost is not None and not probe.cost_per_hour:
        yield Finding(
            (*key, "max_cost"),
            "needs cost_per_hour: without a price no sweep has a cost",
            "add cost_per_hour, what one hour of the arms costs in the same currency",
            also=((*key, "cost_per_hour"),),
        )
    if probe.max_total_tokens is not None and probe.max_total_tokens < probe.max_tokens:
        yield Finding(
            (*key, "max_total_tokens"),
            f"is less than a single answer may have (max_tokens = {probe.max_tokens}): no cell would be measured",
            "write the output tokens of a whole sweep; `specwatch sweep --plan` says how many it takes",
            also=((*key, "max_tokens"),),
        )


def _check_prompts(probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    if probe.prompts == "builtin":
        return
    if probe.shape == "live":
        yield Finding(
            (*key, "shape"),
            "sets the lengths of answers only: prompts of your own are sent as long as they are",
            "nothing to do if they are as long as in production",
            also=((*key, "prompts"),),
            note=True,
        )
    if probe.prefix_hit_ratio != "live" and probe.prefix_hit_ratio > 0:
        yield Finding(
            (*key, "prefix_hit_ratio"),
            "puts a shared text before prompts of your own that have too little in common, which makes them longer",
            "leave it out, or let the prompts begin as alike as they do in production",
            also=((*key, "prompts"),),
            note=True,
        )


def _check_schedule(probe: ProbeConfig, key: Key, now: datetime) -> Iterator[Finding]:
    window = crontab = place = None
    try:
        place = zone(probe.timezone)
    except ValueError as error:
        message, _, cure = str(error).rpartition("; ")
        yield Finding((*key, "timezone"), message, cure)
    if probe.window is not None:
        try:
            window = parse_window(probe.window)
        except ValueError as error:
            yield Finding((*key, "window"), f'"{probe.window}" is not a window', str(error))
    if probe.schedule is None:
        return
    at: Key = (*key, "schedule")
    try:
        crontab = parse_crontab(probe.schedule)
    except ValueError as error:
        yield Finding(at, str(error), 'for example "0 3 * * sun": Sundays at 03:00')
        return
    if place is not None and next_run(crontab, place, now) is None:
        yield Finding(at, f'"{probe.schedule}" names a day that never comes', "check the day of the month")
    starts = crontab.minutes_of_day()
    outside = [minute for minute in starts if window is not None and minutes_left(window, minute) is None]
    if outside:
        clock = f"{outside[0] // 60:02d}:{outside[0] % 60:02d}"
        none_fit = len(outside) == len(starts)
        yield Finding(
            at,
            f"starts at {clock}, outside window {probe.window}: the gate would refuse "
            + ("every run" if none_fit else "those runs"),
            "move the schedule into the window, or widen the window",
            also=((*key, "window"),),
            note=not none_fit,
        )
