"""A day's account: what speculation brought and cost, and what other arms would have done with the same arrivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.account_values import DayAccount, EngineMinute, Stretch
from monitor.as_of_now import as_of_now
from monitor.day_account import NO_READING, day_account
from monitor.live_window import live_window
from monitor.report.account_text import account_lines
from monitor.values import StoredCrossover
from probes.answer_values import Axis, BestRange, CurveSample
from tests.support.drift import live_minute, live_mix_of, stored_h200
from tests.support.readings import crossing, stored

RUNGS = (1, 8, 16, 24, 32, 64)
OFF = (100.0, 800.0, 1500.0, 2000.0, 2400.0, 3200.0)
K3 = (1.9, 1.5, 1.15, 1.0, 0.9, 0.8)
PRINT = "f" * 12


def samples(tok_s: Sequence[float], half: float = 0.03) -> tuple[CurveSample, ...]:
    return tuple(CurveSample(x, y, y * math.exp(-half), y * math.exp(half)) for x, y in zip(RUNGS, tok_s, strict=True))


def measured() -> StoredCrossover:
    """k3 crosses off at 24 [20, 29]."""
    held = stored(crossing(), fingerprint=PRINT)
    curves = {"off": samples(OFF), "k3": samples([y * r for y, r in zip(OFF, K3, strict=True)])}
    best = (BestRange(1, 22, "k3", 40.0, True), BestRange(22, 64, "off", 15.0, True))
    return replace(held, result=replace(held.result, curves=curves, best=best, acceptance={"k3": 2.6}))


def a_minute(index: int, concurrency: float | None, tokens: float | None = 6000.0, **fields: Any) -> EngineMinute:
    plain: dict[str, Any] = {
        "engine": "0", "seconds": 60.0, "waiting_share": 0.0, "speculation_configured": True, "k": 3, "drafts": 1000.0,
        "accepted": 1600.0, "swept": False,
    }  # fmt: skip
    return EngineMinute(at_s=60.0 * index + 30, concurrency=concurrency, output_tokens=tokens, **{**plain, **fields})


def account(*minutes: EngineMinute, held: StoredCrossover | None = None, until_s: float | None = None) -> DayAccount:
    end_s = until_s if until_s is not None else max(m.at_s for m in minutes) + 30
    found = day_account(minutes, held or measured(), "k3", 0.0, end_s)
    assert found is not None
    return found


def test_every_second_is_somewhere() -> None:
    seen = account(a_minute(0, 8.0), a_minute(1, 32.0), a_minute(2, 25.0), a_minute(3, 0.0), until_s=300.0)
    shares = [p.share for p in (seen.above, seen.inside, seen.below, seen.idle, seen.unknown)]
    assert shares == pytest.approx([0.2] * 5)
    assert seen.unknown_why == ((NO_READING, 60.0),)


def test_slowdown_and_gain_are_weighted_by_time_and_by_tokens() -> None:
    seen = account(a_minute(0, 32.0, tokens=1000.0), a_minute(1, 64.0, tokens=3000.0), a_minute(2, 8.0))
    assert seen.slower_above is not None
    one, two = 100 * (1 / 0.9 - 1), 100 * (1 / 0.8 - 1)
    assert seen.slower_above.by_time.value == pytest.approx((one + two) / 2)
    assert seen.slower_above.by_token is not None
    assert seen.slower_above.by_token.value == pytest.approx((one + 3 * two) / 4)
    assert seen.slower_above.by_time.low == pytest.approx((100 * (1 / 0.94 - 1) + 100 * (1 / 0.84 - 1)) / 2)
    assert seen.slower_below is not None
    assert seen.slower_below.by_time.value == pytest.approx(100 * (1 / 1.5 - 1))


def test_a_load_beyond_the_ladder_is_above_but_not_priced() -> None:
    seen = account(a_minute(0, 32.0), a_minute(1, 100.0))
    assert seen.above.seconds == 120.0
    assert seen.slower_above is not None
    assert seen.slower_above.covered == 0.5
    assert seen.slower_above.by_time.value == pytest.approx(100 * (1 / 0.9 - 1))


def test_the_same_arrivals_on_another_arm() -> None:
    seen = account(a_minute(0, 32.0))
    off, k3 = seen.arms
    assert (off.arm, k3.arm) == ("off", "k3")
    assert off.time_per_token is not None
    there = 27.1  # where off makes the 2160 tok/s that k3 makes at 32
    assert off.time_per_token.value == pytest.approx(there / 32, rel=0.01)
    assert seen.live_ms_per_token == pytest.approx(1000 * 32 * 60 / 6000)
    assert off.ms_per_token is not None
    assert off.ms_per_token.value == pytest.approx(320 * there / 32, rel=0.01)
    assert off.capacity_pct is not None
    assert off.capacity_pct.value == pytest.approx(100 * (1 / 0.9 - 1))
    assert k3.time_per_token is not None
    assert (k3.time_per_token.value, k3.time_per_token.low, k3.time_per_token.high) == (1.0, 1.0, 1.0)
    assert seen.best_static == "off"
    assert "best single arm: off" in account_lines(seen)
    tie = account(a_minute(0, 25.0))
    assert "best single arm: off, within the noise of what ran" in account_lines(tie)
    assert "best single arm: k3, which ran" in account_lines(account(a_minute(0, 8.0)))


def test_the_best_mix_beats_the_best_static_arm_on_a_day_of_both_loads() -> None:
    seen = account(*(a_minute(n, 8.0 if n % 2 else 40.0) for n in range(20)))
    assert seen.routed is not None
    assert seen.routed.time_per_token is not None
    statics = [day.time_per_token.value for day in seen.arms if day.time_per_token is not None]
    assert len(statics) == 2
    assert seen.routed.time_per_token.value < min(statics)
    assert seen.routed_s == {"off": 600.0, "k3": 600.0}


def test_an_arm_that_could_not_have_carried_the_day_is_not_the_best() -> None:
    held = measured()
    weak = {**held.result.curves, "off": samples([min(y, 1000.0) for y in OFF])}
    seen = account(a_minute(0, 2.0), a_minute(1, 32.0), held=replace(held, result=replace(held.result, curves=weak)))
    assert seen.arms[0].overload_s == 60.0
    assert seen.best_static == "k3"
    assert seen.routed_s == {"k3": 120.0}, "a mix does not send load where it cannot be carried"


def test_one_minute_too_much_is_enough_not_to_be_the_best() -> None:
    held = measured()
    quick = {**held.result.curves, "off": samples([min(3 * y, 1000.0) for y in OFF])}
    held = replace(held, result=replace(held.result, curves=quick))
    calm = [a_minute(n, 2.0) for n in range(50)]
    assert account(*calm, held=held).best_static == "off"
    assert account(*calm, a_minute(50, 32.0), held=held).best_static == "k3"


def test_light_traffic_is_judged_as_one_request_with_pauses() -> None:
    seen = account(a_minute(0, 0.3))
    assert seen.below.seconds == 60.0
    assert seen.slower_below is not None
    assert seen.slower_below.by_time.value == pytest.approx(100 * (1 / 1.9 - 1))
    assert seen.arms[0].time_per_token is not None
    assert seen.arms[0].time_per_token.value == pytest.approx(1.9, rel=0.03)
    assert seen.routed_s == {"k3": 60.0}


def test_the_top_of_the_ladder_is_still_measured() -> None:
    seen = account(a_minute(0, 64.0))
    assert seen.arms[0].covered == 1.0
    assert account(a_minute(0, 64.1)).arms[0].covered == 0.0


def test_tokens_are_lost_only_in_saturated_minutes() -> None:
    quiet = account(a_minute(0, 32.0))
    assert quiet.lost_tokens is None
    assert quiet.saturated_s == 0.0
    seen = account(a_minute(0, 32.0, waiting_share=0.9), a_minute(1, 32.0, waiting_share=0.2))
    assert seen.saturated_s == 60.0
    assert seen.lost_tokens is not None
    assert seen.lost_tokens.value == pytest.approx(6000.0 * (1 / 0.9 - 1))
    assert account(a_minute(0, 8.0, waiting_share=None)).saturated_s is None


def test_minutes_of_the_baseline_neither_cost_nor_gain() -> None:
    off: dict[str, Any] = {"speculation_configured": False, "k": None, "drafts": None, "accepted": None}
    seen = account(a_minute(0, 32.0, **off), a_minute(1, 8.0, **off))
    assert seen.baseline_s == 120.0
    assert (seen.above.seconds, seen.below.seconds) == (60.0, 60.0)
    assert seen.slower_above is None
    assert seen.slower_below is None
    k3 = seen.arms[1]
    assert k3.time_per_token is not None
    assert k3.time_per_token.value != 1.0


def test_sweeps_are_not_traffic() -> None:
    seen = account(a_minute(0, 8.0), a_minute(1, 64.0, swept=True))
    assert seen.below.share == 1.0
    assert seen.above.seconds == 0.0
    assert seen.swept_s == 60.0


def test_another_server_is_not_judged_by_this_sweep() -> None:
    minutes = [a_minute(n, 32.0) for n in range(4)]
    changes = [(-500.0, "0" * 12), (120.0, PRINT)]
    seen = day_account(minutes, measured(), "k3", 0.0, 240.0, changes)
    assert seen is not None
    assert (seen.above.seconds, seen.unknown.seconds) == (120.0, 120.0)
    assert seen.unknown_why == (("the server was not what sweep 7 measured", 120.0),)


def test_what_a_page_does_not_tell_is_unknown() -> None:
    seen = account(a_minute(0, None), a_minute(1, 8.0, tokens=None), a_minute(2, 8.0, drafts=0.0))
    assert seen.unknown.seconds == 120.0
    assert seen.tokens is None
    assert seen.slower_below is not None
    assert seen.slower_below.by_token is None
    assert {why.split(",")[0] for why, _ in seen.unknown_why} == {
        "k3 is declared",
        "the page does not say how many requests run or wait",
    }


def test_time_per_token_is_that_of_the_minutes_whose_arm_is_known() -> None:
    strange = a_minute(1, 50.0, tokens=10.0, drafts=0.0)
    assert account(a_minute(0, 8.0), strange).live_ms_per_token == account(a_minute(0, 8.0)).live_ms_per_token


def test_engines_are_judged_one_by_one() -> None:
    seen = account(a_minute(0, 8.0), a_minute(0, 40.0, engine="1"))
    assert seen.engines == 2
    assert (seen.above.share, seen.below.share) == (0.5, 0.5)


def test_an_engine_that_came_with_a_restart_was_not_missing_before() -> None:
    seen = account(a_minute(0, 8.0), a_minute(1, 8.0), a_minute(1, 32.0, engine="1"))
    assert seen.unknown_why == ()
    assert [seen.above.seconds, seen.below.seconds] == [60.0, 120.0]
    hole = account(a_minute(0, 8.0), a_minute(0, 8.0, engine="1"), until_s=90.0)
    assert hole.unknown_why == ((NO_READING, 60.0),)


def test_results_by_clients_say_nothing_of_one_of_several_engines() -> None:
    held = measured()
    held = replace(held, result=replace(held.result, axis=Axis.CLIENTS))
    alone = account(a_minute(0, 32.0), held=held)
    assert alone.above.share == 1.0
    several = account(a_minute(0, 32.0), a_minute(0, 8.0, engine="1"), held=held)
    assert several.unknown.share == 1.0
    assert "by clients, not per engine" in several.unknown_why[0][0]
    assert several.arms == ()


def test_acceptance_of_the_day_stands_beside_the_sweeps() -> None:
    seen = account(a_minute(0, 8.0), a_minute(1, 8.0, drafts=3000.0, accepted=3600.0))
    assert seen.acceptance_length == pytest.approx(1 + 5200 / 4000)
    assert seen.acceptance_measured == 2.6


def test_an_edge_that_the_ladder_does_not_close_stays_open_over_the_day() -> None:
    held = measured()
    level = {**held.result.curves, "off": samples([100, 800, 1500, 2000, 2150, 2200])}
    seen = account(a_minute(0, 32.0), held=replace(held, result=replace(held.result, curves=level)))
    assert seen.arms[0].time_per_token is not None
    assert seen.arms[0].time_per_token.high is None
    assert seen.arms[0].time_per_token.low is not None


def test_without_minutes_or_curves_nothing_is_made_up() -> None:
    assert day_account([], measured(), "k3", 0.0, 60.0) is None
    seen = account(a_minute(0, 32.0), held=stored(fingerprint=PRINT))
    assert seen.slower_above is not None
    assert seen.arms == ()
    assert seen.routed is None
    assert seen.best_static is None
    assert seen.lost_tokens is None


def _h200_day(accepted: tuple[float, ...], loads: Sequence[float]) -> tuple[DayAccount, DayAccount]:
    """The same minutes on a measured H200, with and without an answer as of their acceptance."""
    held, pages = stored_h200(), live_minute(60.0, accepted=accepted)
    now = as_of_now(held, "k3", "k3", live_window(pages, 0.0), None)
    minutes = [a_minute(n, load, drafts=1e4, accepted=1e4 * sum(accepted)) for n, load in enumerate(loads)]
    moved, plain = (
        day_account(minutes, held, "k3", 0.0, 60.0 * len(loads), stretches=[Stretch(0.0, 1e9, one)])
        for one in (now, None)
    )
    assert moved is not None
    assert plain is not None
    return moved, plain


def test_a_day_of_poorer_acceptance_is_judged_as_of_that_acceptance() -> None:
    moved, plain = _h200_day((0.50, 0.30, 0.20), [40.0, 120.0, 120.0])
    assert plain.below.share == 1.0
    assert moved.moved
    assert moved.above.seconds == 120.0, "k3 crosses at 162 as swept, and at 82 with this acceptance"
    assert moved.slower_above is not None
    assert moved.slower_above.by_time.value > 5
    assert moved.acceptance_length == pytest.approx(2.0)
    assert moved.acceptance_measured == pytest.approx(2.62, rel=0.001)
    assert [day.arm for day in moved.arms] == ["off", "k1", "k3"]
    assert any(note.startswith("k5: left out") for note in moved.notes)
    assert any("2.0" in line for line in account_lines(moved))


def test_a_day_as_swept_is_judged_by_the_sweep() -> None:
    moved, plain = _h200_day((0.72, 0.52, 0.38), [40.0, 120.0, 200.0])
    assert not moved.moved
    assert replace(moved, stretches=()) == replace(plain, stretches=())
    assert [day.arm for day in moved.arms] == ["off", "k1", "k3", "k5"]


def test_traffic_that_no_sweep_speaks_for_is_unknown_only_while_it_lasts() -> None:
    held = stored_h200()
    far = as_of_now(held, "k3", "k3", live_window(live_minute(40.0), 0.0), live_mix_of(20_000.0, 16.0))
    assert far is not None
    minutes = [a_minute(n, 40.0, drafts=1e4, accepted=1.62e4) for n in range(4)]
    parts = [Stretch(0.0, 120.0, None), Stretch(120.0, 240.0, far, far.mix)]
    seen = day_account(minutes, held, "k3", 0.0, 240.0, stretches=parts)
    assert seen is not None
    assert (seen.below.seconds, seen.unknown.seconds) == (120.0, 120.0)
    lines = account_lines(seen)
    assert any(line.endswith("; not judged, no sweep speaks for such traffic") for line in lines)
    assert any("00:00 to 00:02 UTC: " in line and "judged by the crossover as swept" in line for line in lines)


MINUTE = st.builds(
    EngineMinute,
    at_s=st.floats(0, 86_400),
    engine=st.sampled_from(["0", "1"]),
    seconds=st.floats(0.1, 60),
    concurrency=st.none() | st.floats(0, 1000),
    output_tokens=st.none() | st.floats(0, 1e7),
    waiting_share=st.none() | st.floats(0, 1),
    speculation_configured=st.none() | st.booleans(),
    k=st.none() | st.integers(1, 5),
    drafts=st.none() | st.floats(0, 1e6),
    accepted=st.none() | st.floats(0, 1e6),
    swept=st.booleans(),
)


@given(st.lists(MINUTE, min_size=1, max_size=20), st.sampled_from(["k3", "off", "k9", None]))
def test_whatever_was_stored_every_second_is_somewhere_and_words_are_found(
    minutes: list[EngineMinute], declared: str | None
) -> None:
    seen = day_account(minutes, measured(), declared, 0.0, 86_400.0)
    assert seen is not None
    parts = (seen.above, seen.inside, seen.below, seen.idle, seen.unknown)
    total_s = sum(part.seconds for part in parts) + seen.swept_s
    assert 86_400.0 * 0.999 <= total_s <= 86_400.0 * seen.engines * 1.001
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    assert account_lines(seen)
