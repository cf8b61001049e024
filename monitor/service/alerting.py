"""Runs the alert rule over fresh statuses and writes each transition with its deliveries in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from monitor.alerts.rule import RuleSettings, evaluate, retire
from monitor.config.model import Config
from monitor.store.alerts import load_alert_states, save_transition
from monitor.store.db import Store
from monitor.store.sweeps import crossover_of
from monitor.values import AlertEvent, AlertPhase, AlertState, EndpointStatus, StoredCrossover

log = logging.getLogger(__name__)

RULE = "above_crossover"


def rule_settings(config: Config) -> RuleSettings:
    """The alert part of the config."""
    alerts = config.alerts
    return RuleSettings(
        for_s=alerts.for_s,
        keep_firing_for_s=alerts.keep_firing_for_s,
        tolerated_loss_pct=alerts.tolerated_loss_pct,
        clear_loss_pct=alerts.clear_loss_pct,
        enabled=alerts.enabled,
        gap_tolerance_s=max(60.0, 3 * alerts.evaluate_every_s),
    )


def evaluate_alerts(
    config: Config, store: Store, statuses: Sequence[EndpointStatus], now_s: float
) -> Mapping[tuple[str, str], AlertState]:
    """Advance every endpoint's alert by one evaluation; returns the states after it."""
    settings = rule_settings(config)
    before = load_alert_states(store)
    after: dict[tuple[str, str], AlertState] = {}
    for status in statuses:
        key = (status.name, RULE)
        state = before.get(key, AlertState(endpoint=status.name, rule=RULE))
        after[key], event = evaluate(state, status, settings, now_s, _compared_with(store, status))
        _save(config, store, after[key], event, now_s)
    for key, state in before.items():
        if state.rule == RULE and key not in after and state.phase is not AlertPhase.INACTIVE:
            gone, event = retire(state, state.endpoint, "the endpoint is no longer in the config", now_s)
            _save(config, store, gone, event, now_s)
    return after


def _compared_with(store: Store, status: EndpointStatus) -> StoredCrossover | None:
    return crossover_of(store, status.crossover.sweep_id) if status.crossover is not None else None


def _save(config: Config, store: Store, state: AlertState, event: AlertEvent | None, now_s: float) -> None:
    if event is not None:
        log.warning("event=alert endpoint=%s kind=%s title=%r", state.endpoint, event.kind, event.title)
    channels = [c.name for c in config.channel if event is None or event.kind == "firing" or c.send_resolved]
    save_transition(store, state, event, channels, now_s)
