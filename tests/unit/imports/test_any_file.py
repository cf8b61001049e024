"""Whatever a file holds, it is read or refused in words; nothing else ever comes out."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.answer_values import Verdict
from probes.imports import ResultFileError, answer, read_results

DATA = Path(__file__).parents[2] / "data" / "imports"
GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 10**400]),
    st.text(max_size=5),
    st.just([]),
    st.just([None]),
    st.just({}),
    st.just({"avg": "x"}),
    st.just([{"kind": 3}]),
)


def first(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "benchmarks": report["benchmarks"][:1]}


def documents() -> list[list[dict[str, Any]]]:
    """Off and k3 as every tool writes them, records of two files joined."""
    guide = [first(json.loads((DATA / "guidellm" / f"{arm}.json").read_text())) for arm in ("off", "k3")]
    perf = [
        json.loads((DATA / "aiperf" / f"{arm}-c4" / "profile_export_aiperf.json").read_text()) for arm in ("off", "k3")
    ]
    bench = [
        {**json.loads(line), "arm": arm, "latencies": [1.0, 2.0], "queue_times": []}
        for arm in ("off", "k3")
        for line in (DATA / "vllm" / f"{arm}.json").read_text().splitlines()
    ]
    sglang = [
        {**record, "server_info": {"version": "0.5.15"}, "accept_length": 2.0, "tag": record["arm"]} for record in bench
    ]
    sweep = [json.loads((DATA / "specwatch" / "sweep.json").read_text())]
    return [guide, perf, bench, sglang, sweep]


DOCUMENTS = documents()


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*at, key))
    return found


PLACES = [places(document) for document in DOCUMENTS]


def read(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.json"
        path.write_text(text, encoding="utf-8")
        try:
            found = answer(read_results([path]))
        except ResultFileError:
            return
    assert all(isinstance(arm.verdict, Verdict) for arm in found.arms.values())


@settings(max_examples=100)
@given(st.data())
def test_a_result_with_anything_in_any_place(data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(DOCUMENTS) - 1))
    document = json.loads(json.dumps(DOCUMENTS[which]))
    for at in data.draw(st.lists(st.sampled_from(PLACES[which]), min_size=1, max_size=3)):
        inner = document
        try:
            for key in at[:-1]:
                inner = inner[key]
            inner[at[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if data.draw(st.booleans()) and isinstance(inner, dict):
            del inner[at[-1]]
        else:
            inner[at[-1]] = data.draw(GARBAGE)
    read("\n".join(json.dumps(record) for record in document))


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    read(text.encode("utf-8", "replace").decode())


@given(st.integers(0, 4), st.floats(0, 1))
def test_any_file_cut_short(which: int, share: float) -> None:
    text = "\n".join(json.dumps(record) for record in DOCUMENTS[which])
    read(text[: int(share * len(text))])
