"""Condenses stored readings of one endpoint into chart points; gaps stay gaps, and nothing is guessed across them.

Counters are differenced over unbroken stretches of good scrapes only: a failed scrape, a restart or a hole in time ends
a stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from monitor.store.db import Store
from monitor.store.readings import load_readings
from monitor.values import Sample, StoredReading
from probes.scrape.rates import rates_between, restarted
from probes.values import EngineRates, Reading, State

HOLE_FACTOR = 3.0
"""Scrapes further apart than this many usual distances have a hole between them."""
HOLE_MIN_S = 15.0
"""No hole is seen below this, so that one slow scrape does not break a line."""


def history(store: Store, endpoint: str, since_s: float, buckets: int, until_s: float | None = None) -> list[Sample]:
    """At most `buckets` points from `since_s` to `until_s` (default: the newest reading), oldest first.

    A bucket without a good scrape has no point. Concurrency is the busiest engine's mean in the bucket, throughput the
    sum of all engines. Raises StoreError.
    """
    readings = load_readings(store, endpoint, since_s, until_s, histograms=False)
    if not readings or buckets < 1:
        return []
    end_s = until_s if until_s is not None else readings[-1].reading.at_s
    width_s = max((end_s - since_s) / buckets, 1e-9)
    hole_s = _hole_s(readings)
    before: StoredReading | None = None
    held: dict[int, list[_Piece]] = {}
    for stored in readings:
        if stored.reading.state is not State.OK:
            before = None
            continue
        index = min(int((stored.reading.at_s - since_s) / width_s), buckets - 1)
        joined = before is not None and _unbroken(before.reading, stored.reading, hole_s)
        pieces = held.setdefault(index, [])
        if pieces and joined:
            pieces[-1].readings.append(stored)
        else:
            pieces.append(_Piece(before if joined else None, [stored]))
        before = stored
    return [_sample(store, endpoint, since_s + (index + 0.5) * width_s, held[index]) for index in sorted(held)]


@dataclass(slots=True)
class _Piece:
    """An unbroken stretch inside one bucket, with the good scrape before it where the stretch goes on from there."""

    anchor: StoredReading | None
    readings: list[StoredReading]

    def edges(self) -> tuple[Reading, Reading] | None:
        first = self.anchor or self.readings[0]
        last = self.readings[-1]
        return (first.reading, last.reading) if first is not last else None


def _hole_s(readings: Sequence[StoredReading]) -> float:
    steps = [b.reading.at_s - a.reading.at_s for a, b in pairwise(readings)]
    return max(HOLE_MIN_S, HOLE_FACTOR * median(steps)) if steps else HOLE_MIN_S


def _unbroken(a: Reading, b: Reading, hole_s: float) -> bool:
    return b.at_s - a.at_s <= hole_s and not restarted(a, b)


def _sample(store: Store, endpoint: str, at_s: float, pieces: Sequence[_Piece]) -> Sample:
    stored = [reading for piece in pieces for reading in piece.readings]
    rates = [
        [r for r in rates_between(*_with_histograms(store, endpoint, edges)) if not r.reset]
        for piece in pieces
        if (edges := piece.edges()) is not None
    ]
    rates = [r for r in rates if r]
    longest = max(rates, key=lambda r: r[0].dt_s, default=[])
    return Sample(
        at_s=at_s,
        concurrency=_concurrency(stored),
        output_tok_s=_throughput(rates),
        acceptance_length=_acceptance_length(rates),
        ttft_p50_ms=_worst_ttft(longest),
        kv_usage=max((e.kv_usage for s in stored for e in s.reading.engines if e.kv_usage is not None), default=None),
        in_sweep=any(s.sweep_id is not None for s in stored),
    )


def _with_histograms(store: Store, endpoint: str, edges: tuple[Reading, Reading]) -> tuple[Reading, Reading]:
    """The same two readings with their histograms, which the long list was loaded without."""
    full = [load_readings(store, endpoint, r.at_s, r.at_s) for r in edges]
    first, last = (
        replace(lean, engines=found[0].reading.engines) if found else lean
        for lean, found in zip(edges, full, strict=True)
    )
    return first, last


def _concurrency(stored: Sequence[StoredReading]) -> float | None:
    by_engine: dict[str, list[float]] = {}
    for one in stored:
        for engine in one.reading.engines:
            if engine.running is not None and engine.waiting is not None:
                by_engine.setdefault(engine.engine, []).append(engine.running + engine.waiting)
    return max((fmean(values) for values in by_engine.values()), default=None)


def _throughput(rates: Sequence[Sequence[EngineRates]]) -> float | None:
    """Tokens over seconds of all stretches in which every engine's counter is known."""
    tokens = seconds = 0.0
    for engines in rates:
        known = [r.generation_tok_s for r in engines if r.generation_tok_s is not None]
        if len(known) == len(engines):
            tokens += sum(known) * engines[0].dt_s
            seconds += engines[0].dt_s
    return tokens / seconds if seconds > 0 else None


def _acceptance_length(rates: Sequence[Sequence[EngineRates]]) -> float | None:
    drafts = accepted = 0.0
    for engines in rates:
        for r in engines:
            if r.drafts_per_s is not None and r.accepted_tok_s is not None:
                drafts += r.drafts_per_s * r.dt_s
                accepted += r.accepted_tok_s * r.dt_s
    return 1.0 + accepted / drafts if drafts > 0 else None


def _worst_ttft(engines: Sequence[EngineRates]) -> float | None:
    """The slowest engine's median: what the least lucky half of one engine's users saw."""
    medians = (r.quantiles_ms["ttft_s"][0] for r in engines if "ttft_s" in r.quantiles_ms)
    return max((m for m in medians if m is not None), default=None)
