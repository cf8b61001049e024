"""`specwatch pause --until` understands what people type at night."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from monitor.commands.pause import parse_until

NOW = datetime(2026, 11, 30, 22, 15, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", NOW + timedelta(hours=2)),
        ("3d", NOW + timedelta(days=3)),
        ("23:30", NOW.replace(hour=23, minute=30)),
        ("06:00", NOW.replace(day=30, hour=6, minute=0) + timedelta(days=1)),
        ("2026-12-01T06:00", datetime(2026, 12, 1, 6, 0).astimezone()),
    ],
)
def test_times_and_durations(text: str, expected: datetime) -> None:
    assert parse_until(text, NOW) == expected


@pytest.mark.parametrize("text", ["tomorrow", "2020-01-01T00:00", "25:00", ""])
def test_nonsense_and_the_past_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_until(text, NOW)
    assert caught.value.code == 2
    assert "--until" in capsys.readouterr().err
