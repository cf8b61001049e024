"""The words of an alert about the crossover it goes by, swept or as of now; pure, and it invents no number."""

from __future__ import annotations

from monitor.compared import compared_in, moved_in
from monitor.now_words import break_even_words, changed_words, crossover_words, span_words
from monitor.units import age_text, interval_text, number
from monitor.values import CrossoverNow, EndpointStatus
from probes.answer_values import Verdict
from probes.steptime.fit import NO_STEP_MODEL

TOLD = (NO_STEP_MODEL,)
"""Codes of reasons as of now that a reader of the alert has to know: changes that are seen and not reckoned with."""


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
        return f"as of now {crossover_words(now)} concurrent requests per engine; {sweep} measured {measured} {ago}."
    return f"{_measured(crossover)}; {sweep} measured it {ago}."


def as_of_now_lines(status: EndpointStatus) -> list[str]:
    """What moved the crossover since the sweep, or why a change that is seen does not move it."""
    now = status.as_of_now
    if now is None:
        return []
    lines = []
    if now.decides:
        rests = f" ({span_words(now)})" if now.mix is not None else ""
        lines.append(f"Why it moved: {changed_words(now)}{rests}.")
    lines += [f"Note: {reason.text}" for reason in now.reasons if reason.code in TOLD]
    if now.break_even is not None and now.acceptance_length is not None:
        lines.append(
            f"Break-even: {now.for_arm} pays at {number(now.break_even.concurrency)} concurrent from an acceptance "
            f"length of {break_even_words(now.break_even)}; it has {now.acceptance_length:.2f} now."
        )
    elif now.no_break_even is not None:
        lines.append(f"Break-even: none. {now.no_break_even.text}")
    return lines


def _measured(crossover: CrossoverNow) -> str:
    if crossover.verdict is Verdict.NEVER_FASTER:
        return f"none: {crossover.for_arm} was not faster at any load measured"
    if crossover.value is None:
        word = crossover.verdict.value.replace("_", " ")
        return f"none that is clear ({word}), though {crossover.for_arm} was slower at this load"
    return f"{interval_text(crossover.value, crossover.low, crossover.high)} concurrent requests per engine"
