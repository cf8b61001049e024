"""Pages for tests: the real ones from tests/data, and synthetic ones in the shape of other versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from probes.engines.detect import Seen, look, new_parser
from probes.values import EngineReading, Reading, State

DATA = Path(__file__).parents[2] / "data" / "metrics"
REAL = tuple(sorted(path.name for path in DATA.glob("*.prom")))
NAMES: Mapping[str, Any] = json.loads((DATA / "names.json").read_text())

Line = tuple[str, Mapping[str, str], float | str]


def real(name: str) -> bytes:
    """A real page by file name."""
    return (DATA / name).read_bytes()


def line(name: str, labels: Mapping[str, str], value: float | str) -> str:
    """One sample line, escaped as the format asks."""
    inside = ",".join(f'{key}="{escape(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def escape(text: str) -> str:
    """A label value as it is written."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def page(lines: Sequence[Line]) -> bytes:
    """A page of sample lines."""
    return "".join(f"{line(*entry)}\n" for entry in lines).encode()


def histogram(name: str, labels: Mapping[str, str], buckets: Mapping[str, float], total: float) -> list[Line]:
    """The lines of one histogram."""
    found: list[Line] = [(f"{name}_bucket", {**labels, "le": edge}, count) for edge, count in buckets.items()]
    count = buckets["+Inf"]
    return [*found, (f"{name}_sum", labels, total), (f"{name}_count", labels, count)]


def names_of(engine: str, version: str) -> dict[str, str]:
    """Every name that a version exposes, with its type."""
    order = NAMES[engine]["versions"]
    at = order.index(version)
    return {
        name: kind
        for name, (kind, first, last) in NAMES[engine]["names"].items()
        if order.index(first) <= at <= order.index(last)
    }


def see(body: bytes) -> Seen:
    """Read one page with a fresh parser."""
    return look(body, new_parser())


def reading(body: bytes, at_s: float, wall_s: float = 0.0) -> Reading:
    """A usable page as it was scraped at `at_s` of the monotonic clock, `wall_s` behind the wall's."""
    facts = see(body).facts
    assert facts is not None
    return facts.reading("chat", wall_s + at_s, at_s, State.OK)


def only_engine(body: bytes) -> EngineReading:
    """The engine of a usable page that has one."""
    seen = see(body)
    assert seen.state is State.OK, seen.reason
    assert seen.facts is not None
    (engine,) = seen.facts.engines
    return engine
