"""What the load remembers of each request; plain values on the monotonic clock, no arithmetic on them here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """How a request ended."""

    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    """Cut off by us: a drain that took too long, or an abort."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request. Instants are seconds of `time.monotonic`; None where it never got that far."""

    index: int
    """Position in the load's sequence of requests, from 0. As many as there are clients are each a client's first."""
    client: int
    launched_s: float
    """The request was due: the client's last answer had ended, its pause was over, its connection was open."""
    sent_s: float | None
    """The request's last byte was written."""
    first_s: float | None
    """The read that brought the first event with a token."""
    last_s: float | None
    """The read that brought the last event with a token."""
    end_s: float
    """The last byte, or the instant it failed or was cut off."""
    ending: Ending
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    """From the server's usage, never from chunks."""
    finish_reason: str | None = None
    error: str = ""
    """For people; never holds headers or keys."""
    retried: bool = False
    """Sent a second time because a kept connection turned out to be closed; the server may have seen it twice."""
