"""Latency, best arms and schedules as lines on a terminal: plain, with whom and how much, ready to copy."""

from __future__ import annotations

import json
from dataclasses import replace

from monitor.arms_text import best_sentence, latency_sentence, margin_words, schedule_lines, schedule_title
from monitor.verdict_text import crossover_lines
from probes.answer_values import (
    ArmVerdict,
    Axis,
    BandPoint,
    BestRange,
    Capacity,
    Crossover,
    Schedule,
    ScheduleStep,
    Verdict,
)
from probes.values import Reason

STEPS = (ScheduleStep(1, 54, 3, "k3"), ScheduleStep(55, 246, 0, "off"))
CROSSES = ArmVerdict("k3", Verdict.CROSSES, 240.0, 210.0, 280.0, (), None, ())


def latency(verdict: Verdict, low: float | None, high: float | None, *codes: str) -> ArmVerdict:
    value = 30.0 if verdict is Verdict.CROSSES else None
    return ArmVerdict("k3", verdict, value, low, high, (), None, tuple(Reason(code, "Why.") for code in codes))


def test_latency_says_up_to_where_it_pays_and_how_that_lies_to_throughput() -> None:
    crosses = latency(Verdict.CROSSES, 25.0, 36.0, "crosses", "pays_beyond_throughput")
    assert latency_sentence("tpot_p50", crosses) == (
        "TPOT p50: better up to 30.0 [25.0, 36.0], worse above, beyond the throughput crossover"
    )
    never = latency(Verdict.NEVER_FASTER, None, 8.0, "never_faster", "pays_less_than_throughput")
    assert latency_sentence("ttft_p99", never) == (
        "TTFT p99: not better anywhere; worse from 8.0 on, short of the throughput crossover"
    )
    from_eight = replace(never, speedup=(BandPoint(8.0, 0.9, 0.85, 0.95), BandPoint(64.0, 0.7, 0.6, 0.8)))
    assert "not better anywhere from 8.0 up, the range compared; worse" in latency_sentence("ttft_p99", from_eight)
    assert "better up to 64.0" in latency_sentence("tpot_p99", latency(Verdict.ALWAYS_FASTER, 64.0, None))
    assert latency_sentence("ttft_p50", latency(Verdict.UNCLEAR, None, None, "near_tie")).endswith("beyond the noise")
    assert latency_sentence("ttft_p50", latency(Verdict.UNCLEAR, None, None, "dips")).endswith("unclear. Why.")


def test_the_best_arm_comes_with_its_margin_over_whom_and_its_span() -> None:
    best = BestRange(2.0, 8.2, "k3", 40.0, True, ("k5", "k1"), 22.0, 55.0, 4.0)
    assert best_sentence(best, "clients") == "fastest from 2 to 8.2 clients: k3, by 40% (22 to 55%) over k5, then k1"
    assert margin_words(BestRange(2.0, 8.0, "k3", 40.0, True, ("k1",), 38.0, 42.0, 4.0)) == "40%"
    old = BestRange(2.0, 8.0, "k3", 40.0, True)
    assert best_sentence(old, "clients") == "fastest from 2 to 8 clients: k3, by 40%"


def test_a_tie_is_no_win_and_a_full_arm_is_said_to_be_full() -> None:
    tie = BestRange(55.0, 110.0, "k1", 1.0, False, ("k3",), -3.0, 4.0, 5.0, limited_above=96.0)
    said = best_sentence(tie, "concurrent per engine")
    assert said.startswith("no clear winner from 55 to 110 concurrent per engine: k1 is the simplest")
    assert "(k3)" in said
    behind = BestRange(55.0, 110.0, "k1", -3.6, False, ("k3",), -5.0, -1.0, 5.0)
    assert best_sentence(behind, "clients").endswith("within the noise (k3; reads 4% faster)")
    assert said.endswith("above 96 its admission is full")


def test_a_schedule_is_copied_as_it_stands_and_marked() -> None:
    lines = schedule_lines(Schedule(STEPS, None, (Reason("schedule_axis", "Sizes are running requests."),)))
    assert "NOT MEASURED" in lines[0]
    vllm = json.loads("{" + lines[1].split(": ", 1)[1] + "}")
    assert vllm == {
        "num_speculative_tokens": 3,
        "num_speculative_tokens_per_batch_size": [[1, 54, 3], [55, 246, 0]],
    }
    sglang = json.loads(lines[2].split(": ", 1)[1])
    assert sglang == {"1": {"candidate_steps": [3]}, "55": {"candidate_steps": [0]}}
    assert lines[3].strip() == "Sizes are running requests."


def test_a_schedule_that_lost_says_so_first() -> None:
    lost = Schedule(STEPS, "dsd", (Reason("schedule_lost", "dsd loses."),))
    assert "IT LOSES, do not use it" in schedule_title(lost)
    assert "LOSES" not in schedule_title(Schedule(STEPS, "dsd"))


def test_the_whole_answer_is_in_order_verdict_first() -> None:
    reasons = (Reason("crosses", "Said twice."), Reason("tie_at_top", "Back in the noise."))
    arm = ArmVerdict("k3", Verdict.CROSSES, 24.0, 20.0, 29.0, (), Capacity(96.0, 4000.0, "kv"), reasons)
    lines = crossover_lines(
        Crossover(
            "off",
            Axis.CONCURRENCY_PER_ENGINE,
            {"k3": arm},
            (BestRange(1.0, 24.0, "k3", 20.0, True, ("off",), 2.0, 45.0, 4.0),),
            latency={"tpot_p50": {"k3": CROSSES}},
            schedule=Schedule(STEPS),
            baseline_capacity=Capacity(128.0, 5000.0, "kv"),
            notes=(Reason("no_schedule_dp", "No schedule: two engines."),),
        )
    )
    text = "\n".join(lines)
    assert lines[0].startswith("k3 against off: crosses at 24.0 [20.0, 29.0]")
    assert "Said twice." not in text
    in_order = ["Back in the noise.", "TPOT p50", "96.0 running", "off, the baseline: capacity: 128 running"]
    in_order += ["fastest from 1 to 24", "NOT MEASURED", "No schedule: two engines."]
    places = [text.index(words) for words in in_order]
    assert places == sorted(places)
