"""Which arm a run belongs to: what a person wrote goes first, then settings, then file and folder names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probes.imports import ResultFileError, read_results
from tests.unit.imports.records import drafting, saved, vllm


def at(folder: Path, name: str, *records: dict[str, Any]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return saved(path.parent, *records, name=path.name)


def arms(*paths: Path, **options: Any) -> list[str]:
    return list(dict.fromkeys(point.arm for point in read_results(list(paths), **options).points))


class TestByFlag:
    def test_it_goes_before_everything_else(self, tmp_path: Path) -> None:
        one = at(tmp_path, "a.json", vllm("eagle", 8, 700.0), vllm("eagle", 16, 900.0))
        two = at(tmp_path, "b.json", vllm("eagle", 8, 650.0, **drafting()))
        assert arms(arms=[("off", one), ("k3", two)]) == ["off", "k3"]

    def test_a_folder_may_be_one_arm(self, tmp_path: Path) -> None:
        at(tmp_path, "plain/c8.json", vllm(None, 8, 700.0))
        at(tmp_path, "plain/c16.json", vllm(None, 16, 900.0))
        two = at(tmp_path, "k3.json", vllm(None, 8, 650.0))
        imported = read_results([two], arms=[("off", tmp_path / "plain")])
        assert [(p.arm, p.concurrency) for p in imported.points] == [("k3", 8), ("off", 8), ("off", 16)]

    def test_a_table_of_several_arms_cannot_be_one(self, tmp_path: Path) -> None:
        path = tmp_path / "all.csv"
        path.write_text("arm,concurrency,output_tok_s\noff,8,700\nk3,8,650\n")
        with pytest.raises(ResultFileError, match="the table holds several: k3, off"):
            read_results([], arms=[("mtp", path)])

    def test_a_file_named_twice_is_refused_here_too(self, tmp_path: Path) -> None:
        path = at(tmp_path, "a.json", vllm(None, 8, 700.0))
        with pytest.raises(ResultFileError, match="named twice"):
            read_results([], arms=[("off", path), ("k3", path)])


class TestByFileAndFolder:
    @pytest.mark.parametrize(
        ("off", "k3", "found"),
        [
            ("off/c8/result.json", "k3/c8/result.json", ["off", "k3"]),
            ("off-c8/benchmarks.json", "k3-c8/benchmarks.json", ["off", "k3"]),
            (
                "off/profile_runs/trial_0001/concurrency_8/profile_export_aiperf.json",
                "k3/profile_runs/trial_0001/concurrency_8/profile_export_aiperf.json",
                ["off", "k3"],
            ),
            ("llama8b-off-c8.json", "llama8b-k3-c8.json", ["llama8b-off", "llama8b-k3"]),
            ("baseline.json", "spec_run2.json", ["baseline", "spec"]),
        ],
    )
    def test_names_that_say_nothing_give_way_to_the_folder_s(
        self, tmp_path: Path, off: str, k3: str, found: list[str]
    ) -> None:
        assert arms(at(tmp_path, off, vllm(None, 8, 700.0)), at(tmp_path, k3, vllm(None, 8, 650.0))) == found

    def test_a_name_that_vllm_chose_itself_tells_the_model_so_the_counters_name_the_arm(self, tmp_path: Path) -> None:
        off = at(tmp_path, "vllm-infqps-concurrency8-Llama-3.1-8B-20261130-120000.json", vllm(None, 8, 700.0))
        on = at(
            tmp_path,
            "vllm-infqps-concurrency8-Llama-3.1-8B-20261130-130000.json",
            vllm(None, 8, 650.0, **drafting(5.0)),
        )
        assert arms(off, on) == ["off", "k5"]


class TestBySweepOverServers:
    def test_a_server_without_parameters_is_off(self, tmp_path: Path) -> None:
        config = {"speculative_config": {"method": "eagle3", "num_speculative_tokens": 3}}
        at(tmp_path, "BENCH--max_concurrency=8/run=0.json", vllm(None, 8, 700.0))
        at(
            tmp_path,
            "SERVE--speculative_config={'method': 'eagle3'}-BENCH--c8/run=0.json",
            vllm(None, 8, 650.0, **config, **drafting()),
        )
        assert sorted(arms(tmp_path)) == ["k3", "off"]

    @pytest.mark.parametrize(
        "settings",
        [
            {"speculative_config": '{"method": "eagle3", "num_speculative_tokens": 3}'},
            {"speculative-config": {"num_speculative_tokens": 3}},
            {"speculative_config.num_speculative_tokens": 3, "speculative_config.method": "eagle3"},
        ],
    )
    def test_every_way_to_write_the_override_is_understood(self, tmp_path: Path, settings: dict[str, Any]) -> None:
        at(tmp_path, "BENCH--c8/run=0.json", vllm(None, 8, 700.0))
        at(tmp_path, "SERVE--a=b-BENCH--c8/run=0.json", vllm(None, 8, 650.0, **settings))
        assert sorted(arms(tmp_path)) == ["k3", "off"]

    def test_warm_ups_and_failures_are_no_results(self, tmp_path: Path) -> None:
        for arm, tok_s in (("off", 700.0), ("k3", 650.0)):
            at(tmp_path, f"SERVE--{arm}-BENCH--c8/run=0.json", vllm(None, 8, tok_s))
            at(tmp_path, f"SERVE--{arm}-BENCH--c8/warmup.json", vllm(None, 8, 1.0))
        failure = tmp_path / "SERVE--k3-BENCH--c8" / "run=1.failure.json"
        failure.write_text(json.dumps({"run_number": 1, "error": "timed out"}))
        imported = read_results([tmp_path])
        assert sorted(p.output_tok_s for p in imported.points) == [650.0, 700.0]
        assert any("run=1.failure.json: a run that failed" in note for note in imported.notes)

    def test_a_summary_stands_in_for_runs_that_are_gone(self, tmp_path: Path) -> None:
        for arm, tok_s in (("off", 700.0), ("k3", 650.0)):
            at(tmp_path, f"SERVE--{arm}-BENCH--c8/summary.json", vllm(None, 8, tok_s))
            at(tmp_path, f"SERVE--{arm}-BENCH--c8/warmup.json", vllm(None, 8, 1.0))
        assert sorted(p.output_tok_s for p in read_results([tmp_path]).points) == [650.0, 700.0]

    def test_its_table_is_refused_in_favour_of_its_folder(self, tmp_path: Path) -> None:
        path = tmp_path / "summary.csv"
        path.write_text(",date,backend,max_concurrency,output_throughput\n0,20261130-120000,vllm,8,700\n")
        with pytest.raises(ResultFileError, match="give its folder"):
            read_results([path])


def test_sglang_s_own_settings_tell_arm_and_k_as_its_page_will(tmp_path: Path) -> None:
    def line(tok_s: float, **server: Any) -> dict[str, Any]:
        plain = {"backend": "sglang", "max_concurrency": 8, "output_throughput": tok_s, "duration": 30.0, "tag": None}
        return plain | {"completed": 100, "accept_length": None, "server_info": {"version": "0.5.15", **server}}

    drafts = {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 3, "speculative_num_draft_tokens": 4}
    path = saved(tmp_path, line(700.0, speculative_algorithm=None), line(650.0, **drafts, dp_size=2), name="all.jsonl")
    imported = read_results([path])
    assert [p.arm for p in imported.points] == ["off", "k3"]
    assert imported.arm_k == {"off": None, "k3": 3}
    assert [p.engines for p in imported.points] == [1, 2]
    assert imported.versions == ("0.5.15",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"output_throughput": 700.0, "max_conc', ["line 1", "ends in the middle of a record", "cut short"]),
        ('{"output_throughput": 1, "max_concurrency": 8}\n{"outp', ["line 2", "after 1 whole records"]),
        ("INFO 11-30 12:00:00 [api_server.py] Starting\nINFO more\n", ["line 1", "perhaps a log"]),
        ("Serving Benchmark Result\nSuccessful requests: 256\n", ["line 1", "perhaps a log"]),
        ('{"schema": 1, "axis": "clients", "arms": {}}', ["answer of `specwatch crossover`, not the measurements"]),
        ('{"elapsed_time": 3.0, "requests_per_second": 5.0}', ["did not serve generation"]),
        ('{"benchmarks": []}', ["guidellm report holds no benchmark"]),
        ("arm;concurrency;output_tok_s\noff;8;700\n", ["line 1", "separated by ';'; save it with commas"]),
    ],
)
def test_a_wrong_file_gets_one_clear_error(tmp_path: Path, content: str, words: list[str]) -> None:
    path = tmp_path / "file.txt"
    path.write_text(content)
    with pytest.raises(ResultFileError) as caught:
        read_results([path])
    assert str(caught.value).startswith(f"{path}: ")
    for word in words:
        assert word in str(caught.value)


def test_a_name_that_would_steer_a_terminal_is_refused_unless_another_is_given(tmp_path: Path) -> None:
    path = at(tmp_path, "x.json", vllm("k3\x1b[2J", 8, 650.0, **drafting()))
    off = at(tmp_path, "off.json", vllm("off", 8, 700.0))
    with pytest.raises(ResultFileError, match=r"the arm 'k3\\x1b\[2J' holds characters that cannot be printed"):
        read_results([off, path])
    assert arms(off, arms=[("k3", path)]) == ["off", "k3"]
