"""The schedule that the best arms imply: its form, what it does not cover, when there is none, and what measured it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from probes.answer_values import Axis, Crossover, Verdict
from probes.crossover import cells_to_points, completed, estimate, from_json, to_json
from probes.crossover.cells import draft_length
from probes.crossover.with_schedule import with_schedule, with_schedule_by_name
from probes.values import Cell, Reason
from tests.support.measured_sweeps import h200_points
from tests.support.sweep_cells import CLEAN

LADDER = (1, 2, 4, 8, 16, 32, 64, 128)
ARM_K: dict[str, int | None] = {"off": None, "k1": 1, "k3": 3, "k5": 5}


def cells(name: str, speedups: tuple[float, ...], k: tuple[float | None, ...] | None = None) -> list[Cell]:
    """One arm's cells; `k` is what its counters show by rung, None per cell where they show nothing."""
    length = ARM_K.get(name)
    shown = k or ((None if length is None else float(length)),) * len(LADDER)
    return [
        replace(
            CLEAN,
            arm=name,
            rung=x,
            repeat=repeat,
            concurrency=float(x),
            output_tok_s=200 * x / (1 + x / 60) * speedup * (1 + 0.004 * (repeat - 1)),
            engine_count=1,
            drafts=None if steps is None else 100.0 * (steps > 0),
            draft_tokens=None if steps is None else 100.0 * steps,
            accepted_tokens=None if steps is None else 50.0 * steps,
            client_tokens=None,
            server_tokens=None,
        )
        for x, speedup, steps in zip(LADDER, speedups, shown, strict=True)
        for repeat in range(3)
    ]


OFF = cells("off", (1.0,) * 8)
K1 = cells("k1", (1.2, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 0.85))
K5 = cells("k5", (1.6, 1.6, 1.6, 1.5, 1.1, 0.9, 0.7, 0.6))

NGRAM = [replace(cell, arm="ngram") for cell in cells("k1", (1.6,) * 4 + (0.6,) * 4)]


def answer(
    measured: list[Cell], arm_k: dict[str, int | None] | None = None, dynamic: tuple[str, ...] = ()
) -> Crossover:
    found = estimate(cells_to_points(measured), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    return completed(found, measured, ARM_K if arm_k is None else arm_k, dynamic)


def document(found: Crossover) -> dict[str, Any]:
    schedule = to_json(found)["schedule"]
    assert isinstance(schedule, dict)
    return schedule


def codes(found: Crossover) -> list[str]:
    return [reason.code for reason in (found.schedule.reasons if found.schedule else found.notes)]


def test_best_arms_become_rows_that_vllm_takes() -> None:
    rows = document(answer([*OFF, *K1, *K5]))["value"]
    assert [k for _, _, k in rows] == [5, 1, 0]
    assert rows[0][0] == 1
    assert rows[-1][1] == 128
    assert all(after[0] == row[1] + 1 for row, after in pairwise(rows)), "no gap and no overlap"
    assert 9 <= rows[0][1] <= 16
    assert 64 <= rows[1][1] < 100


def test_the_same_steps_for_sglang_and_the_longest_draft_to_start_with() -> None:
    schedule = document(answer([*OFF, *K1, *K5]))
    second = str(schedule["value"][1][0])
    assert schedule["sglang"]["1"] == {"candidate_steps": [5]}
    assert schedule["sglang"][second] == {"candidate_steps": [1]}
    assert schedule["num_speculative_tokens"] == 5


def test_it_is_a_hypothesis_until_an_arm_ran_it() -> None:
    found = answer([*OFF, *K1, *K5])
    assert (document(found)["measured"], document(found)["measured_as"]) == (False, None)
    assert {"schedule_not_measured", "k0_is_not_off", "schedule_axis"} <= set(codes(found))


def test_it_says_what_it_covers_without_a_measurement() -> None:
    found = answer([cell for cell in (*OFF, *K1, *K5) if cell.rung >= 4])
    assert document(found)["value"][0][0] == 1, "vLLM wants every size from 1"
    assert found.schedule is not None
    texts = {reason.code: reason.text for reason in found.schedule.reasons}
    assert "Below 4" in texts["below_measured"]
    assert "Above 128" in texts["above_measured"]
    assert "below_measured" not in codes(answer([*OFF, *K1, *K5]))


@pytest.mark.parametrize(
    ("measured", "arm_k", "code"),
    [
        ([replace(c, engine_count=2) for c in (*OFF, *K1, *K5)], None, "no_schedule_dp"),
        ([replace(c, engine_count=None) for c in (*OFF, *K1, *K5)], None, "no_schedule_engines"),
        ([*OFF, *cells("k5", (1.6,) * 8)], None, "no_schedule_one_k"),
        ([*OFF, *cells("k5", (0.6,) * 8)], None, "no_schedule_one_k"),
        ([*OFF, *cells("eagle", (1.6,) * 4 + (0.6,) * 4)], {"off": None}, "no_schedule_k_unknown"),
        ([*OFF, *K1, *NGRAM], {**ARM_K, "ngram": 1}, "no_schedule_same_k"),
    ],
)  # fmt: skip
def test_there_is_none_and_the_answer_says_why(
    measured: list[Cell], arm_k: dict[str, int | None] | None, code: str
) -> None:
    found = answer(measured, arm_k)
    assert found.schedule is None
    assert code in codes(found)
    assert to_json(found)["schedule"] is None


def test_a_baseline_that_nothing_surely_beats_is_not_called_best() -> None:
    """K=5 reads 4% faster everywhere, inside the noise."""
    noisy = [replace(c, output_tok_s=(c.output_tok_s or 0.0) * (1.06 if c.repeat % 2 else 0.94)) for c in OFF]
    found = answer([*noisy, *cells("k5", (1.01,) * 8)])
    (text,) = [note.text for note in found.notes if note.code == "no_schedule_one_k"]
    assert text.startswith("No arm is better than off beyond the noise")
    sure = answer([*OFF, *cells("k5", (0.6,) * 8)])
    (text,) = [note.text for note in sure.notes if note.code == "no_schedule_one_k"]
    assert text.startswith("off is best at every concurrency")


def test_without_draft_counters_the_configured_k_is_what_sglang_takes_as_steps() -> None:
    plain = [replace(c, drafts=None, draft_tokens=None, accepted_tokens=None) for c in (*OFF, *K1, *K5)]
    sglang = [replace(c, notes=(Reason("counter_scaled", "usage counts"),)) for c in plain]
    for measured in (plain, sglang):
        schedule = document(answer(measured, {"off": None, "k1": 1, "k5": 5}))
        assert [k for _, _, k in schedule["value"]] == [5, 1, 0]
        assert [step["candidate_steps"] for step in schedule["sglang"].values()] == [[5], [1], [0]]


def test_a_draft_length_that_no_page_shows_is_read_from_the_counters() -> None:
    assert [k for _, _, k in document(answer([*OFF, *K1, *K5], {"off": None}))["value"]] == [5, 1, 0]


def dsd(speedups: tuple[float, ...], k: tuple[float, ...] = (5, 5, 5, 5, 1, 1, 1, 0)) -> list[Cell]:
    return cells("dsd", speedups, k)


SLOW = (1.6, 1.6, 1.5, 1.2, 0.8, 0.75, 0.7, 0.8)


def test_an_arm_that_ran_these_very_steps_has_measured_them_and_a_loss_is_said_plainly() -> None:
    found = answer([*OFF, *K1, *K5, *dsd(SLOW)], {**ARM_K, "dsd": 5})
    assert (document(found)["measured"], document(found)["measured_as"]) == (True, "dsd")
    assert codes(found)[0] == "schedule_lost"
    assert "schedule_not_measured" not in codes(found)
    assert found.schedule is not None
    told = " ".join(r.text for r in found.schedule.reasons if r.code == "schedule_loses")
    assert all(f"than {arm}" in told or f"even with {arm}" in told for arm in ("off", "k1", "k5"))


BEST = (1.6, 1.6, 1.6, 1.5, 1.2, 1.15, 1.1, 1.0)
"""The best static arm per rung."""


def test_a_loss_inside_the_noise_is_not_called_none() -> None:
    """5% behind everywhere does not clear the noise, and the ranges say that it reads slower."""
    found = answer([*OFF, *K1, *K5, *dsd(tuple(0.95 * s for s in BEST))], {**ARM_K, "dsd": 5})
    assert found.schedule is not None
    first, *ranges = (r for r in found.schedule.reasons if r.code in {"schedule_holds", "schedule_even"})
    assert any("5% slower than" in r.text for r in ranges)
    assert "nowhere slower" not in first.text
    assert "beyond the noise" in first.text


def test_a_loss_in_a_part_of_every_range_is_not_called_a_loss_at_every_load() -> None:
    found = answer([*OFF, *K1, *K5, *dsd(tuple(0.94 * s for s in BEST))], {**ARM_K, "dsd": 5})
    assert found.schedule is not None
    first, *ranges = (r for r in found.schedule.reasons if r.code in {"schedule_lost", "schedule_loses"})
    assert any("faster to" in r.text.split(",")[0] for r in ranges), "faster than the range's arm at one of its ends"
    assert "at every load" not in first.text


def test_static_arms_alone_make_the_schedule_even_where_the_dynamic_one_is_fastest() -> None:
    fast = tuple(1.05 * s for s in (1.6, 1.6, 1.6, 1.5, 1.25, 1.15, 1.1, 1.0))
    found = answer([*OFF, *K1, *K5, *dsd(fast)], {**ARM_K, "dsd": 5})
    assert document(found)["value"] == document(answer([*OFF, *K1, *K5]))["value"]
    assert "schedule_lost" not in codes(found)
    assert "schedule_wins" in codes(found)
    assert found.best[0].arm == "dsd"


def test_an_arm_that_ran_another_schedule_measures_nothing_but_is_compared() -> None:
    found = answer([*OFF, *K1, *K5, *dsd(SLOW, (1, 1, 1, 1, 5, 5, 5, 5))], {**ARM_K, "dsd": 5})
    assert document(found)["measured"] is False
    assert {"schedule_other", "schedule_lost", "schedule_not_measured"} <= set(codes(found))


def test_rungs_of_one_step_prove_no_schedule() -> None:
    low = [cell for cell in dsd(SLOW) if cell.rung <= 4]
    found = answer([*OFF, *K1, *K5, *low], {**ARM_K, "dsd": 5}, ("dsd",))
    assert document(found)["measured"] is False


def test_an_arm_that_is_said_to_be_dynamic_is_no_static_one_even_if_its_counters_show_one_length() -> None:
    steady = cells("dsd", tuple(2 * s for s in SLOW), (5.0,) * 8)
    found = answer([*OFF, *K1, *K5, *steady], {**ARM_K, "dsd": 5}, ("dsd",))
    assert "dsd" not in document(found)["arms"]
    assert document(found)["measured"] is False


def test_it_survives_json() -> None:
    found = answer([*OFF, *K1, *K5, *dsd(SLOW)], {**ARM_K, "dsd": 5})
    assert from_json(to_json(found)).schedule == found.schedule


def test_results_from_elsewhere_get_one_by_name_or_none() -> None:
    found = estimate(h200_points(), baseline="off", axis=Axis.CLIENTS)
    named = with_schedule_by_name(found)
    assert [k for _, _, k in document(named)["value"]] == [3, 1, 0]
    assert "schedule_by_name" in codes(named)
    assert codes(with_schedule_by_name(found, 2)) == ["no_schedule_dp"]
    renamed = [replace(p, arm="eagle" if p.arm == "k3" else p.arm) for p in h200_points()]
    nameless = with_schedule_by_name(estimate(renamed, baseline="off", axis=Axis.CLIENTS))
    assert (nameless.schedule, codes(nameless)) == (None, ["no_schedule_k_unknown"])


def test_there_is_none_to_copy_from_arms_that_noise_cannot_tell_apart() -> None:
    found = answer([*OFF, *K1, *K5])
    unclear = {name: replace(verdict, verdict=Verdict.UNCLEAR) for name, verdict in found.arms.items()}
    measured = [*OFF, *K1, *K5]
    assert codes(with_schedule(replace(found, arms=unclear, notes=()), measured, ARM_K, ())) == ["no_schedule_unsure"]
    assert with_schedule_by_name(replace(found, arms=unclear, notes=())).schedule is None
    ties = tuple(replace(one, confident=False) for one in found.best)
    assert codes(with_schedule(replace(found, best=ties, notes=()), measured, ARM_K, ())) == ["no_schedule_unsure"]


def test_steps_that_drafted_nothing_count_into_a_draft_length() -> None:
    """At K = 0 only the few steps of ramp and drain draft: of 10,000 steps, 200 with K = 3."""
    cell = replace(CLEAN, requests=100, drafts=200.0, draft_tokens=600.0, accepted_tokens=300.0, server_tokens=10_400.0)
    assert draft_length(cell) == pytest.approx(0.06)
    steady = replace(cell, drafts=10_000.0, draft_tokens=30_000.0, accepted_tokens=15_000.0, server_tokens=25_100.0)
    assert draft_length(steady) == pytest.approx(3.0)
    assert draft_length(replace(cell, drafts=0.0, draft_tokens=0.0, accepted_tokens=0.0)) == 0.0
    assert draft_length(replace(cell, drafts=None)) is None
