"""A `sweep --out` file of another host: its cells are read whole, and what is wrong with one is said."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes.answer_values import Axis
from probes.crossover import cells_to_points, estimate
from probes.imports import ResultFileError, answer, read_results

FILE = Path(__file__).parents[2] / "data" / "imports" / "specwatch" / "sweep.json"


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads(FILE.read_text())
    change(document)
    path = folder / "sweep.json"
    path.write_text(json.dumps(document))
    return path


def test_the_answer_is_made_anew_from_its_cells() -> None:
    imported = read_results([FILE])
    document = json.loads(FILE.read_text())
    assert imported.axis is Axis.CONCURRENCY_PER_ENGINE
    assert imported.baseline == "off"
    assert imported.arm_k == document["arm_k"]
    assert [cell.output_tok_s for cell in imported.cells] == [cell["output_tok_s"] for cell in document["cells"]]
    assert imported.cells[0].ttft.p50_ms == document["cells"][0]["ttft"]["p50_ms"]
    again = estimate(cells_to_points(imported.cells), baseline="off", axis=imported.axis)
    assert answer(imported).arms["k3"].speedup == again.arms["k3"].speedup


def test_void_cells_stay_void(tmp_path: Path) -> None:
    def void(document: dict[str, Any]) -> None:
        document["cells"][3]["void"] = [{"code": "traffic", "text": "somebody else came"}]

    imported = read_results([changed(tmp_path, void)])
    assert [i for i, cell in enumerate(imported.cells) if not cell.valid] == [3]
    assert len(imported.points) == len(imported.cells) - 1
    assert any("1 of 16 cells are void" in note for note in imported.notes)


def test_fields_of_other_releases_are_defaulted_or_dropped(tmp_path: Path) -> None:
    def other(document: dict[str, Any]) -> None:
        for cell in document["cells"]:
            del cell["dispatch_p99_ms"]
            cell["invented_later"] = 1

    assert read_results([changed(tmp_path, other)]).cells[0].dispatch_p99_ms is None


def test_a_sweep_that_was_broken_off_is_used_and_named(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda d: d.update(outcome="aborted", reason="live traffic came", crossover=None))
    assert any("ended as aborted: live traffic came" in note for note in read_results([path]).notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(schema=9), "schema 9 and this release reads 1"),
        (lambda d: d.update(cells=[], outcome="refused", reason="pause"), "ended as refused without a cell: pause"),
        (lambda d: d.update(ended_at_s=None), "was still running"),
        (
            lambda d: d.update(plan={"files": {"aa": "off.json", "bb": "k3.json"}, "measured_with": {}}),
            "what `specwatch import` made from off.json, k3.json",
        ),
        (lambda d: d["cells"][2].pop("repeat"), "cell 3: repeat is missing"),
        (lambda d: d["cells"][2].update(rung="many"), "cell 3: rung cannot be read"),
        (lambda d: d["cells"][2].update(output_tok_s="fast"), "cell 3: output_tok_s cannot be read"),
        (lambda d: d["cells"][2].update(concurrency=float("nan")), "cell 3: concurrency cannot be read"),
        (lambda d: d["cells"][2].update(ttft=None), "cell 3: ttft cannot be read"),
        (lambda d: d["cells"].__setitem__(2, 7), "cell 3 is no object"),
        (lambda d: [c.update(void=[{"code": "x", "text": "y"}]) for c in d["cells"]], "none of its 16 cells is valid"),
    ],
)
def test_a_damaged_one_is_refused(tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str) -> None:
    path = changed(tmp_path, change)
    with pytest.raises(ResultFileError) as caught:
        read_results([path])
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_it_is_read_alone(tmp_path: Path) -> None:
    csv = tmp_path / "more.csv"
    csv.write_text("arm,concurrency,output_tok_s\noff,8,700\nk3,8,650\n")
    with pytest.raises(ResultFileError, match="give it alone"):
        read_results([FILE, csv])


def test_another_of_its_arms_can_be_the_baseline() -> None:
    assert set(answer(read_results([FILE], "k3")).arms) == {"off"}
    with pytest.raises(ResultFileError, match="there is no arm k9"):
        read_results([FILE], "k9")


def test_a_gzipped_file_is_read_as_what_it_holds(tmp_path: Path) -> None:
    packed = tmp_path / "sweep.json.gz"
    packed.write_bytes(gzip.compress(FILE.read_bytes()))
    assert read_results([packed]).cells == read_results([FILE]).cells


def test_a_gzipped_file_that_was_cut_off_is_refused_in_words(tmp_path: Path) -> None:
    packed = tmp_path / "sweep.json.gz"
    packed.write_bytes(gzip.compress(FILE.read_bytes())[:-200])
    with pytest.raises(ResultFileError, match=r"sweep\.json\.gz: begins like gzip and cannot be unpacked"):
        read_results([packed])
