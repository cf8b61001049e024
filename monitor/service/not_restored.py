"""Looks for servers that a sweep left in one of its arms, and sees to it that everybody hears of them.

Restoring itself is done by `restoring.py`; here it is only looked at, told and shown.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from monitor.alerts.not_restored import RULE, advance
from monitor.config.model import Config
from monitor.config.targets import pool_of
from monitor.service.restoring import Restoring, journals_left
from monitor.store.alerts import load_alert_states, save_not_restored
from monitor.store.db import Store
from monitor.values import AlertPhase, AlertState, Unrestored
from probes.values import Reading, State

log = logging.getLogger(__name__)


def unrestored(
    config: Config, store_path: Path, *, watched: bool, newest: Mapping[str, Reading] | None = None
) -> tuple[Unrestored, ...]:
    """Endpoints whose server is not what production is meant to run.

    With a daemon (`watched`) only those that somebody has tried to restore in vain; without one also those that nobody
    will restore by himself. `newest`: the last look at each endpoint, to tell a dead server from one in a wrong arm.
    """
    looks = newest or {}
    live = {e.name: e.probe.live_arm for e in config.endpoint if e.probe is not None}
    return tuple(
        Unrestored(
            endpoint=one.endpoint,
            reason=one.reason,
            attempts=one.attempts,
            live_arm=live.get(one.endpoint),
            journal=str(one.journal),
            seen=seen_words(looks.get(one.endpoint)),
        )
        for one in journals_left(store_path)
        if one.not_restored or (not watched and one.state not in (Restoring.RESTORED, Restoring.IN_HAND))
    )


def seen_words(reading: Reading | None) -> str:
    """What a server showed at the last look, with its time; empty where nobody has looked."""
    if reading is None:
        return ""
    at = datetime.fromtimestamp(reading.at_s, UTC).strftime("%H:%M:%S UTC")
    if reading.state is not State.OK:
        return f"at {at} it was {reading.state.words}: {reading.reason or 'no reason given'}"
    k = "" if reading.k is None else f", {reading.k} tokens a draft"
    speculates = {
        True: f"with speculation{k}",
        False: "without speculation",
        None: "and does not show if it speculates",
    }
    return f"at {at} it was up {speculates[reading.speculation_configured]}"


def not_restored_words(left: Unrestored) -> str:
    """What is wrong and what to do, to follow the endpoint's name in one line."""
    arm = f"its live arm {left.live_arm}" if left.live_arm else "its live arm"
    why = f": {left.reason}" if left.reason else ""
    return f"does not run {arm} after a sweep restarted it{why}; `specwatch stop {left.endpoint}` puts it back"


def tell_not_restored(
    config: Config, store: Store, found: Sequence[Unrestored], now_s: float
) -> Mapping[tuple[str, str], AlertState]:
    """Advance the alert of every endpoint concerned and queue what is to be told; returns the states after it."""
    pools = {e.name: pool_of(e) for e in config.endpoint}
    left = {one.endpoint: one for one in found}
    before = {name: state for (name, rule), state in load_alert_states(store).items() if rule == RULE}
    active = {name for name, state in before.items() if state.phase is not AlertPhase.INACTIVE}
    channels = [channel.name for channel in config.channel]
    after: dict[tuple[str, str], AlertState] = {}
    for name in sorted(active | set(left)):
        state = before.get(name, AlertState(endpoint=name, rule=RULE))
        after[name, RULE], event = advance(state, left.get(name), pools.get(name, name), now_s)
        if event is not None:
            level = logging.CRITICAL if event.kind == "firing" else logging.INFO
            log.log(level, "event=%s endpoint=%s title=%r", RULE, name, event.title)
        save_not_restored(store, after[name, RULE], event, state.alert_id, channels, now_s)
    return after
