"""The gate says no for every reason there is, and lists them all."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from probes.sweep.gate import LASTING, ArmLoad, GateInputs, GateLimits, Need, decide
from probes.values import State

URL = "http://127.0.0.1:8000"
QUIET = ArmLoad("off", URL, State.OK, concurrency_max=0.0, kv_usage_max=0.1)
INPUTS = GateInputs(arms=(QUIET, replace(QUIET, arm="k3")))
LIMITS = GateLimits(max_live_concurrency=1.0, max_kv_usage=0.5)
NOON = datetime(2026, 6, 3, 12, 0, tzinfo=ZoneInfo("UTC")).timestamp()


def test_all_quiet_is_allowed() -> None:
    verdict = decide(INPUTS, LIMITS, NOON)
    assert verdict.allowed
    assert verdict.reasons == ()


def second(**changes: object) -> GateInputs:
    return replace(INPUTS, arms=(QUIET, replace(QUIET, arm="k3", **changes)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inputs", "code", "says"),
    [
        (second(concurrency_max=1.5), "live_load", "arm k3 at http://127.0.0.1:8000 has live traffic: 1.5"),
        (second(concurrency_max=None), "load_unknown", "does not show running and waiting"),
        (second(kv_usage_max=0.6), "kv_usage", "uses 60% of its KV cache, max_kv_usage allows 50%"),
        (second(state=State.DOWN, reason="refused"), "unreachable_arm", "is down: refused"),
        (second(state=State.NOT_AN_ENGINE), "unreachable_arm", "is not an engine: no reason given"),
        (replace(INPUTS, noprobe_file="a.db.noprobe"), "noprobe", "delete it"),
        (
            replace(INPUTS, paused_until_s=NOON + 60, pause_reason="release"),
            "paused",
            "12:01 UTC: release; `specwatch pause --resume`",
        ),
        (replace(INPUTS, firing=("chat-a",)), "alert_firing", "an alert fires on chat-a"),
        (replace(INPUTS, not_restored=("chat-a",)), "not_restored", "restarted chat-a and it is not put back"),
    ],
)
def test_one_fault_is_one_refusal(inputs: GateInputs, code: str, says: str) -> None:
    verdict = decide(inputs, LIMITS, NOON)
    assert not verdict.allowed
    assert [reason.code for reason in verdict.reasons] == [code]
    assert says in verdict.reasons[0].text


def test_outside_the_window_the_time_and_zone_are_named() -> None:
    limits = replace(LIMITS, window="01:00-05:00", timezone="Europe/Berlin")
    (reason,) = decide(INPUTS, limits, NOON).reasons
    assert reason.code == "outside_window"
    assert reason.text == "it is 14:00 Europe/Berlin, outside the window 01:00-05:00"


def test_every_reason_is_listed() -> None:
    inputs = replace(second(concurrency_max=9.0, kv_usage_max=0.9), noprobe_file="x")
    codes = {reason.code for reason in decide(inputs, LIMITS, NOON).reasons}
    assert codes == {"live_load", "kv_usage", "noprobe"}


def test_limits_themselves_are_still_allowed_and_a_past_pause_is_over() -> None:
    inputs = replace(second(concurrency_max=1.0, kv_usage_max=0.5), paused_until_s=NOON)
    assert decide(inputs, LIMITS, NOON).allowed


TWO_HOURS = replace(INPUTS, need=Need(seconds=7200.0, tokens_upper=500_000))


@pytest.mark.parametrize(
    ("limits", "code", "says"),
    [
        (
            replace(LIMITS, window="11:00-13:30"),
            "window_left",
            "takes about 2.0 h, but its window 11:00-13:30 UTC has 90 min left",
        ),
        (replace(LIMITS, max_minutes=119.0), "budget_minutes", "takes about 2.0 h, max_minutes allows 119 min"),
        (replace(LIMITS, max_total_tokens=499_999), "budget_tokens", "up to 500,000 tokens, max_total_tokens allows"),
        (
            replace(LIMITS, cost_per_hour=4.0, max_cost=7.5),
            "budget_cost",
            "costs about 8.00 (2.0 h at 4 an hour), max_cost allows 7.5",
        ),
    ],
)
def test_a_budget_that_does_not_suffice_refuses_at_once(limits: GateLimits, code: str, says: str) -> None:
    verdict = decide(TWO_HOURS, limits, NOON)
    assert [reason.code for reason in verdict.reasons] == [code]
    assert says in verdict.reasons[0].text
    assert code in LASTING


def test_a_budget_that_just_suffices_is_enough() -> None:
    limits = replace(
        LIMITS,
        window="11:00-14:00",
        max_minutes=120.0,
        max_total_tokens=500_000,
        cost_per_hour=4.0,
        max_cost=8.0,
    )
    assert decide(TWO_HOURS, limits, NOON).allowed


def test_outside_the_window_nothing_is_said_of_what_is_left_of_it() -> None:
    verdict = decide(TWO_HOURS, replace(LIMITS, window="01:00-02:00"), NOON)
    assert [reason.code for reason in verdict.reasons] == ["outside_window"]


def test_a_cost_limit_without_a_price_refuses_nothing() -> None:
    assert decide(TWO_HOURS, replace(LIMITS, max_cost=1.0), NOON).allowed
