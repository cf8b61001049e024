"""What every channel is handed and hands back: one message of one or more events, and what became of it. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from monitor.values import AlertEvent


@dataclass(frozen=True, slots=True)
class Message:
    """One thing to send. More than one event only where the rate cap made them wait for each other."""

    channel: str
    events: tuple[AlertEvent, ...]
    key: str
    """Idempotency key: the same for every attempt, so that a receiver can drop what it has seen."""
    note: str = ""
    """Something to know about the channel itself, such as that it reached its cap."""

    @property
    def status(self) -> str:
        """`firing` while any of its alerts fires, as Alertmanager says it."""
        return "firing" if any(e.kind == "firing" for e in self.events) else "resolved"

    @property
    def title(self) -> str:
        """One line."""
        first = self.events[0].title
        return first if len(self.events) == 1 else f"{len(self.events)} alerts together, the first: {first}"


@dataclass(frozen=True, slots=True)
class Sent:
    """The channel took the message."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The channel did not take it. `error` names the channel and a status, never an address."""

    error: str
    permanent: bool = False
    """Trying again cannot help."""
    retry_after_s: float | None = None
    """What the channel itself asked for."""
    in_doubt: bool = False
    """No answer came, so it may have arrived after all."""


class Channel(Protocol):
    """Somewhere that messages go."""

    @property
    def name(self) -> str: ...

    @property
    def timeout_s(self) -> float: ...

    async def send(self, message: Message, now_s: float) -> Sent | Failed:
        """One attempt. Raises nothing but CancelledError."""
        ...

    async def aclose(self) -> None:
        """Release its connections."""
        ...


def event_key(event: AlertEvent, channel: str) -> str:
    """Stable for one event on one channel, whatever happens to the process."""
    return f"{event.alert_id}-{event.kind}-{channel}"


def message_of(channel: str, events: Sequence[AlertEvent], note: str = "") -> Message:
    """The message that carries these events."""
    keys = [event_key(event, channel) for event in events]
    if len(keys) == 1:
        return Message(channel, tuple(events), keys[0], note)
    digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
    return Message(channel, tuple(events), f"group-{digest}-{channel}", note)
