"""Reads a daily window like 01:00-05:00 against an instant, so that nothing else has to know about zones and midnight.

Pure: the clock is an argument.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


def in_window(spec: str, timezone: str, now_s: float) -> bool:
    """Whether the wall clock of `timezone` lies in `HH:MM-HH:MM` at `now_s` (Unix seconds).

    The start is inside, the end is not; a start after the end crosses midnight; equal ends mean all day. On days when
    clocks change, an hour that comes twice counts twice and one that is skipped does not come.
    Raises ValueError for another form and ZoneInfoNotFoundError for an unknown zone.
    """
    start_hour, start_minute, end_hour, end_minute = _edges(spec)
    start, end = 60 * start_hour + start_minute, 60 * end_hour + end_minute
    local = datetime.fromtimestamp(now_s, ZoneInfo(timezone))
    minute = 60 * local.hour + local.minute
    if start < end:
        return start <= minute < end
    return start == end or minute >= start or minute < end


def window_began_s(spec: str, timezone: str, now_s: float) -> float | None:
    """When the window that `now_s` lies in began (Unix seconds); None outside, and where it means all day.

    Raises like `in_window`.
    """
    hour, minute, *end = _edges(spec)
    if [hour, minute] == end or not in_window(spec, timezone, now_s):
        return None
    local = datetime.fromtimestamp(now_s, ZoneInfo(timezone))
    began = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (began if began <= local else began - timedelta(days=1)).timestamp()


def window_left_s(spec: str, timezone: str, now_s: float) -> float:
    """Seconds until the window that `now_s` lies in ends; infinite where it means all day. Raises like `in_window`."""
    start_hour, start_minute, hour, minute = _edges(spec)
    if (start_hour, start_minute) == (hour, minute):
        return float("inf")
    local = datetime.fromtimestamp(now_s, ZoneInfo(timezone))
    end = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if end <= local:
        end += timedelta(days=1)
    at_s = end.timestamp()
    shown = datetime.fromtimestamp(at_s, ZoneInfo(timezone))
    if (shown.hour, shown.minute) != (hour, minute) and in_window(spec, timezone, now_s):
        at_s = _jump_s(spec, timezone, now_s, at_s)
    return max(0.0, at_s - now_s)


def _jump_s(spec: str, timezone: str, inside_s: float, outside_s: float) -> float:
    """The second at which clocks jump over a window's end."""
    while outside_s - inside_s > 1.0:
        middle_s = (inside_s + outside_s) / 2
        if in_window(spec, timezone, middle_s):
            inside_s = middle_s
        else:
            outside_s = middle_s
    return inside_s


def _edges(spec: str) -> tuple[int, int, int, int]:
    match = _WINDOW.fullmatch(spec)
    if match is None:
        raise ValueError(f"a window is written HH:MM-HH:MM, not {spec!r}")
    start_hour, start_minute, end_hour, end_minute = (int(part) for part in match.groups())
    return start_hour, start_minute, end_hour, end_minute
