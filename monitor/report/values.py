"""What a report is made from, gathered once, so that text, JSON and page say the same; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.account_values import DayAccount, EngineMinute
from monitor.values import EndpointStatus, StoredCrossover, SweepRecord


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
    not_compared: str
    """Why the answer says nothing of this server's traffic, in few words; empty where it does."""
