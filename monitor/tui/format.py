"""Numbers, ages, times and intervals as text of fixed precision; an unknown is `–`, never 0.

Pure: no clock (every age is computed from the snapshot's own instant), no colours, no widths beyond the number's own.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from probes.answer_values import BandPoint, Verdict

UNKNOWN = "–"


def number(value: float | None, digits: int = 0) -> str:
    """Fixed decimals; `–` where unknown or not finite."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.{digits}f}"


def concurrency(value: float | None) -> str:
    """Requests in the system per engine, one decimal while it matters."""
    return number(value, 1 if value is None or abs(value) < 1000 else 0)


def edge(value: float | None) -> str:
    """A crossover or one of its edges: small ones need the decimal, large ones do not have it."""
    if value is None:
        return UNKNOWN
    return number(value, 1 if value < 10 else 0).removesuffix(".0")


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """`24 [21–28]`; an open edge is `…`, so that it is never read as zero or as certain."""
    if value is None and low is None and high is None:
        return UNKNOWN
    low_text = "…" if low is None else edge(low)
    high_text = "…" if high is None else edge(high)
    return f"{edge(value)} [{low_text}–{high_text}]"


def ratio(value: float | None) -> str:
    """A multiple with two digits that matter: `0.65×`, `5.30×`, `12.4×`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.2f}×" if value < 9.995 else f"{value:.1f}×" if value < 99.95 else ">99×"


def band(point: BandPoint | None) -> str:
    """`0.93× [0.90–0.95]`."""
    if point is None:
        return UNKNOWN
    return f"{ratio(point.ratio)} [{point.low:.2f}–{point.high:.2f}]"


def percent(value: float | None, digits: int = 0) -> str:
    """A fraction as percent."""
    return UNKNOWN if value is None else f"{number(100 * value, digits)}%"


def milliseconds(value: float | None) -> str:
    """`182 ms`, `2.41 s` from ten seconds down to one; whole units only."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value < 10:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def tok_s(value: float | None) -> str:
    """Output tokens per second."""
    return UNKNOWN if value is None else f"{number(value)} tok/s"


def age(seconds: float | None) -> str:
    """A duration in at most six cells: `4s`, `2m05s`, `3h20m`, `6d`."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 3600:
        return f"{whole // 60}m"
    if whole < 36000:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 3600}h" if whole < 2 * 86400 else f"{whole // 86400}d"


def clock(at_s: float) -> str:
    """`03:12:45Z`: the wall time on every machine, whatever its zone."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%H:%M:%SZ")


def minute(at_s: float, now_s: float) -> str:
    """`03:12Z`, with the date where it is another day."""
    then, now = datetime.fromtimestamp(at_s, UTC), datetime.fromtimestamp(now_s, UTC)
    return then.strftime("%H:%MZ" if then.date() == now.date() else "%b %d %H:%MZ")


def verdict_words(
    verdict: Verdict,
    value: float | None,
    low: float | None,
    high: float | None,
    measured_to: float | None,
) -> str:
    """The crossover in at most 14 cells: a number with its interval, or the word for why there is none."""
    to = edge(measured_to)
    words = {
        Verdict.CROSSES: interval(value, low, high),
        Verdict.ALWAYS_FASTER: f"none to {to}" if measured_to is not None else "none seen",
        Verdict.NEVER_FASTER: "never faster",
        Verdict.UNCLEAR: "unclear",
        Verdict.INSUFFICIENT: "too few cells",
    }
    return words[verdict]
