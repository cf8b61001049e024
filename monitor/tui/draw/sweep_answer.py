"""What a sweep answers, in few rows of its screen: a verdict per arm, the best by load, latency, the schedule."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.answer_words import METRICS, SAID, joined
from monitor.tui import format as fmt
from monitor.tui.lines import Line, paragraph
from monitor.values import SweepRecord
from probes.answer_values import ArmVerdict, Axis, BestRange, Schedule, Verdict


def answer(sweep: SweepRecord, width: int) -> list[Line]:
    """Rows under the title; none where there is no answer."""
    if sweep.result is None:
        return []
    rows = _verdicts(sweep, width)
    if sweep.result.best:
        rows += paragraph(best_text(sweep.result.best), width, role="text", indent=" ", limit=2)
    verdict = compared(sweep)
    if verdict is not None:
        by_metric = {metric: arms[verdict.arm] for metric, arms in sweep.result.latency.items() if verdict.arm in arms}
        if by_metric:
            text = f"{verdict.arm} {'; '.join(_latency(metric, one) for metric, one in by_metric.items())}"
            rows += paragraph(text, width, role="text", indent=" ", limit=2)
    if sweep.result.schedule is not None:
        rows += _schedule(sweep.result.schedule, width)
    return rows


def compared(sweep: SweepRecord) -> ArmVerdict | None:
    """The verdict that the chart shades: the live arm's, else the first speculating arm's."""
    if sweep.result is None:
        return None
    spec = {name: verdict for name, verdict in sweep.result.arms.items() if name != sweep.baseline}
    if sweep.live_arm in spec:
        return spec[sweep.live_arm]
    return next(iter(spec.values()), None)


def verdict_text(verdict: ArmVerdict, axis: Axis) -> str:
    """One arm's answer as a sentence; imported results may be by clients."""
    unit = "clients" if axis is Axis.CLIENTS else "requests per engine"
    top = max((point.concurrency for point in verdict.speedup), default=None)
    to = "" if top is None else f" up to {fmt.edge(top)}, the highest measured"
    faster = f"always faster{to}"
    if top is not None and verdict.low is not None and verdict.low < 0.999 * top:
        faster = f"faster up to {fmt.edge(verdict.low)} {unit}, inside the noise from there to {fmt.edge(top)}, the top"
    return {
        Verdict.CROSSES: f"pays below {fmt.interval(verdict.crossover, verdict.low, verdict.high)} {unit}",
        Verdict.ALWAYS_FASTER: faster,
        Verdict.NEVER_FASTER: f"never faster{to}",
        Verdict.UNCLEAR: "unclear: the difference drowns in the noise",
        Verdict.INSUFFICIENT: "too few valid cells to say",
    }[verdict.verdict]


def best_text(best: Sequence[BestRange]) -> str:
    """`best: k3 to 55 (+9%) · off to 246 (tie)`; neighbours of one arm are one, `tie, then +9%`."""
    parts: list[tuple[str, float, list[str]]] = []
    for one in best:
        leads = parts.pop()[2] if parts and parts[-1][0] == one.arm else []
        parts.append((one.arm, one.end, [*leads, f"+{one.margin_pct:.0f}%" if one.confident else "tie"]))
    return "best: " + " · ".join(f"{arm} to {fmt.edge(end)} ({', then '.join(leads)})" for arm, end, leads in parts)


def _verdicts(sweep: SweepRecord, width: int) -> list[Line]:
    """A row or two per speculating arm: its verdict with interval, and why it is what it is."""
    assert sweep.result is not None
    spec = [(name, verdict) for name, verdict in sweep.result.arms.items() if name != sweep.baseline]
    limit = 2 if len(spec) == 1 else 1
    rows: list[Line] = []
    for name, verdict in spec:
        why = joined(reason.text for reason in verdict.reasons if reason.code not in SAID)
        text = f"{name}: {verdict_text(verdict, sweep.result.axis)}" + (f" ({why})" if why else "")
        rows += paragraph(text, width, role="strong", indent=" ", limit=limit)
    return rows


def _latency(metric: str, verdict: ArmVerdict) -> str:
    name = METRICS.get(metric, metric)
    match verdict.verdict:
        case Verdict.CROSSES:
            return f"{name} better up to {fmt.interval(verdict.crossover, verdict.low, verdict.high)}"
        case Verdict.ALWAYS_FASTER:
            return f"{name} better up to {fmt.edge(verdict.low)}, where the comparison ends"
        case Verdict.NEVER_FASTER:
            return f"{name} nowhere better" + ("" if verdict.high is None else f", worse from {fmt.edge(verdict.high)}")
        case _:
            return f"{name} even" if any(r.code == "near_tie" for r in verdict.reasons) else f"{name} unclear"


def _schedule(schedule: Schedule, width: int) -> list[Line]:
    value = str(schedule.rows).replace(" ", "")
    lost = any(reason.code == "schedule_lost" for reason in schedule.reasons)
    state = "NOT MEASURED" if schedule.measured_as is None else f"measured as {schedule.measured_as}"
    state += ", AND IT LOSES" if lost and schedule.measured_as is not None else ""
    return paragraph(f"schedule, {state}: {value}", width, role="warn", indent=" ", limit=2)
