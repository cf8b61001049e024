"""The words of an alert about the crossover it goes by, swept or as of now; pure, and it invents no number."""

from __future__ import annotations

from monitor.compared import compared_in, moved_in
from monitor.now_values import AsOfNow
from monitor.now_words import break_even_words, changed_words, crossover_words, most_words
from monitor.units import age_text, interval_text, number
from monitor.values import CrossoverNow, EndpointStatus, LiveVerdict
from probes.answer_values import BandPoint, Verdict
from probes.steptime.fit import NO_STEP_MODEL

TOLD = (NO_STEP_MODEL,)
"""Codes of reasons as of now that a reader of the alert has to know: changes that are seen and not reckoned with."""

HARDLY = 0.9
"""A break-even at which more than this share of drafts has to be accepted is out of reach of real traffic."""


def crossover_short(status: EndpointStatus) -> str:
    """For the title: the crossover that the verdict goes by, and how old the sweep is."""
    crossover = compared_in(status)
    if crossover is None:
        return "crossover unknown"
    moved = moved_in(status)
    if crossover.verdict is Verdict.NEVER_FASTER:
        where = f"never faster at any load {'as of now' if moved else 'measured'}"
    elif moved:
        where = f"crossover as of now {crossover_words(crossover)}"
    elif crossover.value is None:
        where = f"crossover {crossover.verdict.value.replace('_', ' ')}"
    else:
        where = f"crossover {interval_text(crossover.value, crossover.low, crossover.high)}"
    return f"{where}, {'swept' if moved else 'measured'} {age_text(crossover.age_s)} ago"


def crossover_long(status: EndpointStatus) -> str:
    """For the text: the same with the sweep that it comes from."""
    crossover, now = status.crossover, status.as_of_now
    if crossover is None:
        return "unknown."
    sweep, ago = f"sweep {crossover.sweep_id}", f"{age_text(crossover.age_s)} ago"
    if now is not None and now.decides:
        measured = interval_text(crossover.value, crossover.low, crossover.high)
        if crossover.value is None:
            measured = crossover.verdict.value.replace("_", " ")
        found = f"as of now {crossover_words(now)} concurrent requests per engine; {sweep} measured {measured} {ago}."
    else:
        found = f"{_measured(crossover)}; {sweep} measured it {ago}."
    if status.verdict is LiveVerdict.INSIDE and status.concurrency is not None and status.verdict_reason:
        # An alert at a load between the edges would look like a mistake.
        found += f" {number(status.concurrency)} is {status.verdict_reason}."
    return found


def as_of_now_lines(status: EndpointStatus) -> list[str]:
    """What moved the crossover since the sweep, or why a change that is seen does not move it."""
    now = status.as_of_now
    if now is None:
        return []
    lines = []
    if now.decides:
        lines.append(f"Why it moved: {changed_words(now)}.")
    lines += [f"Note: {reason.text}" for reason in now.reasons if reason.code in TOLD]
    if now.break_even is not None and now.acceptance_length is not None:
        lines.append(f"Break-even: {_pays(status, now, now.break_even)}; it has {now.acceptance_length:.2f} now.")
    elif now.no_break_even is not None:
        lines.append(f"Break-even: none. {now.no_break_even.text}")
    return lines


def _pays(status: EndpointStatus, now: AsOfNow, even: BandPoint) -> str:
    at, needs, most = number(even.concurrency), break_even_words(even), most_words(status)
    if most and status.k is not None and even.ratio >= 1 + HARDLY * status.k:
        return f"{now.for_arm} can hardly pay at {at} concurrent: it takes an acceptance length of {needs}{most}"
    return f"{now.for_arm} pays at {at} concurrent from an acceptance length of {needs}{most}"


def _measured(crossover: CrossoverNow) -> str:
    if crossover.verdict is Verdict.NEVER_FASTER:
        return f"none: {crossover.for_arm} was not faster at any load measured"
    if crossover.value is None:
        word = crossover.verdict.value.replace("_", " ")
        return f"none that is clear ({word}), though {crossover.for_arm} was slower at this load"
    return f"{interval_text(crossover.value, crossover.low, crossover.high)} concurrent requests per engine"
