"""Differences of a server's counters between two of its pages, all engines summed; pure.

A counter that is missing on either page or on any engine gives None, never zero.
"""

from __future__ import annotations

from collections.abc import Callable

from probes.values import EngineKind, EngineReading, Reading


def total(reading: Reading, pick: Callable[[EngineReading], float | None]) -> float | None:
    """Sum over the engines of one page; None where any engine does not show it."""
    values = [pick(engine) for engine in reading.engines]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def moved(a: Reading, b: Reading, pick: Callable[[EngineReading], float | None]) -> float | None:
    """How far a counter moved from `a` to `b`."""
    before, after = total(a, pick), total(b, pick)
    return None if before is None or after is None else after - before


def of_front_end(reading: Reading, pick: Callable[[EngineReading], float | None]) -> float | None:
    """A count of the whole endpoint that SGLang makes in its front end, without a rank.

    Such a series stands with the first engine alone.
    """
    first = pick(reading.engines[0]) if reading.engines else None
    alone = all(pick(engine) is None for engine in reading.engines[1:])
    if reading.engine_kind is EngineKind.SGLANG and alone:
        return first
    return total(reading, pick)


def finished(reading: Reading) -> float | None:
    """Finished requests of the whole endpoint."""
    return of_front_end(reading, lambda e: e.finished)


def verify_calls_between(a: Reading, b: Reading) -> float | None:
    """Steps of drafting requests that finished from `a` to `b`, each request's counted by itself; None before 0.5.15.

    SGLang shows the counter from the first request on that drafted and finished, and then it cannot have been above 0.
    """
    before, after = (of_front_end(page, lambda e: e.spec_verify_calls) for page in (a, b))
    return None if after is None else after - (before or 0.0)


def finished_between(a: Reading, b: Reading) -> float | None:
    """Requests that finished from `a` to `b`."""
    before, after = finished(a), finished(b)
    return None if before is None or after is None else after - before


def in_system(reading: Reading) -> float | None:
    """Running + waiting, all engines."""
    running, waiting = total(reading, lambda e: e.running), total(reading, lambda e: e.waiting)
    return None if running is None else running + (waiting or 0.0)


def kv_max(reading: Reading) -> float | None:
    """Fullest engine's KV cache, 0..1."""
    return max((e.kv_usage for e in reading.engines if e.kv_usage is not None), default=None)


def live_counter(reading: Reading) -> bool:
    """Whether output tokens are counted as they come, and not only when a request finishes."""
    return bool(reading.engines) and all(
        e.generation_tokens is not None and e.generation_tokens_live for e in reading.engines
    )


def counts(reading: Reading) -> tuple[float | None, ...]:
    """What must stand still on an idle server."""
    picks: tuple[Callable[[EngineReading], float | None], ...] = (
        lambda e: e.generation_tokens,
        lambda e: e.prompt_tokens,
    )
    return (finished(reading), *(total(reading, pick) for pick in picks))


def accepted_per_pos(a: Reading, b: Reading, drafts: float | None) -> tuple[float, ...]:
    """Accepted per draft by position; empty where nothing was drafted or the positions differ."""
    width = max((len(e.accepted_per_pos) for e in b.engines), default=0)
    if not drafts or not width or any(len(e.accepted_per_pos) != width for e in (*a.engines, *b.engines)):
        return ()
    return tuple(
        (sum(e.accepted_per_pos[i] for e in b.engines) - sum(e.accepted_per_pos[i] for e in a.engines)) / drafts
        for i in range(width)
    )
