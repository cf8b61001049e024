"""The simulated page has the families, labels, words and bucket edges of real vLLM pages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from probes.sim.engine import Engine
from probes.sim.metrics_page import PageState, number, render
from probes.sim.request import Request
from probes.sim.spec import SimSpec

PAGES = Path(__file__).parents[2] / "data" / "metrics"
STATE = PageState(started_at_s=1_796_009_418.5, answered={("/v1/completions", "POST", "2xx"): 3})
LEFT_OUT = re.compile(r"python_|process_(?!start_time)|http_request_size_|http_response_size_|http_request_duration_")
"""Families of a real page that no reader here uses: about the Python process and HTTP timings."""


@dataclass
class Seen:
    """What a page says of one family."""

    help: str = ""
    type: str = ""
    series: set[str] = field(default_factory=set)
    """Suffix and label names, with the values of the labels that are fixed by vLLM."""


def read(page: str) -> dict[str, Seen]:
    """A naive reader, good enough for pages whose label values hold no quotes."""
    families: dict[str, Seen] = {}
    for line in page.splitlines():
        if line.startswith("#"):
            _, word, name, text = line.split(" ", 3)
            setattr(families.setdefault(name, Seen()), word.lower(), text)
            continue
        name, _, rest = line.partition("{") if "{" in line else line.partition(" ")
        family = name if name in families else re.sub(r"_(bucket|count|sum)$", "", name)
        labels = re.sub(r'\b(?!le=|reason=|source=|position=|finished_reason=|sleep_state=)(\w+)="[^"]*"', r"\1", rest)
        families[family].series.add(f"{name[len(family) :]} {labels.rpartition('}')[0]}")
    return families


def simulated(spec: SimSpec, state: PageState = STATE) -> dict[str, Seen]:
    """The page of a fresh server."""
    return read(render(spec, [Engine(spec, index=index) for index in range(spec.engines)], state).decode())


@pytest.mark.parametrize(
    ("file", "spec"),
    [
        ("vllm-0.26.0-h200-off-c32.prom", SimSpec(k=0, max_model_len=2048)),
        ("vllm-0.26.0-h200-k1-c32.prom", SimSpec(k=1, max_model_len=2048)),
        ("vllm-0.26.0-h200-k3-c32.prom", SimSpec(k=3, max_model_len=2048)),
        ("vllm-0.26.0-h200-k5-c32.prom", SimSpec(k=5, max_model_len=2048)),
    ],
)
def test_the_page_is_vllms(file: str, spec: SimSpec) -> None:
    real = read((PAGES / file).read_text())
    mine = simulated(spec)
    assert mine == {name: seen for name, seen in real.items() if not LEFT_OUT.match(name)}
    assert [name for name in real if name in mine] == list(mine), "the order of the families"


def test_a_newer_version_shows_its_new_families() -> None:
    real = read((PAGES / "vllm-0.32.0-cpu-idle.prom").read_text())
    mine = simulated(
        SimSpec(k=0, max_model_len=2048, version="0.32.0"), PageState(started_at_s=STATE.started_at_s, answered={})
    )
    info = "vllm:cache_config_info"
    expected = {name: seen for name, seen in real.items() if not LEFT_OUT.match(name) and not name.startswith("http_")}
    assert {k: v for k, v in mine.items() if k != info} == {k: v for k, v in expected.items() if k != info}
    assert info in mine


def test_spec_series_exist_from_the_start_and_only_where_something_drafts() -> None:
    assert not [name for name in simulated(SimSpec(k=0)) if "spec_decode" in name]
    drafting = simulated(SimSpec(k=3))["vllm:spec_decode_num_accepted_tokens_per_pos_total"].series
    assert {re.sub(r'.*position="(\d)".*', r"\1", series) for series in drafting} == {"0", "1", "2"}
    filtered = simulated(SimSpec(k=3), PageState(started_at_s=1.0, answered={}, show_spec=False))
    assert not [name for name in filtered if "spec_decode" in name]


def test_a_page_without_engine_statistics_shows_the_process_only() -> None:
    names = simulated(SimSpec(k=3), PageState(started_at_s=1.0, answered={}, show_vllm=False))
    assert list(names) == ["process_start_time_seconds"]


def test_every_engine_has_its_own_series() -> None:
    spec = SimSpec(k=1, engines=3)
    page = render(spec, [Engine(spec, index=index) for index in range(3)], STATE).decode()
    engines = re.findall(r'^vllm:num_requests_running\{engine="(\d)"', page, flags=re.M)
    assert engines == ["0", "1", "2"]


def test_counters_move_with_every_step() -> None:
    spec = SimSpec(k=3)
    engine = Engine(spec)
    engine.add(Request(50, 500, 500, 0.0))
    now_s = 0.0
    pages = set()
    for _ in range(10):
        end_s = engine.begin_step(now_s)
        assert end_s is not None
        now_s = end_s
        engine.end_step(now_s)
        pages.add(re.findall(r"^vllm:generation_tokens_total.*", render(spec, [engine], STATE).decode(), flags=re.M)[0])
    assert len(pages) == 10


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (276460, "276460.0"), (1102615, "1.102615e+06"), (1796009418.5, "1.7960094185e+09"), (0.25, "0.25")],
)
def test_numbers_look_as_the_python_exporter_writes_them(value: float, text: str) -> None:
    assert number(value) == text
