"""Reads a five-field crontab the way cron does and finds its next instant in a time zone, daylight saving included.

Pure: the clock is an argument. It exists because APScheduler 3 counts weekdays from Monday, requires both the day of
the month and the weekday to match, and runs a wall time that occurs twice in autumn twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_ITEM = re.compile(r"(?:(\*)|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:/(\d+))?")
_HORIZON_DAYS = 8 * 366 + 1
"""29 February is at most eight years away (1896 to 1904, 2096 to 2104)."""


@dataclass(frozen=True, slots=True)
class Crontab:
    """The minutes, hours and days a schedule names; weekdays are crontab's, 0 is Sunday."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Both day fields are restricted: cron then takes a day that matches either."""

    def runs_on(self, day: date) -> bool:
        """Whether any run falls on `day`."""
        in_month = day.day in self.days
        in_week = day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (in_month or in_week if self.either_day else in_month and in_week)

    def minutes_of_day(self) -> tuple[int, ...]:
        """Every start, in minutes after midnight."""
        return tuple(sorted(hour * 60 + minute for hour in self.hours for minute in self.minutes))


def parse_crontab(text: str) -> Crontab:
    """Read `minute hour day-of-month month day-of-week`; raises ValueError with the field and the cure."""
    fields = text.lower().split()
    if len(fields) != 5:
        raise ValueError(
            f"a schedule has five fields (minute hour day-of-month month day-of-week), this one has {len(fields)}; "
            'for Sundays at 03:00 write "0 3 * * sun"'
        )
    minute, hour, day, month, weekday = fields
    return Crontab(
        minutes=_field(minute, "minute", 0, 59),
        hours=_field(hour, "hour", 0, 23),
        days=_field(day, "day of month", 1, 31),
        months=_field(month, "month", 1, 12, _MONTHS, first=1),
        weekdays=frozenset(number % 7 for number in _field(weekday, "day of week", 0, 7, _DAYS)),
        either_day=not day.startswith("*") and not weekday.startswith("*"),
    )


def next_run(crontab: Crontab, zone: tzinfo, after: datetime) -> datetime | None:
    """First instant later than `after`, in `zone`; None where no day in eight years matches.

    A wall time that daylight saving skips runs at the moment the clock would have shown it (02:30 at 03:30 in Berlin);
    one that occurs twice runs the first time only.
    """
    first = after.astimezone(zone).date() - timedelta(days=1)
    times = [time(minute // 60, minute % 60) for minute in crontab.minutes_of_day()]
    for offset in range(_HORIZON_DAYS):
        day = first + timedelta(days=offset)
        if not crontab.runs_on(day):
            continue
        instants = (datetime.combine(day, at, zone).astimezone(UTC) for at in times)
        later = [instant for instant in instants if instant > after]
        if later:
            return min(later).astimezone(zone)
    return None


def _field(text: str, what: str, low: int, high: int, names: tuple[str, ...] = (), first: int = 0) -> frozenset[int]:
    chosen: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(f'{what} "{item}" is not a number, a range like 1-5, a list like 1,3 or a step like */2')
        star, start, end, step = match.groups()
        if star:
            begin, stop = low, high if what != "day of week" else 6
        else:
            begin = _number(start, what, low, high, names, first)
            stop = begin if end is None else _number(end, what, low, high, names, first)
            if end is None and step is not None:
                stop = high
            if what == "day of week" and end is not None and stop == 0:
                stop = 7
        if begin > stop:
            raise ValueError(f'{what} "{item}" runs backwards; write two ranges with a comma between them')
        if step is not None and int(step) < 1:
            raise ValueError(f'{what} "{item}" has a step of zero')
        chosen.update(range(begin, stop + 1, int(step or 1)))
    return frozenset(chosen)


def _number(text: str, what: str, low: int, high: int, names: tuple[str, ...], first: int) -> int:
    for index, name in enumerate(names):
        if text in (name, name[:3]):
            return index + first
    if text.isdigit() and low <= int(text) <= high:
        return int(text)
    allowed = f"{low}-{high}" + (f" or {names[0][:3]}-{names[-1][:3]}" if names else "")
    raise ValueError(f'{what} "{text}" is not one of {allowed}')
