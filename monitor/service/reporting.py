"""Gathers from the store what a report needs; reads only, asks no server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.account_values import EngineMinute
from monitor.as_of_now import as_of_now
from monitor.config.model import Config, EndpointConfig
from monitor.config.targets import parse_duration, pool_of
from monitor.day_account import day_account, shown_at
from monitor.live_arm import find_live_arm
from monitor.live_mix import live_mix
from monitor.live_window import live_window
from monitor.now_values import AsOfNow
from monitor.report.values import EndpointReport
from monitor.service.statuses import StoredReadings, all_statuses, newest_crossover, pool_live_arm
from monitor.store.db import Store
from monitor.store.identities import fingerprints_shown, load_identity
from monitor.store.minutes import engine_minutes, first_reading_s
from monitor.store.readings import live_spans, load_readings
from monitor.store.sweeps import get_sweep
from monitor.values import StoredCrossover
from monitor.verdict_now import BY_CLIENTS
from probes.answer_values import Axis

HOLE_INTERVALS = 3.0
"""Scrapes further apart than so many intervals have a hole between them."""
HOLE_MIN_S = 15.0
EXPIRED = "the answer is older than alerts trust (alerts.max_age): sweep again"
SPANS = 200
"""Newest stretches of own traffic that are looked at."""


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
            as_of = _as_of(store, endpoint.name, stored, declared, changes, since_s)
            account = day_account(minutes, stored, declared, first_s, now_s, changes, as_of)
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
    return endpoint.probe.live_arm if endpoint.probe is not None else pool_live_arm(config, pool)


def _as_of(
    store: Store,
    endpoint: str,
    stored: StoredCrossover,
    declared: str | None,
    changes: Sequence[tuple[float, str]],
    since_s: float,
) -> AsOfNow | None:
    """The answer at the acceptance and mix of the longest stretch of own traffic; None where that does not tell.

    Only of the server that was swept. What a new one is becomes known a little after its start: its end tells.
    """
    own = (None, stored.fingerprint)
    spans = [span for span in live_spans(store, endpoint, since_s, SPANS) if shown_at(changes, span[1]) in own]
    if not spans:
        return None
    first_s, last_s = max(spans, key=lambda span: span[1] - span[0])
    ends = [one for at_s in (first_s, last_s) for one in load_readings(store, endpoint, at_s, at_s)]
    if len(ends) != 2:
        return None
    window = live_window(ends, first_s)
    live = find_live_arm(declared, stored, window).name
    arm = live if live in stored.result.arms else declared
    if arm is None or arm not in stored.result.arms:
        return None
    return as_of_now(stored, arm, live, window, live_mix(ends[0].reading, ends[1].reading))
