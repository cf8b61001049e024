"""Learns from stored readings what an endpoint's own traffic looks like, so that sweeps can send the same; reads only.

Stretches under a sweep are left out: they show what we sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.store.db import Store
from monitor.store.readings import live_spans, load_readings
from probes.load.shape import LengthShape, shape_of
from probes.scrape.quantiles import gained
from probes.values import EngineReading, Histogram, Reading

_SPANS = 200
"""Newest stretches that are looked at; a server that starts more often has shown enough by then."""
_LENGTHS = ("prompt_tokens", "generation_tokens")
_ALIKE = 0.10
"""Mean lengths closer than this are the same traffic."""
_RATIO_ALIKE = 0.02


@dataclass(frozen=True, slots=True)
class LiveTraffic:
    """What the endpoint's own requests look like; None where the history does not tell."""

    shape: LengthShape | None = None
    prefix_hit_ratio: float | None = None
    """Share of prompt tokens that came from the prefix cache."""


UNKNOWN_TRAFFIC = LiveTraffic()


def live_traffic(store: Store, endpoint: str, since_s: float) -> LiveTraffic:
    """Lengths and prefix hits of the traffic since then that no sweep sent. Raises StoreError."""
    lengths: dict[str, Histogram] = {}
    hits = queries = 0.0
    for before, after in _stretches(store, endpoint, since_s):
        _add_lengths(lengths, before, after)
        if None not in (before.prefix_hits, after.prefix_hits, before.prefix_queries, after.prefix_queries):
            hits += _rise(before.prefix_hits, after.prefix_hits)
            queries += _rise(before.prefix_queries, after.prefix_queries)
    known = all(name in lengths for name in _LENGTHS)
    return LiveTraffic(
        shape=shape_of(*(lengths[name] for name in _LENGTHS)) if known else None,
        prefix_hit_ratio=round(min(1.0, hits / queries), 2) if queries > 0 else None,
    )


def settled_traffic(now: LiveTraffic, last_load: object) -> LiveTraffic:
    """`now`, but what the last sweep took for it where that is still about right.

    Live lengths never stand still; sweeps that differ in them a little could not be compared with each other.
    `last_load` is the load of a stored plan.
    """
    if not isinstance(last_load, Mapping):
        return now
    shape, ratio = _stored_shape(last_load.get("shape")), last_load.get("prefix_hit_target")
    same_shape = now.shape is not None and shape is not None and _alike(now.shape, shape)
    same_ratio = (
        now.prefix_hit_ratio is not None
        and isinstance(ratio, float | int)
        and abs(ratio - now.prefix_hit_ratio) <= _RATIO_ALIKE
    )
    return LiveTraffic(shape if same_shape else now.shape, ratio if same_ratio else now.prefix_hit_ratio)


def _stretches(store: Store, endpoint: str, since_s: float) -> Iterator[tuple[EngineReading, EngineReading]]:
    """Each engine at both ends of each stretch, newest first."""
    for first_s, last_s in live_spans(store, endpoint, since_s, _SPANS):
        before, after = _engines(store, endpoint, first_s), _engines(store, endpoint, last_s)
        for name in before.keys() & after.keys():
            yield before[name], after[name]


def _engines(store: Store, endpoint: str, at_s: float) -> Mapping[str, EngineReading]:
    found: list[Reading] = [stored.reading for stored in load_readings(store, endpoint, at_s, at_s)]
    return {engine.engine: engine for reading in found for engine in reading.engines}


def _add_lengths(sums: dict[str, Histogram], before: EngineReading, after: EngineReading) -> None:
    """Add what both histograms gained; edges other than the newest stretch's belong to another server."""
    gains: dict[str, Histogram] = {}
    for name in _LENGTHS:
        if name not in before.histograms or name not in after.histograms:
            return
        gain = gained(before.histograms[name], after.histograms[name])
        if gain is None or (name in sums and sums[name].edges != gain.edges):
            return
        gains[name] = gain
    for name, gain in gains.items():
        sums[name] = _sum(sums[name], gain) if name in sums else gain


def _sum(one: Histogram, two: Histogram) -> Histogram:
    counts = tuple(a + b for a, b in zip(one.counts, two.counts, strict=True))
    return Histogram(one.edges, counts, one.total + two.total, one.count + two.count)


def _rise(before: float | None, after: float | None) -> float:
    return max(0.0, (after or 0.0) - (before or 0.0))


def _stored_shape(value: object) -> LengthShape | None:
    if not isinstance(value, Mapping):
        return None
    try:
        prompts, outputs = tuple(map(float, value["prompt_tokens"])), tuple(map(float, value["output_tokens"]))
        return LengthShape(prompts, outputs, float(value["requests"]))
    except (KeyError, TypeError, ValueError):
        return None


def _alike(one: LengthShape, two: LengthShape) -> bool:
    return all(abs(a / b - 1.0) <= _ALIKE for a, b in zip(one.means, two.means, strict=True))
