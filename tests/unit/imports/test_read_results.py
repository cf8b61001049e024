"""Results measured elsewhere: what is read from each format, and what a person is told when it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probes.answer_values import Axis, CurvePoint, Verdict
from probes.crossover import estimate
from probes.imports import Imported, ResultFileError, read_results


def csv_file(folder: Path, text: str, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def vllm(arm: str | None, concurrency: int | None, tok_s: float, **more: Any) -> dict[str, Any]:
    """What `vllm bench serve --save-result` writes, shortened."""
    result = {
        "date": "20261130-120000",
        "endpoint_type": "vllm",
        "backend": "vllm",
        "label": None,
        "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "num_prompts": 256,
        "request_rate": "inf",
        "max_concurrency": concurrency,
        "duration": 10.0,
        "completed": 256,
        "failed": 0,
        "output_throughput": tok_s,
        "total_token_throughput": 2 * tok_s,
    }
    return result | ({"arm": arm} if arm else {}) | more


def sglang(tag: str | None, concurrency: int | None, tok_s: float, **more: Any) -> dict[str, Any]:
    """One line of sglang.bench_serving's output file, shortened."""
    return {
        "tag": tag,
        "backend": "sglang",
        "dataset_name": "sharegpt",
        "request_rate": "inf",
        "max_concurrency": concurrency,
        "duration": 10.0,
        "completed": 256,
        "output_throughput": tok_s,
        "concurrency": 0.98 * (concurrency or 1),
        "accept_length": 2.6,
    } | more


def refused(*paths: Path, baseline: str | None = None) -> str:
    with pytest.raises(ResultFileError) as caught:
        read_results(list(paths), baseline)
    return str(caught.value)


class TestCsv:
    def test_rows_become_points_on_the_axis_of_clients(self, tmp_path: Path) -> None:
        path = csv_file(tmp_path, "arm,concurrency,output_tok_s\noff,1,100\noff,8,700.5\nk3,1,180\nk3,8,650\n")
        imported = read_results([path])
        assert imported.axis is Axis.CLIENTS
        assert imported.baseline == "off"
        assert imported.notes == ()
        assert imported.points == (
            CurvePoint("off", 1.0, 100.0, 0),
            CurvePoint("off", 8.0, 700.5, 0),
            CurvePoint("k3", 1.0, 180.0, 0),
            CurvePoint("k3", 8.0, 650.0, 0),
        )

    def test_in_system_on_every_row_is_concurrency_per_engine(self, tmp_path: Path) -> None:
        text = "arm,concurrency,output_tok_s,in_system\noff,8,700,7.9\nk3,8,650,7.7\n"
        imported = read_results([csv_file(tmp_path, text)])
        assert imported.axis is Axis.CONCURRENCY_PER_ENGINE
        assert [p.concurrency for p in imported.points] == [7.9, 7.7]

    def test_in_system_on_some_rows_falls_back_to_clients_and_says_so(self, tmp_path: Path) -> None:
        text = "arm,concurrency,output_tok_s,in_system\noff,8,700,7.9\nk3,8,650,\n"
        imported = read_results([csv_file(tmp_path, text)])
        assert imported.axis is Axis.CLIENTS
        assert [p.concurrency for p in imported.points] == [8.0, 8.0]
        assert "line 3" in imported.notes[0]

    def test_the_same_rung_again_is_a_repeat(self, tmp_path: Path) -> None:
        one = csv_file(tmp_path, "arm,concurrency,output_tok_s\noff,8,700\noff,8,710\nk3,8,650\n", "one.csv")
        two = csv_file(tmp_path, "arm,concurrency,output_tok_s,repeat\nk3,8,655,0\n", "two.csv")
        points = read_results([one, two]).points
        assert [(p.arm, p.repeat) for p in points] == [("off", 0), ("off", 1), ("k3", 0), ("k3", 1)]

    def test_spreadsheet_habits_are_fine(self, tmp_path: Path) -> None:
        text = "\ufeffArm, Concurrency, Output_tok_s, gpu\r\n# warm\r\n\r\noff, 8, 7e2, H200\r\nk3, 8, 650, H200\r\n"
        path = tmp_path / "results.csv"
        path.write_bytes(text.encode())
        imported = read_results([path])
        assert [p.output_tok_s for p in imported.points] == [700.0, 650.0]
        assert "gpu" in imported.notes[0]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", ["is empty", "Expected CSV"]),
            ("arm,concurrency,output_tok_s\n", ["no measurements under the header"]),
            ("arm,concurrency\noff,8\n", ["line 1", "output_tok_s is missing", "found arm, concurrency"]),
            ("# mine\noff,8,700\nk3,8,650\n", ["line 2", "missing", "Expected: arm,concurrency,output_tok_s"]),
            ("arm,concurrency,output_tok_s,arm\noff,8,700,k3\n", ["line 1", "arm appears twice"]),
            ("arm,concurrency,output_tok_s\noff,8,fast\n", ["line 2", "output_tok_s is 'fast'"]),
            ("arm,concurrency,output_tok_s\noff,8,nan\n", ["line 2", "output_tok_s is 'nan'", "finite"]),
            ("arm,concurrency,output_tok_s\noff,8,inf\n", ["line 2", "finite"]),
            ("arm,concurrency,output_tok_s\noff,-8,700\n", ["line 2", "concurrency is -8", "above 0"]),
            ("arm,concurrency,output_tok_s\noff,8,0\n", ["line 2", "output_tok_s is 0", "failed runs"]),
            ("arm,concurrency,output_tok_s\noff,8,\n", ["line 2", "output_tok_s is ''"]),
            ("arm,concurrency,output_tok_s\n,8,700\n", ["line 2", "arm is empty"]),
            ("arm,concurrency,output_tok_s\noff,8,700,9\n", ["line 2", "4 values for 3 columns"]),
            ('arm,concurrency,output_tok_s\n"off,8,700\n', ["not valid CSV"]),
            ("arm,concurrency,output_tok_s,repeat\noff,8,700,first\n", ["line 2", "repeat is 'first'"]),
            (
                "arm,concurrency,output_tok_s,repeat\noff,8,700,1\nk3,8,700,1\noff,8,710,1\n",
                ["line 4", "arm off at concurrency 8, repeat 1", "on line 2"],
            ),
            ("arm,concurrency,output_tok_s\noff,8,700\noff,16,800\n", ["only one arm, off"]),
            ("arm,concurrency,output_tok_s\na,8,700\nb,8,800\n", ["a, b", "--baseline"]),
            ("arm,concurrency,output_tok_s\noff,8,700\nnone,8,800\n", ["more than one", "--baseline"]),
        ],
    )
    def test_a_bad_file_is_refused_with_file_place_and_remedy(
        self, tmp_path: Path, text: str, words: list[str]
    ) -> None:
        path = csv_file(tmp_path, text)
        message = refused(path)
        assert message.startswith(f"{path}: ")
        for word in words:
            assert word in message


class TestVllm:
    def test_one_object_a_file_named_by_metadata(self, tmp_path: Path) -> None:
        paths: list[Path] = []
        for arm, concurrency, tok_s in [("off", 1, 100.0), ("off", 8, 700.0), ("k3", 1, 180.0), ("k3", 8, 650.0)]:
            path = tmp_path / f"{len(paths)}.json"
            path.write_text(json.dumps(vllm(arm, concurrency, tok_s), indent=2))
            paths.append(path)
        imported = read_results(paths)
        assert imported.axis is Axis.CLIENTS
        assert [(p.arm, p.concurrency, p.output_tok_s) for p in imported.points] == [
            ("off", 1.0, 100.0),
            ("off", 8.0, 700.0),
            ("k3", 1.0, 180.0),
            ("k3", 8.0, 650.0),
        ]

    def test_appended_results_and_lists_are_read_whole(self, tmp_path: Path) -> None:
        off = tmp_path / "off.json"
        off.write_text("\n".join(json.dumps(vllm(None, c, 100.0 * c)) for c in (1, 8)))
        on = tmp_path / "k3.json"
        on.write_text(json.dumps([vllm(None, c, 120.0 * c) for c in (1, 8)]))
        imported = read_results([off, on])
        assert [(p.arm, p.concurrency) for p in imported.points] == [("off", 1), ("off", 8), ("k3", 1), ("k3", 8)]

    @pytest.mark.parametrize(
        ("name", "arm"),
        [
            ("k3-c32.json", "k3"),
            ("k3_concurrency32_run2.json", "k3"),
            ("mtp-5.json", "mtp-5"),
            ("eagle3-chat.json", "eagle3-chat"),
            ("k3-infqps-concurrency8-20261130-120000.json", "k3"),
            ("c32-k3.jsonl", "k3"),
        ],
    )
    def test_without_metadata_the_file_name_names_the_arm(self, tmp_path: Path, name: str, arm: str) -> None:
        (tmp_path / name).write_text(json.dumps(vllm(None, 8, 650.0)))
        (tmp_path / "off.json").write_text(json.dumps(vllm(None, 8, 700.0)))
        points = read_results([tmp_path / "off.json", tmp_path / name]).points
        assert [p.arm for p in points] == ["off", arm]

    @pytest.mark.parametrize(
        ("more", "arm"),
        [
            ({"speculative_config": '{"method": "eagle3", "num_speculative_tokens": 3}'}, "k3"),
            ({"num_speculative_tokens": "5"}, "k5"),
            ({"speculative_method": "ngram"}, "ngram"),
            ({"label": "k7"}, "k7"),
        ],
    )
    def test_metadata_about_speculation_names_the_arm(self, tmp_path: Path, more: dict[str, str], arm: str) -> None:
        path = tmp_path / "all.json"
        path.write_text(json.dumps([vllm("off", 8, 700.0), vllm(None, 8, 650.0, **more)]))
        assert [p.arm for p in read_results([path]).points] == ["off", arm]

    def test_failed_requests_are_noted(self, tmp_path: Path) -> None:
        path = tmp_path / "all.json"
        path.write_text(json.dumps([vllm("off", 8, 700.0, failed=3), vllm("k3", 8, 650.0)]))
        assert "3 requests failed" in read_results([path]).notes[0]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("{oops", ["line 1", "not valid JSON"]),
            ('{"a": 1}\n{"b": \n', ["record 1", "output_throughput is missing"]),
            ("[]", ["holds no result"]),
            ("[1, 2]", ["record 1 is not an object"]),
            (json.dumps(vllm("off", None, 700.0)), ["record 1", "max_concurrency is not set", "--max-concurrency"]),
            (json.dumps(vllm("off", 8, float("nan"))), ["record 1", "output_throughput is nan"]),
            (json.dumps(vllm("off", 8, -1.0)), ["record 1", "above 0"]),
            (json.dumps(vllm("off", 8, 1.0) | {"output_throughput": None}), ["record 1", "output_throughput is None"]),
            (json.dumps({"benchmarks": [{"metrics": {}}]}), ["benchmark 1", "guidellm", "output_tokens_per_second"]),
            (json.dumps({"output_token_throughput": {"avg": 1.0}}), ["record 1", "aiperf", "load is not known"]),
            (json.dumps(vllm("off", 8, 700.0)), ["only one arm, off", "--metadata arm=NAME"]),
            ("[" * 100_000, ["not valid JSON"]),
        ],
    )
    def test_a_bad_file_is_refused_with_file_place_and_remedy(
        self, tmp_path: Path, content: str, words: list[str]
    ) -> None:
        path = tmp_path / "results.json"
        path.write_text(content)
        message = refused(path)
        assert message.startswith(f"{path}: ")
        for word in words:
            assert word in message


class TestSglang:
    def lines(self, folder: Path, *records: dict[str, Any]) -> Imported:
        path = folder / "sglang.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return read_results([path])

    def test_lines_named_by_tag(self, tmp_path: Path) -> None:
        imported = self.lines(tmp_path, sglang("off", 8, 700.0), sglang("k3", 8, 650.0), sglang("k3", 8, 660.0))
        assert imported.axis is Axis.CONCURRENCY_PER_ENGINE
        assert imported.points == (
            CurvePoint("off", 7.84, 700.0, 0),
            CurvePoint("k3", 7.84, 650.0, 0),
            CurvePoint("k3", 7.84, 660.0, 1),
        )

    def test_without_a_tag_the_server_says_what_ran(self, tmp_path: Path) -> None:
        off = {"speculative_algorithm": None, "speculative_num_steps": None}
        on = {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 3}
        imported = self.lines(tmp_path, sglang(None, 8, 700.0, server_info=off), sglang(None, 8, 650.0, server_info=on))
        assert [p.arm for p in imported.points] == ["off", "k3"]


class TestFiles:
    def test_a_missing_file_a_folder_and_a_binary_are_refused(self, tmp_path: Path) -> None:
        assert "cannot be read" in refused(tmp_path / "nowhere.csv")
        assert "holds no results" in refused(tmp_path)
        binary = tmp_path / "results.json"
        binary.write_bytes(b"\x80\x81\x82")
        assert "not UTF-8" in refused(binary)

    def test_a_file_named_twice_is_refused(self, tmp_path: Path) -> None:
        path = csv_file(tmp_path, "arm,concurrency,output_tok_s\noff,8,700\nk3,8,650\n")
        assert "named twice" in refused(path, tmp_path / "." / path.name)

    @pytest.mark.parametrize("name", ["off", "Baseline", "none", "no_spec", "no-spec"])
    def test_the_usual_names_of_a_baseline_are_known(self, tmp_path: Path, name: str) -> None:
        path = csv_file(tmp_path, f"arm,concurrency,output_tok_s\nk3,8,700\n{name},8,650\n")
        assert read_results([path]).baseline == name

    def test_the_given_baseline_wins_and_must_exist(self, tmp_path: Path) -> None:
        path = csv_file(tmp_path, "arm,concurrency,output_tok_s\nk1,8,700\nk3,8,650\n")
        assert read_results([path], baseline="k1").baseline == "k1"
        assert "no arm k9" in refused(path, baseline="k9")
        assert "k1, k3" in refused(path, baseline="k9")


def test_imported_results_give_a_verdict(tmp_path: Path) -> None:
    rows = [f"{arm},{x},{tok_s}" for x, off, on in TABLE for arm, tok_s in (("plain", off), ("eagle", on))]
    path = csv_file(tmp_path, "\n".join(["arm,concurrency,output_tok_s", *rows]))
    imported = read_results([path], baseline="plain")
    result = estimate(imported.points, baseline=imported.baseline, axis=imported.axis)
    assert result.arms["eagle"].verdict is Verdict.CROSSES
    assert result.arms["eagle"].crossover == pytest.approx(49, abs=1)


TABLE = [(10, 1063.0, 1494.0), (25, 2460.4, 3037.1), (35, 3245.3, 3653.1), (50, 4284.2, 4252.7), (75, 5693.3, 4606.5)]
"""Qwen3-14B with EAGLE-3 on one H200, vLLM 0.27.1, from a public report (see tests/data/published)."""
