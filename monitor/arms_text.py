"""Latency, the best arm by load and the schedule in words, for the terminal and the screens alike; decides nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence

from monitor.answer_words import METRICS
from monitor.units import interval_text, number
from probes.answer_values import ArmVerdict, BestRange, Schedule, Verdict
from probes.crossover.best import short
from probes.crossover.schedule_codec import largest_k, sglang_value
from probes.values import Reason

BESIDE = {
    "pays_beyond_throughput": ", beyond the throughput crossover",
    "pays_less_than_throughput": ", short of the throughput crossover",
}
COVERAGE = ("below_measured", "between_measured", "above_measured", "schedule_unsure")
ALWAYS_SO = ("schedule_axis", "k0_is_not_off", "schedule_assumes", "schedule_by_name")
"""Reasons of a schedule that share a line: what it covers, and what holds for every one."""
VARIES_PCT = 5.0
"""A margin whose ends are further apart than this many points is told with both."""


def latency_sentence(metric: str, verdict: ArmVerdict) -> str:
    """Up to where the arm is better for the one who waits, and how that lies to throughput's crossover."""
    name = METRICS.get(metric, metric)
    beside = next((BESIDE[reason.code] for reason in verdict.reasons if reason.code in BESIDE), "")
    match verdict.verdict:
        case Verdict.CROSSES:
            where = interval_text(verdict.crossover, verdict.low, verdict.high)
            if verdict.low is None or verdict.high is None:
                return f"{name}: crosses at {where}: {sides(verdict, 'better', 'worse')}{beside}"
            return f"{name}: better up to {where}, worse above{beside}"
        case Verdict.ALWAYS_FASTER:
            return f"{name}: better up to {_maybe(verdict.low)}, where the comparison ends{beside}"
        case Verdict.NEVER_FASTER:
            span = verdict.speedup and f" from {number(verdict.speedup[0].concurrency)} up, the range compared"
            return f"{name}: not better anywhere{span or ''}; worse from {_maybe(verdict.high)} on{beside}"
        case _:
            why = verdict.reasons[0].text if verdict.reasons else ""
            tie = any(reason.code == "near_tie" for reason in verdict.reasons)
            return f"{name}: no difference beyond the noise" if tie else f"{name}: unclear. {why}".rstrip()


def sides(verdict: ArmVerdict, gain: str, loss: str) -> str:
    """Which side of a crossing is which; one that is not beyond the noise anywhere (an open edge) only reads so."""
    if verdict.low is None and verdict.high is None:
        return f"reads {gain} below and {loss} above, neither yet beyond the noise"
    if verdict.high is None:
        return f"{gain} below; reads {loss} above, a loss not yet beyond the noise"
    if verdict.low is None:
        return f"reads {gain} below, a gain not yet beyond the noise; {loss} above"
    return f"{gain} below, {loss} above"


def _maybe(value: float | None) -> str:
    return "?" if value is None else number(value)


def best_sentence(best: BestRange, unit: str, *, decided: bool = True) -> str:
    """The arm to run on one stretch, by how much over whom, and where its admission ends.

    A stretch goes by its own band (90%); where no verdict is `decided` (99%), its winner only reads fastest.
    """
    span = f"from {short(best.start)} to {short(best.end)} {unit}"
    limit = "" if best.limited_above is None else f"; above {short(best.limited_above)} its admission is full"
    if best.confident:
        over = f" over {', then '.join(best.over)}" if best.over else ""
        word, doubt = ("fastest", "") if decided else ("reads fastest", " (90%, too little for a verdict)")
        return f"{word} {span}: {best.arm}, by {margin_words(best)}{over}{doubt}{limit}"
    if not best.over:
        return f"no clear winner {span}: {best.arm} is the simplest{limit}"
    who, simpler = ("", "simpler") if len(best.over) == 1 else ("the fastest ", "simplest")
    faster = f" ({who}reads {-best.margin_pct:.0f}% faster)" if best.margin_pct <= -1 else ""
    return f"{span}: tie with {', '.join(best.over)}{faster}: {best.arm} is the {simpler}{limit}"


def margin_words(best: BestRange) -> str:
    """`9%`, or `9% (5 to 12%)` where it changes much across the stretch."""
    middle = f"{best.margin_pct:.0f}%"
    if best.low_pct is None or best.high_pct is None or best.high_pct - best.low_pct <= VARIES_PCT:
        return middle
    return f"{middle} ({best.low_pct:.0f} to {best.high_pct:.0f}%)"


def schedule_lines(schedule: Schedule) -> list[str]:
    """What to give each engine, after whether anything has measured it; then what to know before using it."""
    vllm = {
        "num_speculative_tokens": largest_k(schedule),
        "num_speculative_tokens_per_batch_size": schedule.rows,
    }
    lines = [schedule_title(schedule), f"    vLLM, in --speculative-config: {json.dumps(vllm)[1:-1]}"]
    lines.append(f"    SGLang, the file of --speculative-adaptive-config: {json.dumps(sglang_value(schedule))}")
    rest = [reason for reason in schedule.reasons if reason.code not in (*COVERAGE, *ALWAYS_SO)]
    lines += reason_lines(rest)
    for codes in (COVERAGE, ALWAYS_SO):
        said = " ".join(reason.text for reason in schedule.reasons if reason.code in codes)
        lines += [f"    {said}"] if said else []
    return lines


def schedule_title(schedule: Schedule) -> str:
    """One line that nobody can take for a recommendation."""
    if schedule.measured_as is None:
        return "schedule that the best arms imply, NOT MEASURED:"
    if any(reason.code == "schedule_lost" for reason in schedule.reasons):
        return f"schedule that the best arms imply, measured as {schedule.measured_as}: IT LOSES, do not use it:"
    return f"schedule that the best arms imply, measured as {schedule.measured_as}:"


def reason_lines(reasons: Sequence[Reason]) -> list[str]:
    return [f"    {reason.text}" for reason in reasons]
