"""Axes of the charts: where a value lies between two ends, linear or log2, and which round ticks label it.

Pure; knows nothing of cells, glyphs or what is plotted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from monitor.tui.format import age, edge


def plain(value: float) -> str:
    """A tick: no decimals beyond need, thousands as k."""
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}"


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis from `low` to `high` in the data's unit."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log2: bool = False
    label: Callable[[float], str] = plain

    def at(self, value: float) -> float:
        """0 at the low end, 1 at the high end; outside values lie outside."""
        if self.log2:
            if value <= 0:
                return -1.0
            low, high, value = math.log2(self.low), math.log2(self.high), math.log2(value)
        else:
            low, high = self.low, self.high
        return (value - low) / (high - low) if high > low else 0.5


def linear(values: Iterable[float], *, floor: float = 0.0, ticks: int = 4) -> Scale:
    """From `floor` to just above the largest value, with a tick at every round step between."""
    top = max((value for value in values if math.isfinite(value)), default=floor)
    span = top - floor if top > floor else 1.0
    step = _nice(span / max(1, ticks - 1))
    high = floor + span * 1.06
    first = math.ceil(floor / step - 1e-9)
    return Scale(floor, high, tuple(index * step for index in range(first, math.floor(high / step) + 1)))


def _nice(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw * 0.9999)


def doublings(values: Iterable[float]) -> Scale:
    """Log2 from half a doubling under the smallest value to half a doubling above the largest, a tick per doubling."""
    known = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (1.0, 64.0)
    first, last = math.floor(math.log2(low) + 0.001), math.ceil(math.log2(high) - 0.001)
    ticks = tuple(2.0**power for power in range(first, last + 1))
    return Scale(low / 2**0.25, high * 2**0.25, ticks, log2=True, label=edge)


def recent(first_s: float, now_s: float) -> Scale:
    """Time up to now, labelled by age; at least five minutes, so that the first samples do not jump about."""
    span = max(300.0, now_s - first_s)

    def label(at: float) -> str:
        return "now" if at == now_s else f"-{age(now_s - at)}"

    return Scale(now_s - span, now_s, (now_s - span, now_s - span / 2, now_s), label=label)
