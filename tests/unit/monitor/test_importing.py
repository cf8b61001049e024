"""How old imported results are, and what speaks against comparing them with a server."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.service.importing import Measured, NotImportable, Present, contradictions, measured_at, must_have, remarks
from probes.answer_values import Axis
from probes.imports import Imported, read_results
from probes.values import EngineKind, Identity, Reason

SERVED = Identity(version="0.26.0", model="llama-8b", model_root="meta-llama/Llama-3.1-8B", models=("llama-8b",))
PRESENT = Present("f1", SERVED, 1, "as chat answers now")
SGLANG_FILE = Path(__file__).parents[2] / "data" / "imports" / "sglang" / "pair.jsonl"
NOW_S = 1_800_000_000.0


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    """A table that was last changed an hour ago."""
    path = tmp_path / "results.csv"
    path.write_text("arm,concurrency,output_tok_s\noff,8,700\noff,16,900\nk3,8,650\nk3,16,700\n")
    os.utime(path, (NOW_S - 3600, NOW_S - 3600))
    return read_results([path])


class TestAge:
    def test_it_is_that_of_the_newest_run_where_files_tell(self, imported: Imported) -> None:
        dated = replace(imported, measured_s=(NOW_S - 7200, NOW_S - 1800))
        assert measured_at(dated, NOW_S) == Measured(NOW_S - 7200, NOW_S - 1800, "their own dates")

    def test_else_that_of_the_files(self, imported: Imported) -> None:
        found = measured_at(imported, NOW_S)
        assert (found.last_s, found.told_by) == (NOW_S - 3600, "when the files were last changed")

    def test_a_date_in_the_future_must_not_outlive_every_sweep_to_come(self, imported: Imported) -> None:
        dated = replace(imported, measured_s=(NOW_S, NOW_S + 40_000))
        assert measured_at(dated, NOW_S).last_s == NOW_S

    @pytest.mark.parametrize("dates", [(NOW_S, NOW_S + 90_000), (-62e9, NOW_S), (0.0, 0.0), (2e11, 2e11)])
    def test_dates_that_cannot_be_true_are_not_believed(self, imported: Imported, dates: tuple[float, float]) -> None:
        found = measured_at(replace(imported, measured_s=dates), NOW_S)
        assert found.last_s == NOW_S - 3600
        assert found.told_by.endswith("(the dates in them cannot be true)")


class TestContradictions:
    def test_silence_is_none(self, imported: Imported) -> None:
        assert contradictions(imported, PRESENT) == []

    @pytest.mark.parametrize("model", ["llama-8b", "meta-llama/Llama-3.1-8B", "/models/Llama-3.1-8B/", "LLAMA-3.1-8b"])
    def test_a_model_may_go_by_any_of_its_names(self, imported: Imported, model: str) -> None:
        assert contradictions(replace(imported, models=(model,)), PRESENT) == []

    def test_another_model_and_another_release_are_some(self, imported: Imported) -> None:
        other = replace(imported, models=("Qwen3-8B",), versions=("0.27.0",))
        found = contradictions(other, PRESENT)
        assert [text.split(",")[0] for text in found] == ["they measured Qwen3-8B", "they measured release 0.27.0"]

    def test_another_engine_is_named(self) -> None:
        sglang = read_results([SGLANG_FILE])
        vllm = replace(PRESENT, kind=EngineKind.VLLM)
        assert "they measured SGLang 0.5.15, and it runs vLLM 0.26.0" in contradictions(sglang, vllm)
        same = Identity(version="0.5.15", model="sim/sim-8b", models=("sim-8b",))
        assert contradictions(sglang, Present("f1", same, 1, "", EngineKind.SGLANG)) == []

    def test_one_arm_of_another_model_or_release_is_enough(self, imported: Imported) -> None:
        mixed = replace(imported, models=("llama-8b", "Qwen3-8B"), versions=("0.26.0", "0.27.0"))
        found = contradictions(mixed, PRESENT)
        assert [text.split(",")[0] for text in found] == ["they measured Qwen3-8B", "they measured release 0.27.0"]

    def test_a_server_that_does_not_tell_contradicts_nothing(self, imported: Imported) -> None:
        other = replace(imported, models=("Qwen3-8B",), versions=("0.27.0",))
        assert contradictions(other, replace(PRESENT, identity=Identity())) == []


class TestRemarks:
    AT = Measured(NOW_S - 3600, NOW_S, "their own dates")

    def test_there_are_none_where_all_is_plain(self, imported: Imported) -> None:
        assert remarks(imported, PRESENT, self.AT) == []

    def test_runs_of_different_days(self, imported: Imported) -> None:
        days = Measured(NOW_S - 5 * 86_400, NOW_S, "their own dates")
        assert "its runs lie 5 d apart" in remarks(imported, PRESENT, days)[0]

    def test_clients_of_an_endpoint_with_several_engines(self, imported: Imported) -> None:
        assert imported.axis is Axis.CLIENTS
        several = replace(PRESENT, engines=4)
        assert "has 4 engines: live traffic is not compared" in remarks(imported, several, self.AT)[0]


class TestLiveArm:
    def test_results_without_it_would_put_out_a_good_sweep(self, imported: Imported) -> None:
        with pytest.raises(NotImportable, match=r"these arms are off, k3\. .* arm column.*--arm eagle=FILE"):
            must_have("eagle", imported, "chat")
        with pytest.raises(NotImportable, match=r"Say which files are that arm's: --arm eagle=FILE"):
            must_have("eagle", replace(imported, tools=("vllm bench serve",)), "chat")

    def test_one_that_drafted_nothing_is_none(self, imported: Imported) -> None:
        why = Reason("nothing_drafted", "No run of k5 drafted anything.")
        with pytest.raises(NotImportable, match=r"No run of k5 drafted anything\. It is the pool's live arm"):
            must_have("k5", replace(imported, refused={"k5": why}), "chat")

    @pytest.mark.parametrize("live_arm", [None, "off", "k3"])
    def test_a_measured_one_or_none_declared_is_fine(self, imported: Imported, live_arm: str | None) -> None:
        must_have(live_arm, imported, "chat")
