"""What every arm, and the best mix of them, would have done with a day's arrivals; pure.

Time per token is that in the system, by Little's law: at one rate it goes with the concurrency
(`probes/crossover/arrival.py`). Intervals add as in `day_account.py`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from monitor.account_values import ArmDay, DayAccount, EngineMinute
from monitor.cost import SATURATED_SHARE
from monitor.now_values import Span
from probes.answer_values import BandPoint
from probes.crossover.arrival import Curve, SameRate, lead, same_rate

ALIKE_COVER = 0.95
"""Arms are compared over the day only where they cover about as much of it as the one that covers most."""
ALIKE_LOAD = 0.01
"""Loads this close, relatively, move alike; a day has a few hundred of them."""


@dataclass(slots=True)
class _Tally:
    """Sums for one arm: request-seconds of the live arm and its own, and output at the same concurrency."""

    live_s: float = 0.0
    own_s: float = 0.0
    low_s: float | None = 0.0
    high_s: float | None = 0.0
    seconds: float = 0.0
    overload_s: float = 0.0
    output: float = 0.0
    more: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def add(self, minute: EngineMinute, live: Curve, arm: Curve) -> None:
        load = minute.concurrency or 0.0
        there = _there(live, arm, load)
        if there.concurrency is None:
            self.overload_s += minute.seconds if there.overload else 0.0
        else:
            self.seconds += minute.seconds
            self.live_s += load * minute.seconds
            self.own_s += there.concurrency * minute.seconds
            self.low_s = _plus(self.low_s, there.low, minute.seconds)
            self.high_s = _plus(self.high_s, there.high, minute.seconds)
        point = lead(arm, live, load) if arm is not live else BandPoint(load, 1.0, 1.0, 1.0)
        made = live.at(math.log(load))
        if point is not None and made is not None:
            weight = math.exp(made[0]) * minute.seconds
            self.output += weight
            gains = (point.ratio - 1, point.low - 1, point.high - 1)
            self.more = (
                self.more[0] + weight * gains[0], self.more[1] + weight * gains[1], self.more[2] + weight * gains[2],
            )  # fmt: skip

    def day(self, arm: str, busy_s: float, live_ms: float | None) -> ArmDay:
        ratio = None
        if self.live_s:
            low, high = (edge / self.live_s if edge is not None else None for edge in (self.low_s, self.high_s))
            ratio = Span(self.own_s / self.live_s, low, high)
        return ArmDay(
            arm=arm,
            time_per_token=ratio,
            ms_per_token=_times(ratio, live_ms) if ratio is not None and live_ms is not None else None,
            capacity_pct=Span(*(100 * more / self.output for more in self.more)) if self.output else None,
            covered=self.seconds / busy_s if busy_s else 0.0,
            overload_s=self.overload_s,
        )


def _there(live: Curve, arm: Curve, load: float) -> SameRate:
    """`same_rate` at the nearest of the loads that stand for all, moved to `load`."""
    if live.at(math.log(load)) is None:
        return same_rate(live, arm, load)
    step = round(math.log(load) / ALIKE_LOAD)
    factor = load / _near(live, step)
    found = _at_step(live, arm, step)
    return replace(
        found,
        concurrency=_scaled(found.concurrency, factor),
        low=_scaled(found.low, factor),
        high=_scaled(found.high, factor),
    )


@lru_cache(maxsize=16_384)
def _at_step(live: Curve, arm: Curve, step: int) -> SameRate:
    return same_rate(live, arm, _near(live, step))


def _near(live: Curve, step: int) -> float:
    return min(max(math.exp(step * ALIKE_LOAD), live.lowest), live.top)


def _scaled(value: float | None, factor: float) -> float | None:
    return value * factor if value is not None else None


def _plus(total: float | None, edge: float | None, seconds: float) -> float | None:
    return total + edge * seconds if total is not None and edge is not None else None


def _times(span: Span, factor: float) -> Span:
    return Span(span.value * factor, _scaled(span.low, factor), _scaled(span.high, factor))


BusyMinute = tuple[EngineMinute, str, Mapping[str, Curve]]
"""A minute, its live arm, and every arm's curve as of that minute."""


def with_arms(account: DayAccount, busy: Sequence[BusyMinute], baseline: str) -> DayAccount:
    """Every arm over the busy minutes, the best of them, the best mix, what was lost."""
    held = [one for one in busy if one[1] in one[2]]
    busy_s = sum(minute.seconds for minute, _, _ in busy)
    tallies: dict[str, _Tally] = {arm: _Tally() for _, _, curves in held for arm in curves}
    for minute, live, curves in held:
        for arm, curve in curves.items():
            tallies[arm].add(minute, curves[live], curve)
    names = sorted(tallies, key=lambda arm: (arm != baseline, arm))
    days = [tallies[arm].day(arm, busy_s, account.live_ms_per_token) for arm in names]
    static = _best_static(days)
    routed, routed_s = _Tally(), defaultdict[str, float](float)
    for minute, live, curves in held:
        best = _routed(curves, live, static or live, minute.concurrency or 0.0)
        routed.add(minute, curves[live], curves[best])
        routed_s[best] += minute.seconds
    waits = [m.waiting_share for m, _, _ in held]
    return replace(
        account,
        arms=tuple(days),
        best_static=static,
        routed=routed.day("routed", busy_s, account.live_ms_per_token) if held else None,
        routed_s=dict(routed_s),
        saturated_s=sum(m.seconds for m, _, _ in held if _saturated(m)) if None not in waits else None,
        lost_tokens=_lost(held),
    )


def _routed(curves: Mapping[str, Curve], live: str, static: str, load: float) -> str:
    """The arm for one minute: the best static one, unless another would hold fewer requests by more than the noise.

    Always taking the least would choose the arms whose curves happened to err upwards.
    """
    there = {arm: _there(curves[live], curve, load) for arm, curve in curves.items()}
    known = {arm: one for arm, one in there.items() if one.concurrency is not None}
    stays = known.get(static)
    if stays is None or stays.concurrency is None:
        return min(known, key=lambda arm: known[arm].concurrency or math.inf, default=live)
    fewer = {
        arm: one.concurrency
        for arm, one in known.items()
        if one.concurrency is not None and one.high is not None and one.high < stays.concurrency
    }
    return min(fewer, key=lambda arm: fewer[arm], default=static)


def _best_static(days: Sequence[ArmDay]) -> str | None:
    most = max((day.covered for day in days), default=0.0)
    fit = [
        (day.time_per_token.value, day.arm)
        for day in days
        if day.time_per_token is not None and not day.overload_s and day.covered >= ALIKE_COVER * most
    ]
    return min(fit)[1] if fit else None


def _saturated(minute: EngineMinute) -> bool:
    return minute.waiting_share is not None and minute.waiting_share >= SATURATED_SHARE


def _lost(held: Sequence[BusyMinute]) -> Span | None:
    """Over saturated minutes: live output times the lead of the best arm that leads beyond the noise there."""
    rows = []
    for minute, live, curves in held:
        load = minute.concurrency or 0.0
        if not _saturated(minute) or minute.output_tokens is None or curves[live].at(math.log(load)) is None:
            continue
        points = (lead(curve, curves[live], load) for arm, curve in curves.items() if arm != live)
        ahead = [point for point in points if point is not None and point.low > 1]
        best = max(ahead, key=lambda point: point.ratio, default=BandPoint(load, 1.0, 1.0, 1.0))
        made = minute.output_tokens
        rows.append((made * (best.ratio - 1), made * (best.low - 1), made * (best.high - 1)))
    return Span(*(sum(row[i] for row in rows) for i in range(3))) if rows else None
