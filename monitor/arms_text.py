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
VARIES_PCT = 5.0
"""A margin whose ends are further apart than this many points is told with both."""


def latency_sentence(metric: str, verdict: ArmVerdict) -> str:
    """Up to where the arm is better for the one who waits, and how that lies to throughput's crossover."""
    name = METRICS.get(metric, metric)
    beside = next((BESIDE[reason.code] for reason in verdict.reasons if reason.code in BESIDE), "")
    match verdict.verdict:
        case Verdict.CROSSES:
            where = interval_text(verdict.crossover, verdict.low, verdict.high)
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


def _maybe(value: float | None) -> str:
    return "?" if value is None else number(value)


def best_sentence(best: BestRange, unit: str) -> str:
    """The arm to run on one stretch, by how much over whom, and where its admission ends."""
    span = f"from {short(best.start)} to {short(best.end)} {unit}: {best.arm}"
    limit = "" if best.limited_above is None else f"; above {short(best.limited_above)} its admission is full"
    if best.confident:
        over = f" over {', then '.join(best.over)}" if best.over else ""
        return f"fastest {span}, by {margin_words(best)}{over}{limit}"
    ties = f" ({', '.join(best.over)}{_reads_faster(best)})" if best.over else ""
    return f"no clear winner {span} is the simplest of those within the noise{ties}{limit}"


def _reads_faster(best: BestRange) -> str:
    """What the simpler arm may give away."""
    return f"; reads {-best.margin_pct:.0f}% faster" if best.margin_pct <= -1 else ""


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
    return lines + reason_lines(schedule.reasons)


def schedule_title(schedule: Schedule) -> str:
    """One line that nobody can take for a recommendation."""
    if schedule.measured_as is None:
        return "schedule that the best arms imply, NOT MEASURED:"
    if any(reason.code == "schedule_lost" for reason in schedule.reasons):
        return f"schedule that the best arms imply, measured as {schedule.measured_as}: IT LOSES, do not use it:"
    return f"schedule that the best arms imply, measured as {schedule.measured_as}:"


def reason_lines(reasons: Sequence[Reason]) -> list[str]:
    return [f"    {reason.text}" for reason in reasons]
