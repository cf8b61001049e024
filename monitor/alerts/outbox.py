"""Sends what is due, at least once and in order per alert; it decides when to try again and never what an alert says.

One message in flight per channel. Whatever happens is written down before the next attempt, so a crash at any point
costs at worst a repeated message with the same idempotency key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from monitor.alerts.message import Channel, Failed, message_of
from monitor.store import outbox
from monitor.store.db import Store
from monitor.values import Delivery

log = logging.getLogger(__name__)

FIRST_WAIT_S = 5.0
LONGEST_WAIT_S = 900.0
GIVE_UP_S = 24 * 3600.0
LONGEST_RETRY_AFTER_S = 3600.0
CHANNEL_HOLD_S = 60.0
"""A failing channel is left alone at most this long, so that a new alert finds it soon after it is back."""
CAP_PER_HOUR = 30
HOUR_S = 3600.0
LEASE_S = 60.0
"""On top of the channel's timeout: an attempt older than that died with its process."""
BATCH = 200


async def deliver_due(
    store: Store, channels: Mapping[str, Channel], now_s: float, *, cap_per_hour: int = CAP_PER_HOUR
) -> int:
    """One round over everything that is due; returns how many messages were taken. Raises StoreError."""
    outbox.supersede(store, now_s)
    by_channel: dict[str, list[Delivery]] = {}
    for delivery in outbox.due(store, now_s, BATCH):
        by_channel.setdefault(delivery.channel, []).append(delivery)
    rounds = (_round(store, name, channels.get(name), rows, now_s, cap_per_hour) for name, rows in by_channel.items())
    return sum(await asyncio.gather(*rounds))


def wait_s(attempts: int) -> float:
    """Pause after the n-th failed attempt: 5 s doubling to 15 min."""
    return min(FIRST_WAIT_S * 2.0 ** min(attempts - 1, 16), LONGEST_WAIT_S)


async def _round(
    store: Store, name: str, channel: Channel | None, rows: Sequence[Delivery], now_s: float, cap: int
) -> int:
    """Everything that is due on one channel, one message after the other, until one fails."""
    if channel is None:
        for row in rows:
            outbox.mark_dead(store, row.id, now_s, f"channel {name} is not in the config any more")
        return 0
    ids = [row.id for row in rows]
    sent = outbox.sent_since(store, name, now_s - HOUR_S)
    free = cap - len(sent)
    opens_s = (sent[max(0, -free)] if sent else now_s) + HOUR_S
    if free <= 0:
        reason = f"held: channel {name} had {cap} messages in an hour; goes out with others after {_clock(opens_s)}"
        outbox.hold_back(store, ids, opens_s, reason)
        log.warning("event=delivery_held channel=%s rows=%d cap_per_hour=%d", name, len(ids), cap)
        return 0
    held = outbox.held_ids(store, ids)
    groups = [list(rows)] if held else [[row] for row in rows]
    taken = 0
    for group in groups[:free]:
        note = (
            f"{len(held)} of these waited: the channel had reached its cap of {cap} messages in an hour."
            if held
            else ""
        )
        if free - taken == 1 and cap > 1:
            note = f"{note} This is message {cap} within an hour, the cap: further ones wait for each other until "
            note = f"{note}{_clock(opens_s)} and then come as one.".strip()
        result = await _attempt(store, channel, group, note, now_s)
        if result is None:
            break
        taken += result
    return taken


async def _attempt(store: Store, channel: Channel, group: Sequence[Delivery], note: str, now_s: float) -> int | None:
    """1 where the message was taken, 0 where it is out of the queue without, None where the channel is in trouble."""
    ids = [row.id for row in group]
    if not outbox.claim(store, ids, now_s, now_s + channel.timeout_s + LEASE_S):
        return 0
    message = message_of(channel.name, [row.event for row in group], note)
    try:
        outcome = await channel.send(message, now_s)
    except Exception as error:
        # Its text may hold the address.
        outcome = Failed(f"channel {channel.name} failed ({type(error).__name__})", in_doubt=True)
    if not isinstance(outcome, Failed):
        with store.write():
            for key in ids:
                outbox.mark_delivered(store, key, now_s, message.key)
        return 1
    log.warning(
        "event=delivery_failed channel=%s permanent=%s error=%r", channel.name, outcome.permanent, outcome.error
    )
    with store.write():
        for row in group:
            _note_failure(store, row, outcome, now_s)
        if outcome.permanent:
            return 0
        failures = outbox.channel_failures(store, channel.name) + 1
        hold_s = _asked_s(outcome) or min(wait_s(failures), CHANNEL_HOLD_S)
        outbox.hold_channel(store, channel.name, now_s, now_s + hold_s, outcome.error)
    return None


def _note_failure(store: Store, row: Delivery, outcome: Failed, now_s: float) -> None:
    if outcome.permanent:
        outbox.mark_dead(store, row.id, now_s, outcome.error)
    elif now_s - row.created_at_s >= GIVE_UP_S:
        error = f"gave up after {GIVE_UP_S / HOUR_S:.0f} h: {outcome.error}"
        outbox.mark_dead(store, row.id, now_s, error, in_doubt=outcome.in_doubt)
    else:
        next_s = now_s + (_asked_s(outcome) or wait_s(row.attempts + 1))
        outbox.mark_retry(store, row.id, next_s, outcome.error, in_doubt=outcome.in_doubt)


def _asked_s(outcome: Failed) -> float | None:
    """What Retry-After asked for, at least a second and not for ever."""
    if outcome.retry_after_s is None:
        return None
    return min(max(outcome.retry_after_s, 1.0), LONGEST_RETRY_AFTER_S)


def _clock(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%H:%M UTC")
