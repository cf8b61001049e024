"""Renders the /metrics text of a simulated server, line for line like vLLM's; reads state, changes none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from probes.sim.counters import Histogram
from probes.sim.engine import Engine
from probes.sim.families import FAMILIES, SLEEP_STATE, Family, Rows, cache_config
from probes.sim.spec import SimSpec

CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PageState:
    """What the page shows beside the engines' counters."""

    started_at_s: float
    """Unix time of the process' (simulated) start."""
    answered: Mapping[tuple[str, str, str], int]
    """Answers by (path, method, status class)."""
    sleep_level: int = 0
    show_spec: bool = True
    show_vllm: bool = True


def number(value: float) -> str:
    """A sample's value the way the Python exporter writes it: large ones with a mantissa and `e+NN`."""
    text = repr(float(value))
    whole, _, part = text.partition(".")
    if "e" in text or len(whole) <= 6 or value < 0:
        return text
    digits = (whole + part).rstrip("0") or "0"
    return f"{digits[0]}.{digits[1:] or '0'}e+{len(whole) - 1:02d}"


def render(spec: SimSpec, engines: Sequence[Engine], state: PageState) -> bytes:
    """The whole page."""
    lines: list[str] = []
    _head(lines, "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.")
    lines.append(f"process_start_time_seconds {number(state.started_at_s)}")
    if state.show_vllm:
        release = tuple(int(part) for part in spec.version.split(".")[:2])
        for family in FAMILIES:
            if release < family.since or (family.drafting_only and not (spec.k and state.show_spec)):
                continue
            _family(lines, family, spec, engines, state)
        _head(lines, "vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
        configs = (_labels(cache_config(spec) | {"engine": str(index)}) for index in range(len(engines)))
        lines.extend(f"vllm:cache_config_info{labels} 1.0" for labels in configs)
    _http(lines, state)
    return ("\n".join(lines) + "\n").encode()


def _head(lines: list[str], name: str, kind: str, help_text: str) -> None:
    lines.append(f"# HELP {name} {help_text}")
    lines.append(f"# TYPE {name} {kind}")


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{labels[name]}"' for name in sorted(labels)) + "}"


def _family(lines: list[str], family: Family, spec: SimSpec, engines: Sequence[Engine], state: PageState) -> None:
    base = f"vllm:{family.name}"
    name = f"{base}_total" if family.kind == "counter" else base
    _head(lines, name, family.kind, family.help)
    created: list[str] = []
    for index, engine in enumerate(engines if family.per_engine else engines[:1]):
        common = {"model_name": spec.model_name}
        if family.per_engine:
            common["engine"] = str(index)
        if family.histogram is not None:
            _buckets(lines, name, common, family.histogram(engine.counters))
            created.append(_labels(common))
            continue
        rows = _sleep_rows(state.sleep_level) if family is SLEEP_STATE else family.rows(engine) if family.rows else ()
        for extra, value in rows:
            labels = _labels({**common, **extra})
            lines.append(f"{name}{labels} {number(value)}")
            created.append(labels)
    if family.kind == "gauge":
        return
    _head(lines, f"{base}_created", "gauge", family.help)
    started = number(state.started_at_s)
    lines.extend(f"{base}_created{labels} {started}" for labels in created)


def _buckets(lines: list[str], name: str, common: Mapping[str, str], histogram: Histogram) -> None:
    edges = [number(edge) for edge in histogram.edges] + ["+Inf"]
    gap = "\0"
    before, after = _labels({**common, "le": gap}).split(gap)
    for edge, count in zip(edges, accumulate(histogram.counts), strict=True):
        lines.append(f"{name}_bucket{before}{edge}{after} {number(count)}")
    labels = _labels(common)
    lines.append(f"{name}_count{labels} {number(histogram.count)}")
    lines.append(f"{name}_sum{labels} {number(histogram.total)}")


def _sleep_rows(level: int) -> Rows:
    names = ("awake", "weights_offloaded", "discard_all")
    return [({"sleep_state": name}, float(index == level)) for index, name in enumerate(names)]


def _http(lines: list[str], state: PageState) -> None:
    if not state.answered:
        return
    help_text = "Total number of requests by method, status and handler."
    _head(lines, "http_requests_total", "counter", help_text)
    keys = [
        _labels({"handler": handler, "method": method, "status": status}) for handler, method, status in state.answered
    ]
    for labels, count in zip(keys, state.answered.values(), strict=True):
        lines.append(f"http_requests_total{labels} {number(count)}")
    _head(lines, "http_requests_created", "gauge", help_text)
    lines.extend(f"http_requests_created{labels} {number(state.started_at_s)}" for labels in keys)
