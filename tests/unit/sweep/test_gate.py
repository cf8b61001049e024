"""The gate says no for every reason there is, at the right hours, also when clocks change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from probes.sweep.gate import ArmLoad, GateInputs, GateLimits, decide, in_window, window_left_s
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
        (second(state=State.NOT_AN_ENGINE), "unreachable_arm", "is not_an_engine: no reason given"),
        (replace(INPUTS, noprobe_file="a.db.noprobe"), "noprobe", "delete it"),
        (replace(INPUTS, paused_until_s=NOON + 60, pause_reason="release"), "paused", "12:01 UTC: release"),
        (replace(INPUTS, firing=("chat-a",)), "alert_firing", "an alert fires on chat-a"),
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


@pytest.mark.parametrize(
    ("window", "clock", "inside"),
    [
        ("01:00-05:00", "00:59", False),
        ("01:00-05:00", "01:00", True),
        ("01:00-05:00", "04:59", True),
        ("01:00-05:00", "05:00", False),
        ("22:00-05:00", "21:59", False),
        ("22:00-05:00", "22:00", True),
        ("22:00-05:00", "00:00", True),
        ("22:00-05:00", "04:59", True),
        ("22:00-05:00", "05:00", False),
        ("22:00-05:00", "12:00", False),
        ("00:00-00:00", "13:00", True),
    ],
)
def test_windows(window: str, clock: str, inside: bool) -> None:
    at = datetime.fromisoformat(f"2026-06-03T{clock}:00").replace(tzinfo=ZoneInfo("America/New_York"))
    assert in_window(window, "America/New_York", at.timestamp()) is inside


@pytest.mark.parametrize(
    ("utc", "inside"),
    [
        ("2026-03-29T00:59:59", False),  # 01:59:59 CET, a second before clocks jump to 03:00
        ("2026-03-29T01:00:00", False),  # 03:00 CEST: the hour 02:00-03:00 does not come
        ("2026-10-25T00:30:00", True),  # 02:30 CEST
        ("2026-10-25T01:30:00", True),  # 02:30 CET, the same hour again
        ("2026-10-25T02:00:00", False),  # 03:00 CET
    ],
)
def test_windows_when_clocks_change(utc: str, inside: bool) -> None:
    at = datetime.fromisoformat(utc).replace(tzinfo=ZoneInfo("UTC"))
    assert in_window("02:00-03:00", "Europe/Berlin", at.timestamp()) is inside


@pytest.mark.parametrize("bad", ["", "1:00-5:00", "01:00", "24:00-05:00", "01:00-05:60", "01:00 - 05:00"])
def test_a_malformed_window_is_an_error(bad: str) -> None:
    with pytest.raises(ValueError, match="HH:MM-HH:MM"):
        in_window(bad, "UTC", NOON)


def test_an_unknown_zone_is_an_error() -> None:
    with pytest.raises(ZoneInfoNotFoundError):
        in_window("01:00-05:00", "Mars/Base", NOON)


@pytest.mark.parametrize(
    ("spec", "at", "left_h"),
    [
        ("01:00-05:00", datetime(2026, 11, 30, 4, 0, tzinfo=UTC), 1.0),
        ("22:00-05:00", datetime(2026, 11, 30, 23, 0, tzinfo=UTC), 6.0),
        ("22:00-05:00", datetime(2026, 11, 30, 1, 0, tzinfo=UTC), 4.0),
        ("03:00-03:00", datetime(2026, 11, 30, 1, 0, tzinfo=UTC), float("inf")),
    ],
)
def test_a_window_says_how_much_of_it_is_left(spec: str, at: datetime, left_h: float) -> None:
    assert window_left_s(spec, "UTC", at.timestamp()) == pytest.approx(left_h * 3600)
