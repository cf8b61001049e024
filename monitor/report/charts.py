"""The three charts of a report: speedup over load, each arm's own curve, and the load since then against the crossover.

Pure; colours are classes, the baseline's first. A gap in the readings stays a gap.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from monitor.account_values import EngineMinute
from monitor.compared import compared_in, moved_in
from monitor.report.svg import Chart
from monitor.report.values import EndpointReport
from monitor.tui.scale import Scale, doublings, linear
from monitor.units import interval_text, number
from monitor.values import CrossoverNow, EndpointStatus
from probes.answer_values import Axis, Crossover

STEPS_S = (300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
MOST_TICKS = 9
COLOURS = 6
MINUTE_S = 60.0
SHADED = "Shaded: the crossover's interval as of each time. It moves where acceptance or the mix of requests moved."


def arm_class(found: Crossover, arm: str) -> str:
    """The colour of an arm, the same in every chart."""
    names = [found.baseline, *(name for name in found.arms if name != found.baseline)]
    return f"c{names.index(arm) % COLOURS}" if arm in names else "c0"


def unit(found: Crossover) -> str:
    """What the x axis counts."""
    if found.axis is Axis.CLIENTS:
        return "clients"
    return "requests in the system per engine"


def speedup_chart(found: Crossover, status: EndpointStatus) -> str:
    """Every arm's band over the baseline; the live arm's interval shaded, its band as of now, the live load a rule."""
    crossover, moved = compared_in(status), status.as_of_now
    bands = {name: verdict.speedup for name, verdict in found.arms.items() if verdict.speedup}
    if not bands:
        return ""
    points = [point for band in bands.values() for point in band]
    floor = math.floor(10 * min(1.0, *(p.low for p in points))) / 10
    chart = Chart(
        doublings(p.concurrency for p in points),
        linear([1.05, *(p.high for p in points)], floor=max(0.0, floor), ticks=7),
        unit(found),
        f"output over that of {found.baseline}",
    )
    if crossover is not None and (crossover.low is not None or crossover.high is not None):
        chart.shade(crossover.low, crossover.high, "cross", vertical=True)
        if crossover.value is not None:
            chart.rule(
                crossover.value,
                "cross",
                f"{crossover.for_arm} crosses at {_interval(crossover)}{_as_of_now(status)}",
                vertical=True,
            )
    chart.rule(1.0, "equal", f"1 = {found.baseline}: above pays, below costs", vertical=False)
    if status.concurrency:
        chart.rule(status.concurrency, "now", f"now {number(status.concurrency)}", vertical=True, lower=True)
    for name, band in bands.items():
        css = arm_class(found, name)
        chart.band([(p.concurrency, p.low, p.high) for p in band], css)
        chart.line([(p.concurrency, p.ratio) for p in band], css, name, marks=True)
    if moved is not None and moved.decides and moved.band:
        css = f"{arm_class(found, moved.for_arm)} moved"
        chart.line([(p.concurrency, p.ratio) for p in moved.band], css, f"{moved.for_arm} as of now")
    where = _where(crossover) + (" That is as of now; the bands are as swept." if _as_of_now(status) else "")
    return chart.svg(f"Speedup over {found.baseline}", f"Bands are 90% intervals. {where}")


def curve_chart(found: Crossover) -> str:
    """Output tok/s of one engine over its load, every arm's own."""
    curves = {name: curve for name, curve in found.curves.items() if curve}
    if not curves:
        return ""
    samples = [sample for curve in curves.values() for sample in curve]
    chart = Chart(
        doublings(s.concurrency for s in samples),
        linear(s.high for s in samples),
        unit(found),
        "output tok/s per engine",
    )
    for name, curve in curves.items():
        css = arm_class(found, name)
        chart.band([(s.concurrency, s.low, s.high) for s in curve], css)
        chart.line([(s.concurrency, s.tok_s) for s in curve], css, name, marks=True)
    return chart.svg("Each arm's own output", "Bands are 90% intervals of any other run of the same arm.")


def load_chart(report: EndpointReport) -> str:
    """The busiest engine's load minute by minute since then, sweeps apart, against the crossover."""
    loads = _busiest(report.minutes)
    if not loads:
        return ""
    first_s = min(at_s for at_s, _, _ in loads)
    judged = _judged_by(report, first_s) if not report.not_compared else []
    edges = [edge for _, _, low, high in judged for edge in (low, high) if edge is not None]
    chart = Chart(
        times(first_s, report.at_s),
        linear([1.0, *(load for _, load, _ in loads), *edges]),
        "time, UTC",
        "in the system, busiest engine",
    )
    for start_s, end_s, low, high in judged:
        if low is not None or high is not None:
            low, high = low if low is not None else 0.0, high if high is not None else chart.y.high
            chart.band([(start_s, low, high), (end_s, low, high)], "cross")
    swept = report.status.crossover
    if edges and swept is not None and len({row[2:] for row in judged}) == 1 and not _as_of_now(report.status):
        chart.rule(edges[-1], "edge", f"crossover {_interval(swept)}", vertical=False)
    for alert in report.alerts:
        ended_s = alert.resolved_at_s if alert.resolved_at_s is not None else report.at_s
        if ended_s > first_s:
            chart.shade(alert.fired_at_s, ended_s, "alert", vertical=True)
    for at_s, load, swept_load in _runs(loads, report.hole_s + MINUTE_S):
        chart.line(_steps(at_s, load), "sweep" if swept_load else "load")
    where = "" if report.not_compared else f" As swept: {_where(swept)}"
    return chart.svg("Load against the crossover", f"The mean of each minute.{where}")


def load_legend(report: EndpointReport) -> str:
    """What the load chart's lines and shades mean, as far as they are in it."""
    loads = _busiest(report.minutes)
    if not loads:
        return ""
    parts = ["Line: the load, one mean a minute; where no page was read there is none."]
    if any(swept for _, _, swept in loads):
        parts.append("Dotted: load that a sweep made, not traffic.")
    if any(a.resolved_at_s is None or a.resolved_at_s > loads[0][0] for a in report.alerts):
        parts.append("Red: an alert fired.")
    if report.account is not None and report.account.moved:
        parts.append(SHADED)
    return " ".join(parts)


def _steps(at_s: Sequence[float], load: Sequence[float]) -> list[tuple[float, float]]:
    """Each minute's mean over its whole minute: a slope from one to the next would show loads that nobody saw."""
    half_s = MINUTE_S / 2
    return [(at + side, mean) for at, mean in zip(at_s, load, strict=True) for side in (-half_s, half_s)]


def _judged_by(report: EndpointReport, first_s: float) -> list[tuple[float, float, float | None, float | None]]:
    """Times with the interval of the crossover that they are judged by: the sweep's, except where it had moved."""
    swept = report.status.crossover
    if swept is None:
        return []
    stretches = report.account.stretches if report.account is not None else ()
    rows, at_s = [], first_s
    for one in (one for one in stretches if one.moved):
        rows += [(at_s, one.first_s, swept.low, swept.high)] if one.first_s > at_s else []
        rows.append((max(at_s, one.first_s), one.last_s, one.low, one.high))
        at_s = max(at_s, one.last_s)
    if report.at_s - at_s > MINUTE_S:
        rows.append((at_s, report.at_s, swept.low, swept.high))
    return rows


def _as_of_now(status: EndpointStatus) -> str:
    return " as of now" if moved_in(status) else ""


def times(first_s: float, last_s: float) -> Scale:
    """Round UTC times from `first_s` to `last_s` (Unix seconds), at least ten minutes apart."""
    first_s = min(first_s, last_s - 600.0)
    step = next((s for s in STEPS_S if (last_s - first_s) / s <= MOST_TICKS), STEPS_S[-1])
    ticks = tuple(float(at) for at in range(math.ceil(first_s / step) * step, math.floor(last_s) + 1, step))
    form = "%H:%M" if step < 86_400 else "%d %b"
    return Scale(first_s, last_s, ticks, label=lambda at: datetime.fromtimestamp(at, UTC).strftime(form))


def _busiest(minutes: Sequence[EngineMinute]) -> list[tuple[float, float, bool]]:
    """(time, highest load of an engine, under a sweep) by minute."""
    held: dict[float, list[EngineMinute]] = defaultdict(list)
    for minute in minutes:
        if minute.concurrency is not None:
            held[minute.at_s].append(minute)
    return [
        (at_s, max(m.concurrency or 0.0 for m in own), any(m.swept for m in own)) for at_s, own in sorted(held.items())
    ]


def _runs(loads: Sequence[tuple[float, float, bool]], gap_s: float) -> list[tuple[list[float], list[float], bool]]:
    """Stretches of one kind; minutes further apart than `gap_s` are not joined."""
    runs: list[tuple[list[float], list[float], bool]] = []
    for at_s, load, swept in loads:
        if not runs or at_s - runs[-1][0][-1] > gap_s or runs[-1][2] != swept:
            runs.append(([], [], swept))
        runs[-1][0].append(at_s)
        runs[-1][1].append(load)
    return runs


def _where(crossover: CrossoverNow | None) -> str:
    if crossover is None or crossover.value is None:
        return "No crossover to compare with."
    return f"{crossover.for_arm} crosses at {_interval(crossover)}."


def _interval(crossover: CrossoverNow) -> str:
    return interval_text(crossover.value, crossover.low, crossover.high)
