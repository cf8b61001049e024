"""A report as one JSON object for scripts; every number with its unit in its name, unknown as null. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from monitor.account_values import DayAccount
from monitor.cost import cost_json
from monitor.report.values import EndpointReport
from probes.crossover import to_json

SCHEMA = 1


def reports_json(reports: list[EndpointReport]) -> dict[str, Any]:
    """All endpoints of one report."""
    return {"schema": SCHEMA, "endpoints": [report_json(report) for report in reports]}


def report_json(report: EndpointReport) -> dict[str, Any]:
    """One endpoint."""
    status, stored = report.status, report.stored
    return {
        "name": status.name,
        "pool": status.pool,
        "at_s": report.at_s,
        "since_s": report.since_s,
        "verdict": status.verdict.value,
        "verdict_reason": status.verdict_reason,
        "live_arm": status.live_arm,
        "concurrency": status.concurrency,
        "speedup_now": asdict(status.speedup_now) if status.speedup_now is not None else None,
        "cost": cost_json(status.cost),
        "sweep_id": stored.sweep_id if stored is not None else None,
        "measured_at_s": stored.measured_at_s if stored is not None else None,
        "imported": stored.imported if stored is not None else None,
        "expired": report.expired,
        "not_compared": report.not_compared or None,
        "crossover": to_json(stored.result) if stored is not None else None,
        "account": account_json(report.account),
    }


def account_json(account: DayAccount | None) -> dict[str, Any] | None:
    """The account's fields as they are named, reasons with their seconds."""
    if account is None:
        return None
    return {**asdict(account), "unknown_why": [{"reason": why, "seconds": s} for why, s in account.unknown_why]}
