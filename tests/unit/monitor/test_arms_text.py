"""Latency, best arms and schedules as lines on a terminal: plain, with whom and how much, ready to copy."""

from __future__ import annotations

import json
from dataclasses import replace

from monitor.arms_text import best_sentence, latency_sentence, margin_words, schedule_lines, schedule_title
from monitor.verdict_text import crossover_lines, verdict_sentence
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


def test_a_side_that_never_left_the_noise_is_not_called_worse_or_slower() -> None:
    open_above = replace(latency(Verdict.CROSSES, 12.4, None), crossover=21.7)
    assert latency_sentence("tpot_p50", open_above) == (
        "TPOT p50: crosses at 21.7 [12.4, ...]: better below; reads worse above, a loss not yet beyond the noise"
    )
    open_below = replace(latency(Verdict.CROSSES, None, 30.0), crossover=21.7)
    assert "reads better below, a gain not yet beyond the noise; worse above" in latency_sentence(
        "ttft_p50", open_below
    )
    throughput = replace(CROSSES, crossover=20.8, low=4.0, high=None)
    assert verdict_sentence(throughput, "clients") == (
        "crosses at 20.8 [4.0, ...] clients: faster below; reads slower above, a loss not yet beyond the noise"
    )
    assert verdict_sentence(CROSSES, "clients").endswith(": faster below, slower above")


def test_a_winner_by_its_own_band_is_not_called_fastest_where_no_verdict_is_decided() -> None:
    best = (BestRange(2.0, 5.3, "k3", 35.0, True, ("off",), 30.0, 41.0, 4.0),)
    unclear = replace(CROSSES, verdict=Verdict.UNCLEAR, crossover=None)
    lines = crossover_lines(Crossover("off", Axis.CLIENTS, {"k3": unclear}, best))
    assert (
        "reads fastest from 2 to 5.3 clients: k3, by 35% (30 to 41%) over off (90%, too little for a verdict)" in lines
    )
    assert any(
        line.startswith("fastest from")
        for line in crossover_lines(Crossover("off", Axis.CLIENTS, {"k3": CROSSES}, best))
    )


def test_the_best_arm_comes_with_its_margin_over_whom_and_its_span() -> None:
    best = BestRange(2.0, 8.2, "k3", 40.0, True, ("k5", "k1"), 22.0, 55.0, 4.0)
    assert best_sentence(best, "clients") == "fastest from 2 to 8.2 clients: k3, by 40% (22 to 55%) over k5, then k1"
    assert margin_words(BestRange(2.0, 8.0, "k3", 40.0, True, ("k1",), 38.0, 42.0, 4.0)) == "40%"
    old = BestRange(2.0, 8.0, "k3", 40.0, True)
    assert best_sentence(old, "clients") == "fastest from 2 to 8 clients: k3, by 40%"


def test_a_tie_is_no_win_and_a_full_arm_is_said_to_be_full() -> None:
    tie = BestRange(55.0, 110.0, "k1", 1.0, False, ("k3",), -3.0, 4.0, 5.0, limited_above=96.0)
    said = best_sentence(tie, "concurrent per engine")
    assert said.startswith("from 55 to 110 concurrent per engine: tie with k3: k1 is the simpler;")
    behind = BestRange(55.0, 110.0, "k1", -3.6, False, ("k3",), -5.0, -1.0, 5.0)
    assert best_sentence(behind, "clients").endswith("tie with k3 (reads 4% faster): k1 is the simpler")
    of_three = replace(behind, over=("k3", "k5"))
    assert best_sentence(of_three, "clients").endswith(
        "tie with k3, k5 (the fastest reads 4% faster): k1 is the simplest"
    )
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


def test_what_holds_for_every_schedule_takes_one_line() -> None:
    named = ("schedule_not_measured", "below_measured", "above_measured", "schedule_axis", "schedule_assumes")
    lines = schedule_lines(Schedule(STEPS, None, tuple(Reason(code, f"{code} said.") for code in named)))
    assert lines[3:] == [
        "    schedule_not_measured said.",
        "    below_measured said. above_measured said.",
        "    schedule_axis said. schedule_assumes said.",
    ]


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
