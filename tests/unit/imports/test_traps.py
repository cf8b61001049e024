"""What makes results from elsewhere mislead, and what is said or refused because of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probes.answer_values import Axis, Verdict
from probes.imports import Imported, ResultFileError, answer, read_results
from tests.unit.imports.records import drafting, saved, vllm

OFF = [vllm("off", c, tok_s) for c, tok_s in ((1, 100.0), (8, 700.0), (32, 1500.0), (64, 1800.0))]


def runs(arm: str, **more: Any) -> list[dict[str, Any]]:
    return [vllm(arm, c, tok_s, **more) for c, tok_s in ((1, 180.0), (8, 900.0), (32, 1450.0), (64, 1500.0))]


def read(folder: Path, *records: dict[str, Any], **options: Any) -> Imported:
    return read_results([saved(folder, *records)], **options)


def said(imported: Imported, arm: str = "k3") -> dict[str, str]:
    return {reason.code: reason.text for reason in answer(imported).arms[arm].reasons}


class TestNothingDrafted:
    def test_an_arm_whose_runs_drafted_nothing_beside_one_that_did_is_no_arm(self, tmp_path: Path) -> None:
        imported = read(tmp_path, *OFF, *runs("k3"), *runs("k5", **drafting(5.0)))
        verdict = answer(imported).arms["k3"]
        assert verdict.verdict is Verdict.INSUFFICIENT
        assert [reason.code for reason in verdict.reasons] == ["nothing_drafted"]
        assert "another measurement without speculation" in verdict.reasons[0].text
        assert answer(imported).arms["k5"].verdict is Verdict.CROSSES

    def test_counters_at_zero_say_so_without_any_other_arm(self, tmp_path: Path) -> None:
        zero = {"spec_decode_num_drafts": 0, "spec_decode_draft_tokens": 0, "spec_decode_accepted_tokens": 0}
        imported = read(tmp_path, *OFF, *runs("k3", **zero))
        assert answer(imported).arms["k3"].verdict is Verdict.INSUFFICIENT

    def test_where_no_file_shows_any_draft_the_verdict_stands_with_the_doubt(self, tmp_path: Path) -> None:
        imported = read(tmp_path, *OFF, *runs("k3"))
        assert answer(imported).arms["k3"].verdict is Verdict.CROSSES
        assert "No file shows that k3 drafted anything" in said(imported)["drafting_not_shown"]

    def test_single_runs_that_drafted_nothing_are_left_out_of_their_arm(self, tmp_path: Path) -> None:
        silent = vllm("k3", 64, 1790.0)
        imported = read(tmp_path, *OFF, *runs("k3", **drafting())[:3], silent)
        assert [p.concurrency for p in imported.points if p.arm == "k3"] == [1, 8, 32]
        assert "1 of 4 runs of k3 drafted nothing" in said(imported)["nothing_drafted"]

    def test_a_baseline_that_drafted_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ResultFileError, match=r"record 1: off is the baseline, but its server drafted 3\.0"):
            read(tmp_path, vllm("off", 8, 700.0, **drafting()), *runs("k3", **drafting()))

    def test_one_that_was_asked_for_by_name_is_compared_with_and_named(self, tmp_path: Path) -> None:
        imported = read(tmp_path, *runs("k1", **drafting(1.0)), *runs("k3", **drafting()), baseline="k1")
        assert "may not have been off" in said(imported)["baseline_drafted"]
        assert imported.arm_k == {"k1": 1, "k3": 3}

    def test_a_draft_length_other_than_the_name_s_is_named(self, tmp_path: Path) -> None:
        imported = read(tmp_path, *OFF, *runs("k3", **drafting(5.0)))
        assert "k3 drafted 5.0 tokens per step, not 3" in said(imported)["other_k"]
        assert imported.arm_k == {"off": None, "k3": 5}

    def test_an_arm_that_is_proved_gets_no_word_about_it(self, tmp_path: Path) -> None:
        assert not {"drafting_not_shown", "nothing_drafted", "other_k"} & set(
            said(read(tmp_path, *OFF, *runs("k3", **drafting())))
        )

    @pytest.mark.parametrize("rate", [72.0, 0.72])
    def test_an_acceptance_rate_alone_proves_drafting_in_percent_or_as_a_ratio(
        self, tmp_path: Path, rate: float
    ) -> None:
        imported = read(tmp_path, *OFF, *runs("k3", spec_decode_acceptance_rate=rate))
        assert "drafting_not_shown" not in said(imported)
        assert answer(imported).acceptance == {}


class TestFailures:
    def test_a_few_are_noted_and_a_run_with_many_is_left_out(self, tmp_path: Path) -> None:
        few, many = vllm("off", 8, 700.0, failed=3), vllm("off", 32, 900.0, failed=60)
        imported = read(tmp_path, few, many, vllm("off", 64, 1500.0), *runs("k3", **drafting()))
        assert [p.concurrency for p in imported.points if p.arm == "off"] == [8, 64]
        assert any("3 requests failed" in note for note in imported.notes)
        assert any("record 2: left out: 60 of 316 requests failed" in note for note in imported.notes)

    def test_where_every_run_failed_there_is_nothing_to_say(self, tmp_path: Path) -> None:
        with pytest.raises(ResultFileError, match="too many requests failed in every run"):
            read(tmp_path, vllm("off", 8, 700.0, failed=200), vllm("k3", 8, 700.0, failed=200))


class TestConcurrency:
    def closed(self, arm: str, clients: int, held: float, tok_s: float, **more: Any) -> dict[str, Any]:
        return vllm(arm, clients, tok_s, duration=20.0, completed=400, latencies=[10 * held, 10 * held], **more)

    def test_latencies_place_a_run_by_little_s_law(self, tmp_path: Path) -> None:
        imported = read(tmp_path, self.closed("off", 8, 7.6, 700.0), self.closed("k3", 8, 7.2, 650.0))
        assert imported.axis is Axis.CONCURRENCY_PER_ENGINE
        assert [p.concurrency for p in imported.points] == pytest.approx([7.6, 7.2])

    def test_the_mean_latency_does_where_single_ones_are_not_saved(self, tmp_path: Path) -> None:
        imported = read(
            tmp_path,
            vllm("off", 8, 700.0, duration=10.0, completed=40, mean_e2el_ms=1900.0),
            vllm("k3", 8, 650.0, duration=10.0, completed=40, mean_e2el_ms=1800.0),
        )
        assert [p.concurrency for p in imported.points] == pytest.approx([7.6, 7.2])

    def test_more_in_the_system_than_clients_is_no_measurement(self, tmp_path: Path) -> None:
        imported = read(tmp_path, self.closed("off", 8, 12.0, 700.0), self.closed("k3", 8, 7.2, 650.0))
        assert imported.axis is Axis.CLIENTS
        assert any("more than its 8 clients can send" in note for note in imported.notes)

    def test_a_run_that_was_mostly_ramp_and_drain_is_named(self, tmp_path: Path) -> None:
        imported = read(
            tmp_path, self.closed("off", 64, 63.0, 1800.0), self.closed("k3", 64, 30.0, 1500.0, **drafting())
        )
        assert "64 clients held only 30 requests in the mean" in said(imported)["underfilled"]

    def test_a_run_of_one_wave_is_named(self, tmp_path: Path) -> None:
        wave = vllm("k3", 64, 1500.0, completed=64, **drafting())
        assert (
            "sent fewer than 2 requests a client"
            in said(read(tmp_path, *OFF, *runs("k3", **drafting()), wave))["one_wave"]
        )

    def test_engines_share_the_load_and_the_tokens(self, tmp_path: Path) -> None:
        records = [self.closed("off", 8, 8.0, 700.0), self.closed("k3", 8, 6.0, 650.0)]
        assert any("one is assumed" in note for note in read(tmp_path, *records).notes)
        imported = read(tmp_path, *records, engines=2)
        assert [(p.concurrency, p.engines) for p in imported.points] == [(4.0, 2), (3.0, 2)]
        assert not any("one is assumed" in note for note in imported.notes)

    def test_engines_that_a_sweep_s_record_tells_need_no_option_and_bear_no_other(self, tmp_path: Path) -> None:
        records = [self.closed(arm, 8, 8.0, 700.0, **{"data-parallel-size": 4}) for arm in ("off", "k3")]
        assert [p.concurrency for p in read(tmp_path, *records).points] == [2.0, 2.0]
        with pytest.raises(ResultFileError, match="it says 4 engines, and --engines says 2"):
            read(tmp_path, *records, engines=2)


class TestRequestRate:
    def paced(self, arm: str, rate: float, **more: Any) -> dict[str, Any]:
        plain = {"request_rate": rate, "duration": 100.0, "completed": round(100 * rate), "mean_e2el_ms": 2000.0}
        return vllm(arm, None, 500.0, **plain | more)

    def test_a_server_that_kept_up_has_a_concurrency(self, tmp_path: Path) -> None:
        imported = read(tmp_path, self.paced("off", 2.0), self.paced("off", 4.0), self.paced("k3", 2.0))
        assert [p.concurrency for p in imported.points] == pytest.approx([4.0, 8.0, 4.0])
        assert [p.repeat for p in imported.points] == [0, 0, 0]
        assert imported.cells[1].rung == 8
        assert "4 requests/s" in imported.cells[1].notes[0].text

    def test_one_that_did_not_is_left_out(self, tmp_path: Path) -> None:
        drowned = self.paced("off", 8.0, completed=400)
        imported = read(tmp_path, self.paced("off", 2.0), drowned, self.paced("k3", 2.0))
        assert len(imported.points) == 2
        assert any("sent 8 requests/s and finished 4/s, so its queue was growing or" in note for note in imported.notes)

    def test_where_none_did_the_error_gives_a_few_reasons(self, tmp_path: Path) -> None:
        drowned = [self.paced(arm, 8.0 + n, completed=400) for arm in ("off", "k3") for n in range(4)]
        with pytest.raises(ResultFileError) as caught:
            read(tmp_path, *drowned)
        assert str(caught.value).count("left out") == 3
        assert str(caught.value).endswith("; and 5 more.")

    def test_ttft_and_tpot_stand_in_for_the_latency_and_that_is_said(self, tmp_path: Path) -> None:
        parts = {"mean_e2el_ms": None, "mean_ttft_ms": 100.0, "mean_tpot_ms": 10.0, "total_output_tokens": 200 * 101}
        imported = read(tmp_path, self.paced("off", 2.0, **parts), self.paced("k3", 2.0))
        assert imported.points[0].concurrency == pytest.approx(2.0 * 1.1)
        assert any("from mean TTFT and TPOT" in note for note in imported.notes)

    def test_a_rate_without_any_latency_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ResultFileError, match="holds no request latency, so its concurrency is not known"):
            read(tmp_path, self.paced("off", 2.0, mean_e2el_ms=None), self.paced("k3", 2.0))

    def test_a_limit_beside_a_rate_is_no_concurrency(self, tmp_path: Path) -> None:
        imported = read(tmp_path, self.paced("off", 2.0, max_concurrency=64), self.paced("k3", 2.0))
        assert imported.points[0].concurrency == pytest.approx(4.0)

    def test_a_rate_in_quotes_as_a_sweep_may_write_it_is_one(self, tmp_path: Path) -> None:
        imported = read(tmp_path, self.paced("off", 2.0) | {"request_rate": "2"}, self.paced("k3", 2.0))
        assert imported.points[0].concurrency == pytest.approx(4.0)

    def test_it_shares_no_axis_with_runs_that_know_only_their_clients(self, tmp_path: Path) -> None:
        with pytest.raises(ResultFileError, match="share no axis"):
            read(tmp_path, self.paced("off", 2.0), vllm("k3", 8, 650.0))


class TestComparability:
    def test_other_lengths_are_named(self, tmp_path: Path) -> None:
        long, short = ({"total_output_tokens": 256 * n} for n in (256, 64))
        imported = read(tmp_path, *[r | long for r in OFF], *runs("k3", **drafting(), **short))
        assert "k3 was measured with 64 output tokens in the mean and off with 256" in said(imported)["other_lengths"]

    def test_other_models_are_named(self, tmp_path: Path) -> None:
        imported = read(tmp_path, *OFF, *runs("k3", model_id="meta-llama/Llama-3.1-70B-Instruct"))
        assert any("more than one model" in note for note in imported.notes)
        found = answer(imported)
        assert found.schedule is None
        assert "compares models, not speculation" in {note.code: note.text for note in found.notes}["several_models"]

    def test_random_prompts_are_named(self, tmp_path: Path) -> None:
        imported = read(tmp_path, *OFF, *runs("k3", dataset_name="random-ids", accept_length=2.4))
        assert "made-up prompts" in said(imported)["made_up_prompts"]


def test_silence_about_drafts_is_not_taken_for_speculation_off_in_the_step_time_model(tmp_path: Path) -> None:
    def records(arm: str) -> list[dict[str, Any]]:
        text = (Path(__file__).parents[2] / "data" / "imports" / "vllm" / f"{arm}.json").read_text()
        return [{**json.loads(line), "arm": arm} for line in text.splitlines()]

    pair = [*records("off"), *records("k3")]
    silent = [
        record | {"arm": "eagle", "accept_length": 2.6, "concurrency": record["max_concurrency"]}
        for record in records("off")
    ]
    assert answer(read(tmp_path, *pair)).step_model is not None
    assert answer(read(tmp_path, *pair, *silent)).step_model is None
