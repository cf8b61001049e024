"""What a report is made from, gathered once, so that text, JSON and page say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.account_values import DayAccount, EngineMinute
from monitor.values import AlertEvent, EndpointStatus, StoredCrossover, SweepRecord


@dataclass(frozen=True, slots=True)
class ToldAlert:
    """One alert from its first message to its resolution; instants are Unix seconds."""

    alert_id: str
    rule: str
    title: str
    """As it was told when it fired."""
    started_at_s: float
    """When its condition first held: durations count from here, as in the messages."""
    fired_at_s: float
    resolved_at_s: float | None
    """None while it fires."""
    resolution: str | None


def told_alerts(events: Sequence[AlertEvent]) -> tuple[ToldAlert, ...]:
    """Events (oldest first) put together by alert; a reminder is none of its own."""
    told: dict[str, ToldAlert] = {}
    for event in events:
        # A reminder's id is that of the first message, a point and a number.
        alert_id = event.alert_id.partition(".")[0]
        if event.kind == "firing":
            began = ToldAlert(alert_id, event.rule, event.title, event.started_at_s, event.at_s, None, None)
            told.setdefault(alert_id, began)
        elif alert_id in told:
            told[alert_id] = replace(told[alert_id], resolved_at_s=event.at_s, resolution=event.title)
    return tuple(told.values())


@dataclass(frozen=True, slots=True)
class EndpointReport:
    """One endpoint at one instant, with its stored traffic since then."""

    at_s: float
    since_s: float
    """Asked for; the account begins where the stored readings do."""
    status: EndpointStatus
    stored: StoredCrossover | None
    """The newest answer for its pool; `status` says whether it may be compared with this server."""
    sweep: SweepRecord | None
    """The sweep that gave it."""
    account: DayAccount | None
    """None without stored traffic, or without an answer to judge it by."""
    minutes: tuple[EngineMinute, ...]
    hole_s: float
    """Scrapes further apart than this have a hole between them."""
    expired: bool
    """The answer is older than alerts trust."""
    alerts: tuple[ToldAlert, ...]
    """Those that fired, fired still or resolved since then, oldest first."""
    not_compared: str
    """Why the answer says nothing of this server's traffic, in few words; empty where it does."""
