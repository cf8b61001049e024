"""Gathers from the store what a report needs; reads only, asks no server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.account_values import EngineMinute
from monitor.config.model import Config, EndpointConfig
from monitor.config.targets import parse_duration, pool_of
from monitor.day_account import day_account
from monitor.report.values import EndpointReport, told_alerts
from monitor.service.report_stretches import day_stretches
from monitor.service.statuses import StoredReadings, all_statuses, newest_crossover, pool_probe
from monitor.store.alerts import events_since
from monitor.store.db import Store
from monitor.store.identities import fingerprints_shown, load_identity
from monitor.store.minutes import engine_minutes, first_reading_s
from monitor.store.sweeps import get_sweep
from monitor.values import StoredCrossover
from monitor.verdict_now import BY_CLIENTS
from probes.answer_values import Axis

HOLE_INTERVALS = 3.0
"""Scrapes further apart than so many intervals have a hole between them."""
HOLE_MIN_S = 15.0
EXPIRED = "the answer is older than alerts trust (alerts.max_age): sweep again"


def endpoint_reports(
    config: Config, store: Store, names: list[str], since_s: float, now_s: float
) -> list[EndpointReport]:
    """One per named endpoint, in the config's order. Raises StoreError."""
    statuses = {status.name: status for status in all_statuses(config, store, StoredReadings(store), now_s)}
    reports = []
    for endpoint in config.endpoint:
        if endpoint.name not in names:
            continue
        known = load_identity(store, endpoint.name)
        pool = pool_of(endpoint)
        stored = newest_crossover(store, pool, known[1] if known is not None else None)
        hole_s = max(HOLE_MIN_S, HOLE_INTERVALS * config.scrape.interval_s)
        minutes = engine_minutes(store, endpoint.name, since_s, now_s, hole_s=hole_s)
        first_s = first_reading_s(store, endpoint.name, since_s)
        account = None
        if stored is not None and first_s is not None:
            declared = _declared(config, endpoint, pool)
            changes = fingerprints_shown(store, endpoint.name)
            parts = day_stretches(store, endpoint.name, stored, declared, changes, minutes, since_s, hole_s)
            account = day_account(minutes, stored, declared, first_s, now_s, changes, parts)
        expired = stored is not None and now_s - stored.measured_at_s > parse_duration(config.alerts.max_age)
        if account is not None and expired:
            account = replace(account, notes=(*account.notes, EXPIRED))
        reports.append(
            EndpointReport(
                at_s=now_s,
                since_s=since_s,
                status=statuses[endpoint.name],
                stored=stored,
                sweep=get_sweep(store, stored.sweep_id) if stored is not None else None,
                account=account,
                minutes=tuple(minutes),
                hole_s=hole_s,
                expired=expired,
                alerts=told_alerts(events_since(store, endpoint.name, since_s)),
                not_compared=_not_compared(stored, known[1] if known is not None else None, minutes),
            )
        )
    return reports


def _not_compared(stored: StoredCrossover | None, print_: str | None, minutes: Sequence[EngineMinute]) -> str:
    if stored is None:
        return ""
    if print_ and print_ != stored.fingerprint:
        return "another server than the one it was measured on"
    if stored.result.axis is Axis.CLIENTS and len({minute.engine for minute in minutes}) > 1:
        return BY_CLIENTS
    return ""


def _declared(config: Config, endpoint: EndpointConfig, pool: str) -> str | None:
    probe = endpoint.probe or pool_probe(config, pool)
    return probe.live_arm if probe is not None else None
