"""A report as lines for a terminal: the verdict first, ages and units everywhere. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.compared import compared_in, moved_in, withdrawn
from monitor.cost_text import cost_lines
from monitor.now_words import changed_words, crossover_words, reason_words
from monitor.report.account_text import account_lines
from monitor.report.values import EndpointReport, ToldAlert
from monitor.units import age_text, band_text, interval_text, number
from monitor.values import CrossoverNow, EndpointStatus
from monitor.verdict_text import crossover_lines
from probes.answer_values import Axis, Verdict

TRIGGERS = {"intent": "asked of the daemon", "schedule": "scheduled", "command": "by hand"}
NOT_STORED = "no traffic is stored for this time"


def report_lines(report: EndpointReport) -> list[str]:
    """Now, the time since, the crossover, each with what it rests on; the longest last."""
    stored, status = report.stored, report.status
    lines = [
        f"{status.name} (pool {status.pool}), {utc(report.at_s)}",
        f"now: {status.verdict.value.upper()}; {now_line(status)}",
    ]
    if status.cost is not None and stored is not None and status.live_arm is not None:
        lines += [f"  {line}" for line in cost_lines(status.cost, status.live_arm, stored.result.baseline)]
    lines += alert_lines(report)
    lines.append(f"since {utc(report.since_s)}:")
    lines += [f"  {line}" for line in (account_lines(report.account) if report.account else [no_account(report)])]
    moved = moved_line(report)
    lines += [f"crossover as of now: {moved}"] if moved else []
    lines.append(f"crossover{' as swept' if moved else ''}: {measured_line(report)}")
    if stored is not None:
        lines += [f"  {line}" for line in crossover_lines(stored.result)]
    return lines


def alert_lines(report: EndpointReport) -> list[str]:
    """Every alert of the time with its instants; one line where there was none."""
    if not report.alerts:
        return [f"alerts since {utc(report.since_s)}: none"]
    return [f"alert {_alert_time(alert)}: {alert.title}" for alert in report.alerts]


def _alert_time(alert: ToldAlert) -> str:
    if alert.resolved_at_s is None:
        return f"firing since {utc(alert.fired_at_s)}"
    # As the message of its end counts: from when the condition first held, not from when it had held for `for_s`.
    lasted = age_text(max(0.0, alert.resolved_at_s - alert.started_at_s))
    return f"fired {utc(alert.fired_at_s)}, resolved {utc(alert.resolved_at_s)} (lasted {lasted})"


def moved_line(report: EndpointReport) -> str:
    """The crossover that the verdict of now goes by, where it is not the sweep's; else empty."""
    now, stored = report.status.as_of_now, report.stored
    if now is None or not now.decides or stored is None:
        return ""
    changed = changed_words(now)
    return f"{now.for_arm} against {stored.result.baseline}: {crossover_words(now)}{f'; {changed}' if changed else ''}"


def now_line(status: EndpointStatus) -> str:
    """The numbers that the live verdict rests on, or why there is none."""
    parts = []
    if status.concurrency is not None:
        parts.append(f"{number(status.concurrency)} concurrent on the busiest engine")
    if status.live_arm is not None:
        parts.append(f"arm {status.live_arm}")
    if status.speedup_now is not None:
        as_of = " as of now" if moved_in(status) else ""
        parts.append(f"speedup{as_of} {band_text(status.speedup_now)}")
    if status.age_s is not None:
        parts.append(f"read {age_text(status.age_s)} ago")
    if reason := reason_words(status):
        parts.append(reason)
    return "; ".join(parts)


def measured_line(report: EndpointReport) -> str:
    """Where the answer comes from and how old it is."""
    if report.stored is None:
        return f"no sweep has measured this pool yet; `specwatch sweep {report.status.pool}` does"
    age = age_text(max(0.0, report.at_s - report.stored.measured_at_s))
    how = report.sweep.trigger if report.sweep is not None and not report.stored.imported else ""
    trigger = f", {TRIGGERS.get(how, how)}" if how else ""
    elsewhere = " elsewhere" if report.stored.imported else ""
    expired = ", expired" if report.expired else ""
    when = utc(report.stored.measured_at_s)
    return f"sweep {report.stored.sweep_id}{trigger}, measured{elsewhere} {age} ago ({when}){expired}"


def headline(report: EndpointReport) -> str:
    """The answer in one sentence, with what keeps it from being one for this server and this day."""
    found = compared_in(report.status)
    swept = report.status.crossover
    if found is None or swept is None or report.stored is None:
        return measured_line(report) if report.stored is None else report.status.verdict_reason or measured_line(report)
    said = _found(found, report.stored.result.axis)
    if moved_line(report):
        if withdrawn(report.status.as_of_now):
            said = f"no sweep says whether {found.for_arm} pays with requests like these"
        said = f"As of now {said}; as swept the crossover was {crossover_words(swept)}"
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
    pays = f"{found.for_arm} pays at every load measured, up to {top}"
    if found.low is not None and found.band and found.low < 0.999 * found.band[-1].concurrency:
        noise = f"from there to {top}, the highest measured, the difference is inside the noise"
        pays = f"{found.for_arm} pays up to {number(found.low)}; {noise}"
    return {
        Verdict.ALWAYS_FASTER: pays,
        Verdict.NEVER_FASTER: f"{found.for_arm} pays at no load measured, up to {top}",
    }.get(found.verdict, f"{found.for_arm}: {found.verdict.value}")


def no_account(report: EndpointReport) -> str:
    """Why there is no account."""
    if not report.minutes:
        return NOT_STORED
    return (
        "traffic is stored, but no sweep has measured this pool, so that nothing can be said of it: run "
        f"`specwatch sweep {report.status.pool}`"
    )


def utc(at_s: float) -> str:
    """An instant (Unix seconds) in the one zone that everybody shares."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
