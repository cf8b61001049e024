"""The shape of an alias table: which metric a quantity is read from, newest name first; holds no engine's names itself.

The first name that is on the page wins for the whole page. Two names of one quantity are never added: where a version
shows both, they count the same events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from probes.engines.exposition import Labels
from probes.values import EngineKind, EngineReading, Reading, State


@dataclass(frozen=True, slots=True)
class Source:
    """One place a quantity may be read from."""

    name: str
    label: str = ""
    """Only series whose `label` is one of `values` count; empty takes all."""
    values: tuple[str, ...] = ()
    plus: tuple[str, ...] = ()
    """Other metrics that count different things of the same kind (queues): added where they are on the page."""
    live: bool = True
    """False where the counter moves only when requests finish."""

    @property
    def shown(self) -> str:
        """The source as a person would write it in a query."""
        return f'{self.name}{{{self.label}=~"{"|".join(self.values)}"}}' if self.label else self.name

    def takes(self, labels: Labels) -> bool:
        """Whether one series of this metric belongs to the quantity."""
        return not self.label or labels.get(self.label) in self.values


Aliases = Mapping[str, tuple[Source, ...]]
"""Field of EngineReading (or canonical histogram name) -> its sources, newest first."""


@dataclass(frozen=True, slots=True)
class Table:
    """All that one engine's pages are read by."""

    kind: EngineKind
    prefix: str
    engine_label: str
    summed: Aliases
    """Counters and request counts: label sets of one engine are added."""
    highest: Aliases
    """Ratios and settings: the highest of an engine's label sets."""
    histograms: Aliases
    required: tuple[str, ...]
    """Quantities that every engine on the page must show, or the page is incomplete."""
    extra: frozenset[str] = field(default_factory=frozenset)
    """Names that the adapter reads besides."""

    def names(self) -> frozenset[str]:
        """Every exposed name that is read, histogram suffixes included."""
        found = set(self.extra)
        for source in _sources(self.summed, self.highest):
            found.add(source.name)
            found.update(source.plus)
        for source in _sources(self.histograms):
            found.update(f"{source.name}{suffix}" for suffix in ("_bucket", "_sum", "_count"))
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What an adapter made of a page."""

    kind: EngineKind
    engines: tuple[EngineReading, ...]
    model_names: tuple[str, ...]
    speculation_configured: bool | None
    k: int | None
    process_start_s: float | None
    cache_config: Mapping[str, str]
    matched_names: Mapping[str, str]
    incomplete: str = ""
    """Why the page cannot be used, in words; empty where it can."""
    sleeping: str = ""
    """Which engines sleep and how; empty where all are awake."""

    def reading(self, endpoint: str, at_s: float, mono_s: float, state: State, reason: str = "") -> Reading:
        """The page as the reading of one endpoint."""
        return Reading(
            endpoint,
            at_s,
            mono_s,
            state,
            reason,
            engine_kind=self.kind,
            engines=self.engines,
            model_names=self.model_names,
            speculation_configured=self.speculation_configured,
            k=self.k,
            process_start_s=self.process_start_s,
            cache_config=self.cache_config,
            matched_names=self.matched_names,
        )


def _sources(*tables: Aliases) -> Iterator[Source]:
    for table in tables:
        for sources in table.values():
            yield from sources
