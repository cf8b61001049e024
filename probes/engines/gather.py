"""Collect the series of a page into one reading per engine by an alias table; pure, and knows no metric name.

A series that carries no engine label belongs to the whole endpoint. Where the page has several engines it is carried by
the first one, so that sums over engines stay right; its share per engine is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from probes.engines.catalogue import Source, Table
from probes.engines.exposition import Labels, Samples
from probes.values import EngineReading, Histogram

Series = list[tuple[Labels, float]]
Choose = Callable[[Series], Series]
"""Of one engine's series of one metric, those to count (one copy of each)."""

ONLY_ENGINE = "0"


@dataclass(frozen=True, slots=True)
class Gathered:
    """Values by engine and quantity, and the names that they came from."""

    engines: tuple[str, ...]
    values: Mapping[str, Mapping[str, float | None]]
    """Engine -> quantity -> value."""
    histograms: Mapping[str, Mapping[str, Histogram]]
    matched: Mapping[str, str]
    live: Mapping[str, bool]

    def reading(self, engine: str, accepted_per_pos: tuple[float, ...] = ()) -> EngineReading:
        """One engine's reading; what its table does not know, or the page does not show, stays None."""
        value = self.values[engine].get
        return EngineReading(
            engine=engine,
            running=value("running"),
            waiting=value("waiting"),
            kv_usage=value("kv_usage"),
            generation_tokens=value("generation_tokens"),
            generation_tokens_live=self.live.get("generation_tokens", True),
            prompt_tokens=value("prompt_tokens"),
            finished=value("finished"),
            preemptions=value("preemptions"),
            prefix_queries=value("prefix_queries"),
            prefix_hits=value("prefix_hits"),
            drafts=value("drafts"),
            draft_tokens=value("draft_tokens"),
            accepted_tokens=value("accepted_tokens"),
            accepted_per_pos=accepted_per_pos,
            # SGLang's gauge is 0 until a decode report and while speculation is off: no length.
            acceptance_length_gauge=value("acceptance_length_gauge") or None,
            spec_verify_calls=value("spec_verify_calls"),
            histograms=self.histograms[engine],
        )


def gather(table: Table, samples: Samples, choose: Choose) -> Gathered:
    """Read every quantity of `table` that is on the page."""
    engines = engines_on(table, samples)
    values: dict[str, dict[str, float | None]] = {engine: {} for engine in engines}
    histograms: dict[str, dict[str, Histogram]] = {engine: {} for engine in engines}
    matched: dict[str, str] = {}
    live: dict[str, bool] = {}
    for aliases, combine in ((table.summed, _total), (table.highest, _highest)):
        for quantity, sources in aliases.items():
            source = _first_on_page(sources, samples)
            if source is None:
                continue
            matched[quantity] = source.shown
            live[quantity] = source.live
            for engine, series in by_engine(table, samples[source.name], engines).items():
                # A child of a labelled counter appears with its first event, so a missing mode of a metric that this
                # engine does show has counted nothing yet: that zero is known.
                values[engine][quantity] = combine([v for labels, v in choose(series) if source.takes(labels)])
            for name in source.plus:
                for engine, series in by_engine(table, samples.get(name, []), engines).items():
                    so_far = values[engine].get(quantity)
                    if so_far is not None:
                        values[engine][quantity] = _total([so_far, *(value for _, value in choose(series))])
    for quantity, sources in table.histograms.items():
        source = _first_on_page(sources, samples, suffix="_count")
        if source is None:
            continue
        matched[f"histograms.{quantity}"] = source.name
        for engine, histogram in _histograms(table, samples, source.name, engines, choose).items():
            histograms[engine][quantity] = histogram
    return Gathered(engines, values, histograms, matched, live)


def engines_on(table: Table, samples: Samples) -> tuple[str, ...]:
    """The engines that the required metrics name, in rank order; one called "0" where none is named."""
    named: set[str] = set()
    for quantity in table.required:
        for source in (*table.summed.get(quantity, ()), *table.highest.get(quantity, ())):
            named.update(labels.get(table.engine_label, "") for labels, _ in samples.get(source.name, ()))
    named.discard("")
    return tuple(sorted(named, key=_rank_order)) or (ONLY_ENGINE,)


def by_engine(table: Table, series: Series, engines: tuple[str, ...]) -> dict[str, Series]:
    """Series by engine; those of the whole endpoint go to the first."""
    found: dict[str, Series] = {}
    for item in series:
        engine = item[0].get(table.engine_label, "")
        found.setdefault(engine if engine in engines else engines[0], []).append(item)
    return found


def model_names(samples: Samples, names: Iterable[str]) -> tuple[str, ...]:
    """Distinct `model_name` labels of some metrics, in page order."""
    found = dict.fromkeys(labels.get("model_name", "") for name in names for labels, _ in samples.get(name, ()))
    found.pop("", None)
    return tuple(found)


def single(samples: Samples, name: str) -> float | None:
    """The value of a metric without labels of interest; None where it is absent or NaN."""
    series = samples.get(name)
    return None if not series or math.isnan(series[0][1]) else series[0][1]


def _first_on_page(sources: tuple[Source, ...], samples: Samples, suffix: str = "") -> Source | None:
    return next((source for source in sources if source.name + suffix in samples), None)


def _total(values: list[float]) -> float | None:
    total = math.fsum(values)
    return None if math.isnan(total) else total


def _highest(values: list[float]) -> float | None:
    return max((value for value in values if not math.isnan(value)), default=None)


def _rank_order(engine: str) -> tuple[int, str]:
    return (int(engine), "") if engine.isascii() and engine.isdigit() else (1 << 31, engine)


def _histograms(
    table: Table, samples: Samples, name: str, engines: tuple[str, ...], choose: Choose
) -> dict[str, Histogram]:
    sums = by_engine(table, samples.get(f"{name}_sum", []), engines)
    counts = by_engine(table, samples.get(f"{name}_count", []), engines)
    found: dict[str, Histogram] = {}
    for engine, buckets in by_engine(table, samples.get(f"{name}_bucket", []), engines).items():
        total = _total([value for _, value in choose(sums.get(engine, []))])
        count = _total([value for _, value in choose(counts.get(engine, []))])
        edges = _edges(choose(buckets))
        if edges is None or total is None or count is None or engine not in sums or engine not in counts:
            continue
        found[engine] = Histogram(tuple(edges), tuple(edges.values()), total, count)
    return found


def _edges(buckets: Series) -> dict[float, float] | None:
    """Cumulative count by upper edge, label sets added; None where it does not reach +Inf or the sets' edges differ."""
    counts: dict[float, list[float]] = {}
    for labels, value in buckets:
        try:
            counts.setdefault(float(labels["le"]), []).append(value)
        except (KeyError, ValueError):
            return None
    if math.inf not in counts or len({len(values) for values in counts.values()}) != 1:
        return None
    added = {edge: math.fsum(counts[edge]) for edge in sorted(counts)}
    return None if any(math.isnan(value) for value in added.values()) else added
