"""Condenses stored readings of one endpoint into chart points; gaps stay gaps, and nothing is guessed across them.

Counters are differenced over unbroken stretches of good scrapes only: a failed scrape, a restart or a hole in time ends
a stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from math import inf
from statistics import fmean, median

from monitor.store.db import Store
from monitor.store.pages import unpack_counted
from monitor.store.readings import load_pages, scrape_times
from monitor.values import Sample, StoredReading
from probes.scrape.rates import rates_between, restarted
from probes.values import EngineRates, Reading, State

HOLE_FACTOR = 3.0
"""Scrapes further apart than this many usual distances have a hole between them."""
HOLE_MIN_S = 15.0
"""No hole is seen below this, so that one slow scrape does not break a line."""
DRAWN = frozenset({"ttft_s", "generation_tokens"})
"""Histograms that a point is made from (of SGLang's drafts the second one); the others' counts tell a reset."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Buckets of one width, numbered from `origin_s`; `first` is the oldest one's number. Nothing after `until_s`."""

    origin_s: float
    width_s: float
    first: int
    buckets: int
    until_s: float

    @property
    def since_s(self) -> float:
        return self.origin_s + self.first * self.width_s

    def number(self, at_s: float) -> int:
        """The bucket that an instant lies in."""
        return self.first + min(int((at_s - self.since_s) / self.width_s), self.buckets - 1)

    def drawn_at_s(self, number: int) -> float:
        """The middle of a bucket; of one that is still filling, nothing that is yet to come."""
        return min(self.origin_s + (number + 0.5) * self.width_s, self.until_s)


def newest_grid(now_s: float, span_s: float, buckets: int) -> Grid:
    """The newest buckets up to now, whose edges stay where they are as time goes on."""
    width_s = span_s / buckets
    return Grid(0.0, width_s, int(now_s / width_s) - buckets + 1, buckets, now_s)


_Seen = tuple[float, bool, tuple[float, ...], tuple[float, ...]]


@dataclass(slots=True)
class Known:
    """What `history_on` came to when it was last asked for one endpoint."""

    points: dict[int, tuple[_Seen, Sample | None]] = field(default_factory=dict)
    """What each bucket came to, and which scrapes that was made from."""
    last: tuple[Sequence[float], float, int, list[Sample]] | None = None
    """The whole answer: its scrapes, where its newest point lies, its oldest bucket, its points."""


def history(store: Store, endpoint: str, since_s: float, buckets: int, until_s: float | None = None) -> list[Sample]:
    """At most `buckets` points from `since_s` to `until_s` (default: the newest reading), oldest first.

    A bucket without a good scrape has no point. Concurrency is the busiest engine's mean in the bucket, throughput the
    sum of all engines. Raises StoreError.
    """
    end_s = until_s
    if end_s is None:
        end_s = max(scrape_times(store, endpoint, since_s, inf), default=since_s)
    if buckets < 1:
        return []
    return history_on(
        store, endpoint, Grid(since_s, max((end_s - since_s) / buckets, 1e-9), 0, buckets, end_s), Known()
    )


def history_on(store: Store, endpoint: str, grid: Grid, known: Known) -> list[Sample]:
    """The same on a grid. `known` is what the last call left there, and is brought up to date.

    A bucket is read again where other scrapes lie in it than before: new ones, late ones, or fewer since some were
    pruned. A stored scrape never changes. Raises StoreError.
    """
    times = scrape_times(store, endpoint, grid.since_s, grid.until_s)
    newest_s = grid.drawn_at_s(grid.number(times[-1])) if times else 0.0
    if known.last is not None and known.last[:3] == (times, newest_s, grid.first):
        return known.last[3]
    spans = _spans(times, grid)
    hole_s = _hole_s(times)
    after_hole = {b for a, b in pairwise(times) if b - a > hole_s}
    seen = {number: _seen(times, span, grid.drawn_at_s(number), after_hole) for number, span in spans.items()}
    points = {number: point for number, point in known.points.items() if point[0] == seen.get(number)}
    complete = True
    for run in _runs([number for number in spans if number not in points], spans):
        start, end = spans[run[0]].start, spans[run[-1]].stop
        pages = _Pages(store, endpoint, times[max(start - 1, 0) : end])
        complete = complete and pages.complete
        for number in run:
            pieces = pages.pieces(times[spans[number].start : spans[number].stop], hole_s)
            points[number] = seen[number], pages.sample(seen[number][0], pieces) if pieces else None
    samples = [sample for number in spans if (sample := points[number][1]) is not None]
    if complete:
        known.points, known.last = points, (times, newest_s, grid.first, samples)
    return samples


def _spans(times: Sequence[float], grid: Grid) -> dict[int, range]:
    """Bucket -> the scrapes in it by their place in `times`, oldest first."""
    since_s, width_s, last = grid.since_s, grid.width_s, grid.buckets - 1
    spans, place = dict[int, range](), 0
    # `Grid.number` written out: this runs over every scrape of every chart at every look.
    for number, same in groupby(min(int((at_s - since_s) / width_s), last) for at_s in times):
        end = place + sum(1 for _ in same)
        spans[grid.first + number] = range(place, end)
        place = end
    return spans


def _seen(times: Sequence[float], span: range, drawn_at_s: float, after_hole: set[float]) -> _Seen:
    """All that a bucket's point depends on: its scrapes, the one before them, and which of them come after a hole."""
    used = tuple(times[max(span.start - 1, 0) : span.stop])
    return drawn_at_s, span.start > 0, used, tuple(t for t in used[1:] if t in after_hole) if after_hole else ()


def _runs(numbers: Sequence[int], spans: dict[int, range]) -> list[list[int]]:
    """Buckets whose scrapes follow on one another, so that each run is one read."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and spans[runs[-1][-1]].stop == spans[number].start:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


class _Pages:
    """The readings of one run of buckets; histograms are unpacked for those that a rate begins or ends at."""

    def __init__(self, store: Store, endpoint: str, times: Sequence[float]) -> None:
        found, self._packed = load_pages(store, endpoint, times[0], times[-1])
        self._found = {one.reading.at_s: one for one in found}
        self._before = dict(zip(times[1:], times, strict=False))
        self._full: dict[float, Reading] = {}
        self.complete = all(at_s in self._found for at_s in times)
        """Whether nothing was pruned since the times were read."""

    def pieces(self, times: Sequence[float], hole_s: float) -> list[_Piece]:
        pieces: list[_Piece] = []
        for at_s in times:
            stored = self._good(at_s)
            if stored is None:
                continue
            before = self._good(self._before.get(at_s))
            joined = before is not None and _unbroken(before.reading, stored.reading, hole_s)
            if pieces and joined:
                pieces[-1].readings.append(stored)
            else:
                pieces.append(_Piece(before if joined else None, [stored]))
        return pieces

    def _good(self, at_s: float | None) -> StoredReading | None:
        stored = self._found.get(at_s) if at_s is not None else None
        return stored if stored is not None and stored.reading.state is State.OK else None

    def sample(self, at_s: float, pieces: Sequence[_Piece]) -> Sample:
        edges = [found for piece in pieces if (found := piece.edges()) is not None]
        rates = [
            [r for r in rates_between(self._with_histograms(a), self._with_histograms(b)) if not r.reset]
            for a, b in edges
        ]
        return _sample(at_s, [reading for piece in pieces for reading in piece.readings], [r for r in rates if r])

    def _with_histograms(self, lean: Reading) -> Reading:
        """The same reading with its histograms, which the long list was loaded without."""
        if lean.at_s not in self._full:
            self._full[lean.at_s] = replace(
                lean,
                engines=tuple(
                    replace(engine, histograms=unpack_counted(edges, counts, DRAWN)) if edges is not None else engine
                    for engine, (edges, counts) in zip(lean.engines, self._packed[lean.at_s], strict=True)
                ),
            )
        return self._full[lean.at_s]


@dataclass(slots=True)
class _Piece:
    """An unbroken stretch inside one bucket, with the good scrape before it where the stretch goes on from there."""

    anchor: StoredReading | None
    readings: list[StoredReading]

    def edges(self) -> tuple[Reading, Reading] | None:
        first = self.anchor or self.readings[0]
        last = self.readings[-1]
        return (first.reading, last.reading) if first is not last else None


def _hole_s(times: Sequence[float]) -> float:
    steps = [b - a for a, b in pairwise(times)]
    return max(HOLE_MIN_S, HOLE_FACTOR * median(steps)) if steps else HOLE_MIN_S


def _unbroken(a: Reading, b: Reading, hole_s: float) -> bool:
    return b.at_s - a.at_s <= hole_s and not restarted(a, b)


def _sample(at_s: float, stored: Sequence[StoredReading], rates: Sequence[Sequence[EngineRates]]) -> Sample:
    longest: Sequence[EngineRates] = max(rates, key=lambda r: r[0].dt_s, default=())
    return Sample(
        at_s=at_s,
        concurrency=_concurrency(stored),
        output_tok_s=_throughput(rates),
        acceptance_length=_acceptance_length(rates),
        ttft_p50_ms=_worst_ttft(longest),
        kv_usage=max((e.kv_usage for s in stored for e in s.reading.engines if e.kv_usage is not None), default=None),
        in_sweep=any(s.sweep_id is not None for s in stored),
    )


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
