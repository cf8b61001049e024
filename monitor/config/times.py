"""Reads the three ways config.toml writes time: durations ("14d"), daily windows ("01:00-05:00") and zone names.

Pure: no clock. Each reader raises ValueError with a sentence for people.
"""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from monitor.config.errors import nearest

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


def parse_duration(text: str) -> float:
    """Seconds of "90s", "15m", "12h", "14d", "2w"."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError('a duration is a number and a unit: s, m, h, d or w, e.g. "14d"')
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds <= 0:
        raise ValueError("a duration must be longer than zero")
    return seconds


def parse_window(text: str) -> tuple[int, int]:
    """Start and end of "HH:MM-HH:MM" in minutes after midnight; an end before the start crosses midnight."""
    match = _WINDOW.fullmatch(text.strip())
    if match is None:
        raise ValueError('a window is HH:MM-HH:MM in 24-hour time, e.g. "01:00-05:00"; it may cross midnight')
    hours_minutes = [int(group) for group in match.groups()]
    start, end = hours_minutes[0] * 60 + hours_minutes[1], hours_minutes[2] * 60 + hours_minutes[3]
    if start == end:
        raise ValueError("a window must not start and end at the same minute; leave it out to allow any time")
    return start, end


def minutes_left(window: tuple[int, int], minute: int) -> int | None:
    """Minutes from `minute` of the day to the window's end, None outside it."""
    start, end = window
    length = (end - start) % 1440
    since = (minute - start) % 1440
    return length - since if since < length else None


def zone(name: str) -> tzinfo:
    """The zone called `name`; UTC also where the machine has no zone database."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        known = available_timezones()
    if not known:
        raise ValueError(f'this machine has no time zone database to find "{name}" in; install the tzdata package')
    by_city = {other.rsplit("/", 1)[-1].lower(): other for other in sorted(known)}
    lower = {other.lower(): other for other in known}
    city = name.rsplit("/", 1)[-1].replace(" ", "_")
    guess = nearest(name, lower) or nearest(city, by_city)
    full = lower.get(guess or "") or by_city.get(guess or "")
    hint = f'did you mean "{full}"?' if full else 'use a name like "Europe/Berlin" or "UTC"'
    raise ValueError(f'"{name}" is not a time zone; {hint}')
