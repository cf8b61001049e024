"""A report as one HTML page that needs nothing else: no script, no file, no address; numbers with units and ages.

Pure. Whatever comes from a server or a config is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from monitor.answer_words import SAID
from monitor.cost_text import cost_lines, ratio_text, span_text
from monitor.report.account_text import account_lines, percent
from monitor.report.charts import curve_chart, load_chart, load_legend, speedup_chart
from monitor.report.style import STYLE
from monitor.report.text import alert_lines, headline, measured_line, moved_line, no_account, now_line, utc
from monitor.report.values import EndpointReport
from monitor.units import age_text, band_text
from monitor.verdict_text import best_lines, capacity_sentence, crossover_lines, unit_of, verdict_sentence
from probes.answer_values import ArmVerdict, Crossover
from probes.crossover import speedup_at

NOT_TOLD = "not known: the live acceptance does not tell this arm's"


def page(reports: Sequence[EndpointReport], version: str) -> str:
    """All endpoints of one report; `version` is the program's."""
    at = utc(reports[0].at_s) if reports else ""
    since = utc(reports[0].since_s) if reports else ""
    body = "\n".join(_endpoint(report) for report in reports)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>specwatch report, {at}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Is speculative decoding paying?</h1>
<p class="muted">specwatch {escape(version)}; made {at}, traffic since {since}. Intervals are 90%; concurrency is
requests in the system per engine, running and waiting.</p>
{body}
</body>
</html>
"""


def _endpoint(report: EndpointReport) -> str:
    status, stored = report.status, report.stored
    parts = [
        f'<section><h2>{escape(status.name)} <small class="muted">pool {escape(status.pool)}</small></h2>',
        f'<p class="answer">{escape(headline(report))}</p>',
        f'<p><span class="badge {status.verdict.value}">{status.verdict.value}</span> {escape(now_line(status))}</p>',
        f'<p class="muted">{escape(measured_line(report))}</p>',
        f"<h3>Alerts</h3>{_list(alert_lines(report))}",
    ]
    if status.cost is not None and stored is not None and status.live_arm is not None:
        parts += ["<h3>What it costs now</h3>", _list(cost_lines(status.cost, status.live_arm, stored.result.baseline))]
    if stored is not None:
        parts += _answer(report, stored.result)
    parts += ["<h3>The load since then against the crossover</h3>", load_chart(report)]
    if legend := load_legend(report):
        parts.append(f'<p class="muted">{legend}</p>')
    parts += [_list(account_lines(report.account)) if report.account else f"<p>{no_account(report)}</p>"]
    parts += [_days(report)]
    if stored is not None:
        parts += [_details("The sweep's whole answer in words, as swept", crossover_lines(stored.result))]
    return "\n".join([*(part for part in parts if part), "</section>"])


def _answer(report: EndpointReport, found: Crossover) -> list[str]:
    chart, curves = speedup_chart(found, report.status), curve_chart(found)
    moved = moved_line(report)
    where = "as swept, and the crossover as of now" if moved else "with the crossover"
    return [
        f"<h3>Speedup over {escape(found.baseline)}, {where}</h3>" if chart else "",
        f'<p class="muted">As of now: {escape(moved)}. The solid bands are the sweep\'s own.</p>' if moved else "",
        chart,
        _arms(report, found),
        "<h3>Each arm's own output, as swept</h3>" if curves else "",
        curves,
        _best(found),
        _reasons(found),
    ]


def _arms(report: EndpointReport, found: Crossover) -> str:
    unit, now = unit_of(found), report.status.as_of_now
    moved = now.arms if now is not None and now.decides else None
    rows = []
    for name, verdict in found.arms.items():
        judged = verdict if moved is None else moved.get(name)
        load = "not compared" if report.not_compared else _now(judged, report.status.concurrency)
        capacity = "unknown"
        if verdict.capacity is not None:
            capacity = capacity_sentence(verdict.capacity).removeprefix("capacity: ")
        as_of_now = [verdict_sentence(judged, unit) if judged is not None else NOT_TOLD] if moved is not None else []
        rows.append((name, verdict_sentence(verdict, unit), *as_of_now, load, capacity))
    head = ("as of now", "at the load now, as of now") if moved is not None else ("at the load now",)
    return _table(("arm", f"against {found.baseline}, as swept", *head, "capacity, as swept"), rows)


def _now(verdict: ArmVerdict | None, concurrency: float | None) -> str:
    if verdict is None:
        return NOT_TOLD
    if not concurrency:
        return "no load" if concurrency == 0 else "unknown"
    point = speedup_at(verdict, concurrency)
    return band_text(point) if point is not None else "not measured"


def _best(found: Crossover) -> str:
    lines = best_lines(found)
    return "<h3>Which arm at which load, as swept</h3>" + _list(lines) if lines else ""


def _reasons(found: Crossover) -> str:
    lines = [f"{name}: {r.text}" for name, verdict in found.arms.items() for r in verdict.reasons if r.code not in SAID]
    lines += [note.text for note in found.notes]
    return "<h3>Reasons</h3>" + _list(lines) if lines else ""


def _days(report: EndpointReport) -> str:
    """What every arm would have done with the same arrivals."""
    account = report.account
    if account is None or not account.arms:
        return ""
    days = [*account.arms, *([account.routed] if account.routed is not None else [])]
    rows = [
        (
            "best arm each minute" if day is account.routed else day.arm,
            ratio_text(day.time_per_token) if day.time_per_token is not None else "unknown",
            span_text(day.ms_per_token),
            percent(day.capacity_pct),
            age_text(day.overload_s) if day.overload_s else "none",
            f"{100 * day.covered:.0f}%",
        )
        for day in days
    ]
    head = (
        "the same arrivals on", "time per token, of what ran", "ms per token", "capacity", "could not carry",
        "of the busy time",
    )  # fmt: skip
    return _table(head, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _details(title: str, lines: Iterable[str]) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>" + escape("\n".join(lines)) + "</pre></details>"
