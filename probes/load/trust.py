"""Says from calibration steps up to where the load client's stamps can be trusted; pure, limits with reasons below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TTFT_ERROR_MAX_MS = 5.0
"""A tenth of the shortest TTFT people care about."""
LAG_MAX_MS = 5.0
"""Of the first and last token's stamp: together they move TPOT by less than 0.1 ms over a hundred tokens."""
CPU_SHARE_MAX = 0.8
"""Of the loop's core. A full core hides its lateness: reads merge and the rate still looks right."""
IDLE_SHARE_MAX = 0.5
"""A loop that is late although it used less than this of its core waited for the core."""
REACHED_MIN = 0.9
"""Of the offered chunks per second; a client in time that gets less was sent less."""


@dataclass(frozen=True, slots=True)
class Step:
    """One load."""

    streams: int
    pace: float
    """Chunks per second and stream."""

    @property
    def offered(self) -> float:
        """Chunks per second of all streams."""
        return self.streams * self.pace


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one load showed; None where nothing was measured."""

    step: Step
    chunks_per_s: float
    ttft_error_p99_ms: float | None
    """The client's TTFT less the server's own."""
    lag_p99_ms: float | None
    """From the true sending of an answer's first and last token to the client's stamps of them."""
    loop_lag_p99_ms: float | None
    cpu_share: float | None
    failed: int
    """Requests."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The verdict."""

    streams: int
    """0: not even the smallest load."""
    chunks_per_s: float
    limits: tuple[str, ...]
    """What ended it, in words; empty: every load was fine."""
    held_up: bool
    """It was late at a small CPU share of its own: other work on the machine was the limit, not the client."""
    server_limited: bool
    """The ladder ended because the stamping server could send no more, so the client may do better."""


def faults(result: StepResult) -> list[str]:
    """Why the stamps of this step cannot be trusted; empty where they can."""
    found = []
    if result.failed:
        found.append(f"{result.failed} failed requests")
    for value, limit, what in (
        (result.ttft_error_p99_ms, TTFT_ERROR_MAX_MS, "TTFT error p99"),
        (result.lag_p99_ms, LAG_MAX_MS, "stamp lag p99"),
    ):
        if value is None:
            found.append(f"no {what}: no answer came to its end")
        elif value > limit:
            found.append(f"{what} {value:.1f} ms is above {limit:g} ms")
    if result.cpu_share is not None and result.cpu_share > CPU_SHARE_MAX:
        found.append(f"the client used {100 * result.cpu_share:.0f}% of its core, above {100 * CPU_SHARE_MAX:.0f}%")
    return found


def starved(result: StepResult) -> bool:
    """The server did not send what it should have, and not because of the client."""
    return not faults(result) and result.chunks_per_s < REACHED_MIN * result.step.offered


def judge_steps(results: Sequence[StepResult]) -> Trust:
    """The largest loads that were fine; a bad step ends only what grows beyond it in its own direction."""
    good = [result for result in results if not faults(result)]
    bad = [result for result in results if faults(result)]
    return Trust(
        streams=max((result.step.streams for result in good), default=0),
        chunks_per_s=max((result.chunks_per_s for result in good), default=0.0),
        limits=tuple(
            f"{result.step.streams} streams at {result.step.pace:g} chunks/s each: {', '.join(faults(result))}"
            for result in bad
        ),
        held_up=any(result.cpu_share is not None and result.cpu_share < IDLE_SHARE_MAX for result in bad),
        server_limited=any(starved(result) for result in good),
    )
