"""Runs the alert rule over fresh statuses and writes each transition with its deliveries in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from monitor.alerts.rule import RuleSettings, evaluate
from monitor.config.model import Config
from monitor.store.alerts import load_alert_states, save_transition
from monitor.store.db import Store
from monitor.values import AlertState, EndpointStatus

log = logging.getLogger(__name__)

RULE = "above_crossover"


def evaluate_alerts(
    config: Config, store: Store, statuses: Sequence[EndpointStatus], now_s: float
) -> Mapping[tuple[str, str], AlertState]:
    """Advance every endpoint's alert by one evaluation; returns the states after it."""
    if not config.alerts.enabled:
        return {}
    settings = RuleSettings(
        for_s=config.alerts.for_s,
        keep_firing_for_s=config.alerts.keep_firing_for_s,
        tolerated_loss_pct=config.alerts.tolerated_loss_pct,
        clear_loss_pct=config.alerts.clear_loss_pct,
    )
    states = load_alert_states(store)
    after: dict[tuple[str, str], AlertState] = {}
    for status in statuses:
        key = (status.name, RULE)
        before = states.get(key, AlertState(endpoint=status.name, rule=RULE))
        state, event = evaluate(before, status, settings, now_s)
        if event is not None:
            log.warning("event=alert endpoint=%s kind=%s title=%r", status.name, event.kind, event.title)
        channels = [c.name for c in config.channel if event is None or event.kind == "firing" or c.send_resolved]
        save_transition(store, state, event, channels, now_s)
        after[key] = state
    return after
