"""Numbers, ages and intervals as text for the command line: every one with its unit, unknown as a word."""

from __future__ import annotations

from probes.answer_values import BandPoint


def number(value: float) -> str:
    """Three significant figures at most, no exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}" if value < 1 else f"{value:.1f}"


def percent(value: float) -> str:
    """`3%`, `1.5%`: a setting, as somebody would write it."""
    return f"{value:g}%"


def age_text(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`, `6 d`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 129600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} d"


def outcome_words(outcome: str) -> str:
    """`not restored`: how a sweep ended, as people write it."""
    return outcome.replace("_", " ")


def interval_text(value: float | None, low: float | None, high: float | None) -> str:
    """`24 [21, 28]`; an open edge is shown as an ellipsis."""
    middle = number(value) if value is not None else "unknown"
    if low is None and high is None:
        return middle
    return f"{middle} [{number(low) if low is not None else '...'}, {number(high) if high is not None else '...'}]"


def band_text(point: BandPoint | None) -> str:
    """`1.02x [0.97, 1.07]`: a ratio with its 90% interval; `unknown` where there is none."""
    return "unknown" if point is None else f"{point.ratio:.2f}x [{point.low:.2f}, {point.high:.2f}]"
