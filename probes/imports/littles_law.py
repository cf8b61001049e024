"""How many requests were in the system during a run, from what benchmarks write; pure.

Little's law over the whole run: the mean number in the system is request-seconds over the run's length. That holds with
any arrival process; ramp and drain are inside, as they are inside the run's throughput.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from probes.imports.rows import above_zero, known

TOLERANCE = 1.05
"""A closed loop cannot hold more than its clients; what says otherwise by more than this is no measurement."""
KEPT_UP = 0.9
"""Share of the rate asked for that a server must have finished; below it a run counts as overloaded."""


def vllm_in_flight(record: Mapping[str, Any]) -> float | None:
    """From each request's latency (vLLM 0.30), else from their mean; None where the file has neither."""
    duration_s = above_zero(record.get("duration"))
    if duration_s is None:
        return None
    latencies = record.get("latencies")
    if isinstance(latencies, list) and latencies:
        known_s = [seconds for value in latencies if (seconds := known(value)) is not None]
        return above_zero(math.fsum(known_s) / duration_s) if len(known_s) == len(latencies) else None
    return by_mean(record.get("completed"), record.get("mean_e2el_ms"), duration_s)


def vllm_in_flight_from_parts(record: Mapping[str, Any]) -> float | None:
    """From mean TTFT and mean TPOT: close where answers are of one length, some percent off where they are not."""
    duration_s, completed = above_zero(record.get("duration")), above_zero(record.get("completed"))
    tokens = above_zero(record.get("total_output_tokens"))
    ttft_ms, tpot_ms = known(record.get("mean_ttft_ms")), above_zero(record.get("mean_tpot_ms"))
    if duration_s is None or completed is None or tokens is None or ttft_ms is None or tpot_ms is None:
        return None
    return by_mean(completed, ttft_ms + tpot_ms * (tokens / completed - 1), duration_s)


def by_mean(completed: object, mean_e2e_ms: object, duration_s: float | None) -> float | None:
    """Requests x mean time in the system / length of the run."""
    count, mean_ms = above_zero(completed), above_zero(mean_e2e_ms)
    if count is None or mean_ms is None or not duration_s:
        return None
    return above_zero(count * mean_ms / 1000 / duration_s)


def possible(in_flight: float | None, clients: float | None) -> bool:
    """Whether a closed loop of that many clients can have held so many requests."""
    return in_flight is None or clients is None or in_flight <= TOLERANCE * clients


def kept_up(completed: float | None, duration_s: float | None, rate: float, in_flight: float | None) -> bool:
    """Whether requests came out as fast as they were sent, the drain at the end apart; True where it cannot be told.

    Otherwise the queue was growing, or the run was too short beside its requests' latency to tell; no concurrency was
    steady. Waiting makes the drain look longer, so that a run of thousands of requests passes with up to a sixth more
    than the server could do: it then reads 3 to 5% low at its mean concurrency (simulated).
    """
    if not completed or not duration_s or in_flight is None:
        return True
    drain_s = in_flight * duration_s / completed
    return duration_s <= completed / rate / KEPT_UP + drain_s


def left_behind(completed: float | None, duration_s: float | None, rate: float) -> str:
    """Why a run that did not keep up is left out, for people."""
    done = f"{completed / duration_s:.3g}" if completed and duration_s else "fewer"
    return (
        f"left out: sent {rate:g} requests/s and finished {done}/s, so its queue was growing or it was too short to "
        "tell; no concurrency was steady. Send more requests, at a lower rate or from --max-concurrency clients."
    )
