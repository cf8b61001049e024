"""Files that the tools themselves wrote, against servers whose crossover is 16 (see tests/data/imports/README.md)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probes.answer_values import Axis, Verdict
from probes.imports import ResultFileError, answer, read_results
from probes.values import Cell

DATA = Path(__file__).parents[2] / "data" / "imports"
VLLM = [DATA / "vllm" / "off.json", DATA / "vllm" / "k3.json"]


def codes(path: Path, arm: str) -> set[str]:
    return {reason.code for reason in answer(read_results([path])).arms[arm].reasons}


@pytest.mark.parametrize(
    "paths", [VLLM, [DATA / "vllm"], [DATA / "sglang"], [DATA / "guidellm"], [DATA / "aiperf"]], ids=str
)
def test_every_tool_s_files_find_the_crossover(paths: list[Path]) -> None:
    k3 = answer(read_results(paths)).arms["k3"]
    assert k3.verdict is Verdict.CROSSES
    assert k3.low is not None
    assert k3.high is not None
    assert k3.low < 16 < k3.high


class TestVllmBenchServe:
    def test_runs_stand_at_their_mean_in_the_system_not_at_their_clients(self) -> None:
        imported = read_results(VLLM)
        assert imported.axis is Axis.CONCURRENCY_PER_ENGINE
        held = [(p.arm, round(p.concurrency, 1)) for p in imported.points]
        assert held == [("off", 4.0), ("off", 16.0), ("off", 47.9), ("k3", 3.8), ("k3", 15.6), ("k3", 47.2)]

    def test_counters_say_what_was_drafted_and_latency_is_kept(self) -> None:
        k3 = [cell for cell in read_results(VLLM).cells if cell.arm == "k3"][-1]
        assert k3.acceptance_length == pytest.approx(2.6308, abs=1e-4)
        assert k3.accepted_per_pos == pytest.approx((0.7239, 0.5216, 0.3854), abs=1e-4)
        assert k3.requests == 288
        assert k3.tpot.p50_ms == pytest.approx(72.9, abs=0.1)
        assert k3.ttft.p99_ms == pytest.approx(693.8, abs=0.1)

    def test_latency_has_its_own_crossover_beside_that_of_throughput(self) -> None:
        latency = answer(read_results(VLLM)).latency
        assert set(latency) == {"tpot_p50", "tpot_p99", "ttft_p50", "ttft_p99"}
        assert latency["tpot_p50"]["k3"].verdict is Verdict.CROSSES

    def test_chunk_latency_which_would_read_twice_as_slow_is_not_taken_for_token_latency(self) -> None:
        record = json.loads(VLLM[1].read_text().splitlines()[-1])
        assert record["median_itl_ms"] > 2 * record["median_tpot_ms"]
        cells = [cell for cell in read_results(VLLM).cells if cell.arm == "k3"]
        assert cells[-1].tpot.p50_ms == record["median_tpot_ms"]

    def test_runs_paced_by_a_rate_stand_where_little_s_law_puts_them(self) -> None:
        imported = read_results([DATA / "vllm" / "rate-off.json", DATA / "vllm" / "rate-k3.json"])
        assert [(p.arm, round(p.concurrency, 2)) for p in imported.points] == [("off", 7.2), ("k3", 4.65)]

    def test_short_runs_are_named(self) -> None:
        reasons = answer(read_results(VLLM)).arms["k3"].reasons
        assert "1 of 3 runs of k3 lasted less than 10 s; short runs flip verdicts." in [r.text for r in reasons]

    def test_a_schedule_comes_with_the_draft_length_that_the_counters_show(self) -> None:
        imported = read_results(VLLM)
        assert imported.arm_k == {"off": None, "k3": 3}
        schedule = answer(imported).schedule
        assert schedule is not None
        assert [step.k for step in schedule.steps] == [3, 0]
        assert schedule.measured_as is None


class TestVllmSweepFolder:
    def test_arms_are_the_servers_and_runs_are_repeats(self) -> None:
        imported = read_results([DATA / "vllm-sweep"])
        assert [(p.arm, round(p.concurrency), p.repeat) for p in imported.points] == [
            ("k3", 4, 0), ("k3", 4, 1), ("k3", 31, 0), ("k3", 31, 1),
            ("off", 4, 0), ("off", 4, 1), ("off", 32, 0), ("off", 32, 1),
        ]  # fmt: skip
        assert not any("more than one file" in note for note in imported.notes)

    def test_a_summary_named_beside_its_runs_counts_them_once(self) -> None:
        folder = DATA / "vllm-sweep" / "SERVE--k3-BENCH--c4"
        files = [folder / "run=0.json", folder / "run=1.json", folder / "summary.json"]
        imported = read_results([*files, DATA / "vllm" / "off.json"])
        assert len([p for p in imported.points if p.arm == "k3"]) == 2
        assert any("2 runs are in more than one file" in note for note in imported.notes)

    def test_one_folder_of_a_sweep_names_its_arm_too(self) -> None:
        folders = [DATA / "vllm-sweep" / f"SERVE--{arm}-BENCH--c{c}" for arm in ("off", "k3") for c in (4, 32)]
        assert {p.arm for p in read_results(folders).points} == {"off", "k3"}


class TestSglang:
    FILE = DATA / "sglang" / "pair.jsonl"

    def test_lines_of_both_arms_are_told_apart_by_the_server_they_measured(self) -> None:
        imported = read_results([self.FILE])
        assert [(p.arm, round(p.concurrency)) for p in imported.points] == [
            ("off", 4), ("k3", 4), ("off", 16), ("k3", 15), ("off", 48), ("k3", 47),
        ]  # fmt: skip
        assert imported.versions == ("0.5.15",)
        assert not imported.engines_assumed

    def test_its_k_leaves_out_the_token_that_is_verified_and_not_drafted(self) -> None:
        imported = read_results([self.FILE])
        assert imported.arm_k == {"off": None, "k3": 3}
        schedule = answer(imported).schedule
        assert schedule is not None
        assert [step.k for step in schedule.steps] == [3, 0]

    def test_its_inter_token_latency_which_halves_tpot_is_not_taken(self) -> None:
        record = json.loads(self.FILE.read_text().splitlines()[-1])
        k3 = [cell for cell in read_results([self.FILE]).cells if cell.arm == "k3"][-1]
        assert record["mean_itl_ms"] < 0.6 * record["median_tpot_ms"]
        assert k3.tpot.p50_ms == record["median_tpot_ms"]


class TestGuidellm:
    def test_each_run_is_a_rung_of_the_labelled_arm(self) -> None:
        imported = read_results([DATA / "guidellm"])
        assert [(p.arm, round(p.concurrency)) for p in imported.points] == [
            ("k3", 4), ("k3", 16), ("k3", 48), ("off", 4), ("off", 16), ("off", 47),
        ]  # fmt: skip

    def test_tokens_of_requests_cut_off_at_the_end_are_estimated_not_counted_in_chunks(self) -> None:
        report = json.loads((DATA / "guidellm" / "k3.json").read_text())
        last = report["benchmarks"][-1]["metrics"]
        finished, load = last["output_tokens_per_second"], last["request_concurrency"]
        taken = max(p.output_tok_s for p in read_results([DATA / "guidellm"]).points if p.arm == "k3")
        share = load["successful"]["mean"] / load["total"]["mean"]
        assert share < 0.9
        assert taken == pytest.approx(finished["successful"]["mean"] / share)
        assert "cut_off" in codes(DATA / "guidellm", "k3")

    def test_a_report_of_an_older_release_is_read_too(self, tmp_path: Path) -> None:
        for arm in ("off", "k3"):
            report = json.loads((DATA / "guidellm" / f"{arm}.json").read_text())
            benchmarks = [{**b, "args": b["config"], "config": None} for b in report["benchmarks"]]
            (tmp_path / f"{arm}.json").write_text(json.dumps({"benchmarks": benchmarks}))
        assert read_results([tmp_path]).cells[0].rung == 4

    def test_time_per_token_is_the_one_that_leaves_the_first_token_out(self) -> None:
        report = json.loads((DATA / "guidellm" / "off.json").read_text())
        finished = report["benchmarks"][0]["metrics"]["inter_token_latency_ms"]["successful"]
        off = next(c for c in read_results([DATA / "guidellm"]).cells if c.arm == "off" and c.rung == 4)
        assert (off.tpot.p50_ms, off.tpot.p99_ms) == (finished["median"], finished["percentiles"]["p99"])

    def test_it_is_said_that_the_files_prove_no_drafting_and_that_prompts_were_made_up(self) -> None:
        assert {"drafting_not_shown", "made_up_prompts"} <= codes(DATA / "guidellm", "k3")


class TestAiperf:
    def test_folders_name_the_arms_and_files_beside_the_summary_are_passed_over(self) -> None:
        imported = read_results([DATA / "aiperf"])
        assert [(p.arm, round(p.concurrency)) for p in imported.points] == [
            ("k3", 4),
            ("k3", 47),
            ("off", 4),
            ("off", 47),
        ]
        assert imported.models == ("sim-8b",)

    def test_token_latency_is_per_token_and_not_per_chunk(self) -> None:
        summary = json.loads((DATA / "aiperf" / "k3-c4" / "profile_export_aiperf.json").read_text())
        k3 = next(cell for cell in read_results([DATA / "aiperf"]).cells if cell.arm == "k3" and cell.rung == 4)
        assert k3.tpot.p50_ms == summary["inter_token_latency"]["p50"]
        assert summary["inter_chunk_latency"]["p50"] > 2 * summary["inter_token_latency"]["p50"]

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("profile_export.jsonl", "give the summary that aiperf wrote beside them"),
            ("profile_export_aiperf.csv", "give profile_export_aiperf.json, which lies beside it"),
            ("inputs.json", "no benchmark result"),
        ],
    )
    def test_another_file_of_the_run_is_refused(self, name: str, words: str) -> None:
        with pytest.raises(ResultFileError, match=words):
            read_results([DATA / "aiperf" / "k3-c4" / name])


def test_cells_of_a_tool_say_where_they_come_from() -> None:
    cell: Cell = read_results(VLLM).cells[0]
    assert [note.text for note in cell.notes] == ["vllm bench serve, 4 clients: off.json, record 1"]
    assert cell.server_tok_s is None
    assert cell.client_tok_s == cell.output_tok_s
