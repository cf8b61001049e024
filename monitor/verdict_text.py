"""A crossover in words, for the terminal and for logs: verdict first, interval beside it, reasons beneath."""

from __future__ import annotations

from monitor.answer_words import SAID
from monitor.arms_text import best_sentence, latency_sentence, reason_lines, schedule_lines, sides
from monitor.units import band_text, interval_text, number
from probes.answer_values import ArmVerdict, Axis, Capacity, Crossover, Verdict
from probes.crossover.capacity import TOP_OF_LADDER

UNDECIDED = (Verdict.UNCLEAR, Verdict.INSUFFICIENT)


def crossover_lines(result: Crossover) -> list[str]:
    """One paragraph per arm, verdict first; then which arm is best where, and the schedule that this implies."""
    unit = unit_of(result)
    lines: list[str] = []
    for arm in result.arms.values():
        lines.append(f"{arm.arm} against {result.baseline}: {verdict_sentence(arm, unit)}")
        lines += reason_lines([reason for reason in arm.reasons if reason.code not in SAID])
        lines += [f"    at {number(p.concurrency):>6} {unit}: {band_text(p)}" for p in arm.speedup]
        lines += [
            f"    {latency_sentence(metric, arms[arm.arm])}"
            for metric, arms in result.latency.items()
            if arm.arm in arms
        ]
        if arm.capacity is not None:
            lines.append(f"    {capacity_sentence(arm.capacity)}")
    if result.baseline_capacity is not None:
        lines.append(f"{result.baseline}, the baseline: {capacity_sentence(result.baseline_capacity)}")
    lines += best_lines(result)
    if result.schedule is not None:
        lines += schedule_lines(result.schedule)
    return lines + [note.text for note in result.notes]


def no_verdict_because(result: Crossover) -> str | None:
    """Why no arm can be judged, not even as unclear; None where any can."""
    if any(arm.verdict is not Verdict.INSUFFICIENT for arm in result.arms.values()):
        return None
    whys = [f"{arm.arm}: {arm.reasons[0].text}" for arm in result.arms.values() if arm.reasons]
    return " ".join(whys) or "No arm could be compared with the baseline."


def unit_of(result: Crossover) -> str:
    """What a result's concurrency counts."""
    return "concurrent per engine" if result.axis is Axis.CONCURRENCY_PER_ENGINE else "clients"


def best_lines(result: Crossover) -> list[str]:
    """Which arm to run at which load."""
    decided = any(arm.verdict not in UNDECIDED for arm in result.arms.values())
    return [best_sentence(best, unit_of(result), decided=decided) for best in result.best]


def capacity_sentence(capacity: Capacity) -> str:
    """What the arm held; a ladder that met no limit has not found the capacity."""
    held = f"{number(capacity.running)} running, {number(capacity.tok_s)} tok/s per engine"
    if capacity.limited_by == TOP_OF_LADDER:
        return f"capacity: limit not reached ({held})"
    return f"capacity: {held}, limited by {capacity.limited_by}"


def verdict_sentence(arm: ArmVerdict, unit: str) -> str:
    """The verdict with its interval; a side without a clear sign anywhere is not called faster or slower."""
    where = interval_text(arm.crossover, arm.low, arm.high)
    match arm.verdict:
        case Verdict.CROSSES:
            return f"crosses at {where} {unit}: {sides(arm, 'faster', 'slower')}"
        case Verdict.ALWAYS_FASTER:
            if arm.low is None or not arm.speedup:
                return "always faster"
            top = arm.speedup[-1].concurrency
            if arm.low < 0.999 * top:
                return f"faster up to {number(arm.low)} {unit}, inside the noise from there to {number(top)}, the top"
            return f"always faster up to {number(arm.low)} {unit}, the highest measured"
        case Verdict.NEVER_FASTER:
            return "never faster at any load measured"
        case Verdict.UNCLEAR:
            return f"unclear, crossover {where} {unit}" if arm.crossover is not None else "unclear"
        case Verdict.INSUFFICIENT:
            return "insufficient measurements for a verdict"
