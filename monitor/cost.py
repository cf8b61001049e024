"""What the live arm costs or saves at the load it has now, so that a loss is told in units that somebody can weigh.

Pure. At one concurrency time per token goes with one over throughput (Little's law). Below saturation output equals
what arrives: a slower arm loses speed and capacity there, and no tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from monitor.compared import moved_in
from monitor.moved_curves import moved_result
from monitor.now_values import ArmAtRate, Cost, Span
from monitor.values import EndpointStatus, StoredCrossover, StoredReading
from probes.answer_values import BandPoint, CurveSample
from probes.crossover.arrival import Curve, curves_of, lead, same_rate
from probes.values import State

SATURATED_SHARE = 0.5
"""Requests must wait in at least this share of the looks: one who has just come is no queue."""


def with_cost(
    status: EndpointStatus, stored: StoredCrossover | None, readings: Sequence[StoredReading], since_s: float
) -> EndpointStatus:
    """`status` with its cost; `stored` is None where nothing may be compared with it."""
    if stored is None:
        return status
    return replace(status, cost=cost_now(status, stored, saturated(readings, since_s, status.busiest_engine)))


def cost_now(status: EndpointStatus, stored: StoredCrossover, saturated: bool | None) -> Cost | None:
    """The cost of `status.live_arm` at `status.concurrency`, per engine and on the busiest one.

    `status` must be one that may be compared with `stored`. Bands as of now count where they decide there. None where
    the load is zero or lies outside what was measured.
    """
    live, concurrency = status.live_arm, status.concurrency
    baseline = stored.result.baseline
    if live is None or not concurrency:
        return None
    at = BandPoint(concurrency, 1.0, 1.0, 1.0) if live == baseline else status.speedup_now
    if at is None:
        return None
    curves = curves_of(_curves(status, stored))
    best, capacity = _best(status, stored, curves, at)
    return Cost(
        slower_pct=Span(*(100 * (1 / r - 1) for r in (at.ratio, at.high, at.low))),
        ms_per_token=_ms(status.tpot_p50_ms, at),
        best_arm=best,
        capacity_tok_s=capacity,
        saturated=saturated,
        lost_tok_s=capacity if saturated else None,
        at_same_rate=_elsewhere(curves, live, baseline, concurrency),
    )


def saturated(readings: Sequence[StoredReading], since_s: float, engine: str | None) -> bool | None:
    """Whether requests waited on one engine in most good looks since then, sweeps left out; None: no page tells."""
    seen = [
        one.waiting
        for held in readings
        if held.reading.at_s >= since_s and held.reading.state is State.OK and held.sweep_id is None
        for one in held.reading.engines
        if one.engine == engine and one.waiting is not None
    ]
    return sum(w > 0 for w in seen) >= SATURATED_SHARE * len(seen) if len(seen) >= 2 else None


def _curves(status: EndpointStatus, stored: StoredCrossover) -> Mapping[str, Sequence[CurveSample]]:
    """The sweep's curves; where an answer as of now decides, the baseline's and those that it moves."""
    found, now = stored.result, status.as_of_now
    return moved_result(found, now.arms).curves if now is not None and now.decides else found.curves


def _ms(tpot_ms: float | None, at: BandPoint) -> Span | None:
    """Of the live time per token, what the baseline would not have taken."""
    return Span(*(tpot_ms * (1 - r) for r in (at.ratio, at.high, at.low))) if tpot_ms is not None else None


def _best(
    status: EndpointStatus, stored: StoredCrossover, curves: Mapping[str, Curve], at: BandPoint
) -> tuple[str | None, Span | None]:
    """The best arm here and what the live one lacks to it in tok/s of one engine; two Nones without curves."""
    live = status.live_arm
    if live is None or live not in curves:
        return None, None
    made = next((e.output_tok_s for e in status.engines if e.engine == status.busiest_engine), None)
    if made is None:
        found = curves[live].at(math.log(at.concurrency))
        made = math.exp(found[0]) if found is not None else None
    leads = {
        arm: point
        for arm, curve in curves.items()
        if arm != live and (point := _lead(arm, live, curve, curves[live], stored.result.baseline, at)) is not None
    }
    if made is None or not leads:
        return None, None
    best = _named(status, stored, at.concurrency)
    if best not in leads and best != live:
        best = max(leads, key=lambda arm: leads[arm].ratio)
    if best == live or leads[best].ratio <= 1:
        return live, Span(0.0, 0.0, made * max(0.0, max(p.high for p in leads.values()) - 1))
    point = leads[best]
    return best, Span(*(made * (r - 1) for r in (point.ratio, point.low, point.high)))


def _lead(arm: str, live: str, curve: Curve, own: Curve, baseline: str, at: BandPoint) -> BandPoint | None:
    """Over the live arm; the baseline's is the speedup turned over, so that both say the same."""
    if arm == baseline:
        return BandPoint(at.concurrency, 1 / at.ratio, 1 / at.high, 1 / at.low)
    return lead(curve, own, at.concurrency)


def _named(status: EndpointStatus, stored: StoredCrossover, concurrency: float) -> str | None:
    """The arm that the sweep names best there; its ranges do not hold for an answer as of now."""
    if moved_in(status):
        return None
    return next((b.arm for b in stored.result.best if b.start <= concurrency <= b.end), None)


def _elsewhere(curves: Mapping[str, Curve], live: str, baseline: str, concurrency: float) -> tuple[ArmAtRate, ...]:
    if live not in curves:
        return ()
    others = sorted((arm for arm in curves if arm != live), key=lambda arm: (arm != baseline, arm))
    return tuple(_at_rate(arm, curves, live, concurrency) for arm in others)


def _at_rate(arm: str, curves: Mapping[str, Curve], live: str, concurrency: float) -> ArmAtRate:
    there = same_rate(curves[live], curves[arm], concurrency)
    if there.concurrency is None:
        return ArmAtRate(arm, None, None, there.reason)
    low, high = there.low, there.high
    return ArmAtRate(
        arm,
        Span(there.concurrency, low, high),
        Span(
            there.concurrency / concurrency,
            low / concurrency if low is not None else None,
            high / concurrency if high is not None else None,
        ),
    )


def cost_json(cost: Cost | None) -> dict[str, Any] | None:
    """For scripts; every number with its interval, an open edge null."""
    if cost is None:
        return None
    return {
        "more_time_per_token_pct": span_json(cost.slower_pct),
        "less_output_pct": span_json(_less_output_pct(cost.slower_pct)),
        "ms_per_token": span_json(cost.ms_per_token),
        "best_arm": cost.best_arm,
        "capacity_tok_s": span_json(cost.capacity_tok_s),
        "saturated": cost.saturated,
        "lost_tok_s": span_json(cost.lost_tok_s),
        "at_same_rate": [
            {
                "arm": one.arm,
                "concurrency": span_json(one.concurrency),
                "time_per_token": span_json(one.time_per_token),
                "reason": one.reason,
            }
            for one in cost.at_same_rate
        ],
    }


def _less_output_pct(more_time_pct: Span) -> Span:
    """1 - speedup from 1 / speedup - 1, both in percent."""
    less = [
        100 * (1 - 1 / (1 + pct / 100)) if pct is not None else None for pct in (more_time_pct.low, more_time_pct.high)
    ]
    return Span(100 * (1 - 1 / (1 + more_time_pct.value / 100)), *less)


def span_json(span: Span | None) -> dict[str, float | None] | None:
    """A number with its interval as one object."""
    return {"value": span.value, "low": span.low, "high": span.high} if span is not None else None
