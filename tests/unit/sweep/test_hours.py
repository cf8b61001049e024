"""A daily window means the same at midnight, at its edges and when clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from probes.sweep.hours import in_window, window_began_s, window_left_s

NOON = datetime(2026, 6, 3, 12, 0, tzinfo=UTC).timestamp()


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


def test_a_window_whose_end_is_skipped_ends_when_clocks_jump() -> None:
    at_s = datetime(2026, 3, 29, 0, 30, tzinfo=UTC).timestamp()
    left_s = window_left_s("01:00-02:30", "Europe/Berlin", at_s)
    assert left_s == pytest.approx(1800.0, abs=1.0)
    assert not in_window("01:00-02:30", "Europe/Berlin", at_s + left_s + 1.0)


@pytest.mark.parametrize(
    ("spec", "at", "began"),
    [
        ("01:00-05:00", datetime(2026, 11, 30, 4, 0, tzinfo=UTC), datetime(2026, 11, 30, 1, 0, tzinfo=UTC)),
        ("22:00-05:00", datetime(2026, 11, 30, 23, 0, tzinfo=UTC), datetime(2026, 11, 30, 22, 0, tzinfo=UTC)),
        ("22:00-05:00", datetime(2026, 12, 1, 1, 0, tzinfo=UTC), datetime(2026, 11, 30, 22, 0, tzinfo=UTC)),
        ("22:00-05:00", datetime(2026, 11, 30, 22, 0, tzinfo=UTC), datetime(2026, 11, 30, 22, 0, tzinfo=UTC)),
    ],
)
def test_a_window_says_when_it_began(spec: str, at: datetime, began: datetime) -> None:
    assert window_began_s(spec, "UTC", at.timestamp()) == began.timestamp()


@pytest.mark.parametrize(("spec", "hour"), [("01:00-05:00", 5), ("03:00-03:00", 4)])
def test_outside_a_window_and_all_day_nothing_began(spec: str, hour: int) -> None:
    assert window_began_s(spec, "UTC", datetime(2026, 11, 30, hour, 0, tzinfo=UTC).timestamp()) is None
