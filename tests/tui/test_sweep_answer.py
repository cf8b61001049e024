"""The rows above a sweep's chart: best arms by load, latency of the compared arm, the schedule and its mark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.tui.draw.sweep_answer import answer, best_text
from monitor.tui.lines import as_text
from probes.answer_values import Axis, BandPoint, BestRange, Schedule, ScheduleStep, Verdict
from probes.values import Reason
from tests.support.scene_sweeps import measured_sweep, result

STEPS = (ScheduleStep(1, 54, 5, "k5"), ScheduleStep(55, 196, 1, "k1"), ScheduleStep(197, 246, 0, "off"))


def rows(schedule: Schedule | None, width: int = 80, arms: int = 1) -> list[str]:
    found = result()
    k3 = replace(found.arms["k3"], reasons=(Reason("tie_at_top", "Back inside the noise at the top. " * 9),))
    names = [f"k{i}" for i in range(3, 3 + arms)]
    found = replace(found, schedule=schedule, arms={name: replace(k3, arm=name) for name in names})
    return as_text(answer(replace(measured_sweep(), result=found), width)).split("\n")


def test_a_sweep_without_an_answer_takes_no_rows() -> None:
    assert answer(replace(measured_sweep(), result=None), 80) == []


def test_ranges_of_one_arm_are_one_and_ties_are_told_from_leads() -> None:
    ranges = (
        BestRange(1.0, 11.0, "k3", 0.1, False, ("k5",)),
        BestRange(11.0, 55.0, "k3", 9.0, True, ("k5",)),
        BestRange(55.0, 246.0, "off", -1.2, False, ("k1",)),
    )
    assert best_text(ranges) == "best: k3 to 55 (tie, then +9%) · off to 246 (tie)"


def test_latency_of_the_compared_arm_is_beside_its_verdict() -> None:
    text = " ".join(rows(None))
    assert "k3 TPOT p50 better up to 25 [21–30]; TTFT p99 nowhere better, worse from 8" in text


def test_a_latency_that_is_better_as_far_as_compared_is_not_called_always_better() -> None:
    found = result()
    tpot = replace(found.arms["k3"], verdict=Verdict.ALWAYS_FASTER, crossover=None, low=29.1, high=None)
    sweep = replace(measured_sweep(), result=replace(found, latency={"tpot_p50": {"k3": tpot}}))
    assert "k3 TPOT p50 better up to 29, where the comparison ends" in as_text(answer(sweep, 80))


def test_results_by_clients_say_so() -> None:
    sweep = measured_sweep()
    by_clients = replace(sweep, result=replace(result(), axis=Axis.CLIENTS))
    assert "] clients" in as_text(answer(by_clients, 200))
    assert "per engine" not in as_text(answer(by_clients, 200))


@pytest.mark.parametrize(
    ("low", "words"),
    [
        (40.0, "faster up to 40 requests per engine, inside the noise from there to 64, the top"),
        (64.0, "always faster up to 64, the highest measured"),
    ],
)
def test_an_arm_whose_gain_ends_in_the_noise_is_not_called_always_faster(low: float, words: str) -> None:
    band = (BandPoint(1.0, 1.5, 1.4, 1.6), BandPoint(64.0, 1.03, 0.98, 1.08))
    k3 = replace(result().arms["k3"], verdict=Verdict.ALWAYS_FASTER, crossover=None, low=low, high=None, speedup=band)
    text = as_text(answer(replace(measured_sweep(), result=replace(result(), arms={"k3": k3})), 200))
    assert f"k3: {words}" in text


def test_reasons_in_one_sentence_keep_no_full_stops() -> None:
    k3 = replace(result().arms["k3"], reasons=(Reason("a", "One thing."), Reason("b", "Another.")))
    text = as_text(answer(replace(measured_sweep(), result=replace(result(), arms={"k3": k3})), 200))
    assert "(One thing; Another)" in text


def test_a_schedule_is_never_shown_without_whether_it_was_measured() -> None:
    assert any("schedule, NOT MEASURED: [[1,54,5],[55,196,1],[197,246,0]]" in row for row in rows(Schedule(STEPS)))
    lost = Schedule(STEPS, "dsd", (Reason("schedule_lost", "dsd loses."),))
    assert "schedule, measured as dsd, AND IT LOSES: [[1,54,5]" in " ".join(rows(lost))
    assert not any("schedule" in row for row in rows(None))


def test_it_stays_within_a_third_of_a_small_terminal_with_many_arms() -> None:
    shown = rows(Schedule(STEPS), arms=4)
    assert len(shown) <= 8
    assert all(len(row) <= 80 for row in shown)
    assert sum(row.strip().startswith("k") and "pays below" in row for row in shown) == 4
