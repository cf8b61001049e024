"""What one sample asks of a client and what the client says of it, in plain values that cross process borders as JSON.

Standard library only: it is imported by drivers in other virtual environments.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PROMPT = (
    "Explain to a new colleague, step by step and with an example, how a queue in front of a busy server behaves. " * 5
)
MODEL = "mock"


@dataclass(frozen=True, slots=True)
class Job:
    """One sample: `streams` clients in a closed loop."""

    tag: str
    """Unique; part of every request id."""
    url: str
    ca_file: str | None
    streams: int
    chunks: int
    """Per answer, one token each."""
    spread_s: float
    """The clients start spread over this; 0 is a burst."""
    settle_s: float
    """From the last start to the window."""
    window_s: float
    processes: int = 1
    every_chunk: bool = False
    """Also stamp every chunk (the first and last token of each answer are always stamped)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the client saw. Instants are seconds of the monotonic clock, which the server reads too."""

    start_s: float
    end_s: float
    cpu_s: float
    """All client processes, over the window."""
    waited_s: float
    """They were ready to run and others had the core: what the machine took from the client."""
    lag_p99_ms: float | None
    """The event loop's lateness as the client itself measured it, where it does."""
    requests: list[tuple[str, float, float]] = field(default_factory=list)
    """Request id, instant of sending, instant of the first token."""
    chunks: dict[str, list[float]] = field(default_factory=dict)
    """Instants of the chunks by request id, where `every_chunk` was asked for."""
    errors: list[str] = field(default_factory=list)
