"""A report as lines for a terminal: the verdict first, ages and units everywhere. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.cost_text import cost_lines
from monitor.report.account_text import account_lines
from monitor.report.values import EndpointReport
from monitor.units import age_text, interval_text, number
from monitor.values import CrossoverNow, EndpointStatus
from monitor.verdict_text import crossover_lines
from probes.answer_values import Axis, Verdict

NOT_STORED = "no traffic is stored for this time"


def report_lines(report: EndpointReport) -> list[str]:
    """Now, the crossover, the time since, each with what it rests on."""
    stored, status = report.stored, report.status
    lines = [
        f"{status.name} (pool {status.pool}), {utc(report.at_s)}",
        f"now: {status.verdict.value.upper()}; {now_line(status)}",
    ]
    if status.cost is not None and stored is not None and status.live_arm is not None:
        lines += [f"  {line}" for line in cost_lines(status.cost, status.live_arm, stored.result.baseline)]
    lines.append(f"crossover: {measured_line(report)}")
    if stored is not None:
        lines += [f"  {line}" for line in crossover_lines(stored.result)]
    lines.append(f"since {utc(report.since_s)}:")
    lines += [f"  {line}" for line in (account_lines(report.account) if report.account else [no_account(report)])]
    return lines


def now_line(status: EndpointStatus) -> str:
    """The numbers that the live verdict rests on, or why there is none."""
    parts = []
    if status.concurrency is not None:
        parts.append(f"{number(status.concurrency)} concurrent on the busiest engine")
    if status.live_arm is not None:
        parts.append(f"arm {status.live_arm}")
    if status.speedup_now is not None:
        point = status.speedup_now
        parts.append(f"speedup {point.ratio:.2f}x [{point.low:.2f}, {point.high:.2f}]")
    if status.age_s is not None:
        parts.append(f"read {age_text(status.age_s)} ago")
    if status.verdict_reason:
        parts.append(status.verdict_reason)
    return "; ".join(parts)


def measured_line(report: EndpointReport) -> str:
    """Where the answer comes from and how old it is."""
    if report.stored is None:
        return "no sweep has measured this pool yet"
    age = age_text(max(0.0, report.at_s - report.stored.measured_at_s))
    trigger = f", {report.sweep.trigger}" if report.sweep is not None and not report.stored.imported else ""
    elsewhere = " elsewhere" if report.stored.imported else ""
    expired = ", expired" if report.expired else ""
    when = utc(report.stored.measured_at_s)
    return f"sweep {report.stored.sweep_id}{trigger}, measured{elsewhere} {age} ago ({when}){expired}"


def headline(report: EndpointReport) -> str:
    """The answer in one sentence, with what keeps it from being one for this server and this day."""
    found = report.status.crossover
    if found is None or report.stored is None:
        return report.status.verdict_reason or measured_line(report)
    said = _found(found, report.stored.result.axis)
    if report.not_compared:
        return f"{said}; not compared with this endpoint: {report.not_compared}"
    age = age_text(max(0.0, report.at_s - report.stored.measured_at_s))
    return f"{said}; that is {age} old and has expired" if report.expired else said


def _found(found: CrossoverNow, axis: Axis) -> str:
    if found.verdict is Verdict.CROSSES:
        where = interval_text(found.value, found.low, found.high)
        unit = "clients" if axis is Axis.CLIENTS else "concurrent requests per engine"
        return f"{found.for_arm} pays below {where} {unit} and costs above"
    top = number(found.band[-1].concurrency) if found.band else "any load measured"
    return {
        Verdict.ALWAYS_FASTER: f"{found.for_arm} pays at every load measured, up to {top}",
        Verdict.NEVER_FASTER: f"{found.for_arm} pays at no load measured, up to {top}",
    }.get(found.verdict, f"{found.for_arm}: {found.verdict.value}")


def no_account(report: EndpointReport) -> str:
    """Why there is no account."""
    if not report.minutes:
        return NOT_STORED
    return "traffic is stored, but no sweep has measured this pool, so that nothing can be said of it"


def utc(at_s: float) -> str:
    """An instant (Unix seconds) in the one zone that everybody shares."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
