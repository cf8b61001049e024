"""A report as one JSON object for scripts; every number with its unit in its name, unknown as null. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from monitor.account_values import DayAccount
from monitor.cost import cost_json
from monitor.now_values import AsOfNow
from monitor.now_words import reason_words
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
        "verdict_reason": reason_words(status),
        "live_arm": status.live_arm,
        "concurrency": status.concurrency,
        "speedup_now": asdict(status.speedup_now) if status.speedup_now is not None else None,
        "as_of_now": _now_json(status.as_of_now),
        "alerts": [asdict(alert) for alert in report.alerts],
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
    found = asdict(account)
    # The mean of 1 / speedup - 1 in percent, not of 1 - speedup: the key says which.
    for side in ("above", "below"):
        found[f"more_time_per_token_pct_{side}"] = found.pop(f"slower_{side}")
    return {**found, "unknown_why": [{"reason": why, "seconds": s} for why, s in account.unknown_why]}


def _now_json(now: AsOfNow | None) -> dict[str, Any] | None:
    """The crossover as of now; the verdict, the speedup and the cost of now go by it where it decides."""
    if now is None:
        return None
    return {
        "for_arm": now.for_arm,
        "decides": now.decides,
        "verdict": now.verdict.value,
        "crossover": now.value,
        "low": now.low,
        "high": now.high,
        "acceptance_length": now.acceptance_length,
        "acceptance_swept": now.acceptance_measured,
        "mix": asdict(now.mix.mix) if now.mix is not None else None,
        "mix_swept": asdict(now.mix_measured) if now.mix_measured is not None else None,
    }
