"""Words of an alert for somebody woken at night: what, how much, since when, what to do. Pure; it invents no number."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from monitor.alerts.choices import choices
from monitor.alerts.cost_text import cost_details, how_much
from monitor.alerts.crossover_text import as_of_now_lines, crossover_long, crossover_short
from monitor.units import age_text, band_text, number, percent
from monitor.values import EndpointStatus, StoredCrossover
from probes.answer_values import ArmVerdict, BandPoint
from probes.crossover import speedup_at

Fact = str | float | int | bool | None

OFF_NOW = "speculation is off now"
LOOK = "Look: `specwatch watch` (live), `specwatch once` (one line per endpoint)."


class Thresholds(Protocol):
    """The two numbers of the rule's settings that the words mention."""

    @property
    def keep_firing_for_s(self) -> float: ...
    @property
    def clear_loss_pct(self) -> float: ...


def firing(
    status: EndpointStatus,
    settings: Thresholds,
    since_s: float,
    now_s: float,
    measured: StoredCrossover | None,
) -> tuple[str, str]:
    """Title and text of an alert that begins."""
    speedup, load = status.speedup_now, _or_unknown(status.concurrency)
    loss = "an unknown share"
    if speedup is not None:
        loss = f"about {_pct(1 - speedup.ratio)} ({_pct(1 / speedup.ratio - 1)} more time per token)"
    title = f"{who(status.name, status.pool)}: speculation is costing {loss} at {load} concurrent; " + crossover_short(
        status
    )
    lines = [
        f"What: speculative decoding (arm {status.live_arm or 'unknown'}, K={_k(status.k)}) makes {status.name} slower "
        f"than {_baseline(measured)} at the load it has now.",
        f"How much: {how_much(status)}",
        # Before the details: a small screen shows the first rows only.
        "What to do, whichever suits:",
        *(f"- {choice}" for choice in choices(status, measured)),
        f"Since: {utc(since_s)} ({age_text(max(0.0, now_s - since_s))} ago).",
        *([f"What it costs: {details}"] if (details := cost_details(status)) else []),
        f"Crossover: {crossover_long(status)}",
        *as_of_now_lines(status),
        f"Clears: once the slowdown has stayed under {percent(settings.clear_loss_pct)} for "
        f"{age_text(settings.keep_firing_for_s)}, or when speculation is switched off.",
        LOOK,
    ]
    return title, "\n".join(lines)


def resolved(endpoint: str, pool: str, reason: str, started_s: float, now_s: float) -> tuple[str, str]:
    """Title and text of an alert that ends."""
    lasted = age_text(max(0.0, now_s - started_s))
    title = f"{who(endpoint, pool)}: resolved after {lasted}: {reason}"
    return title, "\n".join(
        [
            f"Why: {reason}.",
            f"It lasted {lasted}, from {utc(started_s)} to {utc(now_s)}.",
            LOOK,
        ]
    )


def recovery(status: EndpointStatus, settings: Thresholds) -> str:
    """Why an alert leaves by itself."""
    held = f"for {age_text(settings.keep_firing_for_s)}"
    if status.speedup_now is None:
        return f"the load has stayed below the crossover {held} (now {_or_unknown(status.concurrency)} concurrent)"
    now = status.as_of_now
    by_the_band = status.speedup_now.ratio > 1 - settings.clear_loss_pct / 100
    if not by_the_band and now is not None and now.observed is not None:
        return (
            f"no loss was seen {held}: the live output is {band_text(now.observed)} of what the baseline would make at "
            f"{_or_unknown(status.concurrency)} concurrent, which contradicts the sweep: sweep again"
        )
    return (
        f"the slowdown has stayed under {percent(settings.clear_loss_pct)} {held} "
        f"(speedup now {band_text(status.speedup_now)} at {_or_unknown(status.concurrency)} concurrent)"
    )


def facts(status: EndpointStatus, measured: StoredCrossover | None) -> dict[str, Fact]:
    """The same numbers for machines; None where unknown."""
    speedup, crossover, now = status.speedup_now, status.crossover, status.as_of_now
    best = _best_arm(status, measured)
    return {
        "concurrency": status.concurrency,
        "busiest_engine": status.busiest_engine,
        "live_arm": status.live_arm,
        "k": status.k,
        "speedup": speedup.ratio if speedup is not None else None,
        "speedup_low": speedup.low if speedup is not None else None,
        "speedup_high": speedup.high if speedup is not None else None,
        "loss_pct": status.loss_pct,
        "crossover": crossover.value if crossover is not None else None,
        "low": crossover.low if crossover is not None else None,
        "high": crossover.high if crossover is not None else None,
        "verdict": crossover.verdict.value if crossover is not None else None,
        "age_s": crossover.age_s if crossover is not None else None,
        "sweep_id": crossover.sweep_id if crossover is not None else None,
        "as_of_now": now.decides if now is not None else False,
        "crossover_now": now.value if now is not None else None,
        "crossover_now_low": now.low if now is not None else None,
        "crossover_now_high": now.high if now is not None else None,
        "acceptance_length": status.acceptance_length,
        "acceptance_swept": now.acceptance_measured if now is not None else None,
        "break_even_acceptance": now.break_even.ratio if now is not None and now.break_even is not None else None,
        "best_arm": best[0] if best is not None else None,
        "best_arm_speedup": best[1].ratio if best is not None and best[1] is not None else None,
        "output_tok_s": status.output_tok_s,
        "tpot_p50_ms": status.tpot_p50_ms,
    }


def _best_arm(status: EndpointStatus, measured: StoredCrossover | None) -> tuple[str, BandPoint | None] | None:
    """The best arm at the live load, with its speedup there; None where no sweep speaks for that load and traffic."""
    if measured is None or status.concurrency is None:
        return None
    load, now = status.concurrency, status.as_of_now
    if now is not None and now.decides:
        return _best_of(now.arms, measured, load)
    arm = next((b.arm for b in measured.result.best if b.start <= load <= b.end), None)
    if arm is None:
        return None
    verdict = measured.result.arms.get(arm)
    return arm, speedup_at(verdict, load) if verdict is not None else None


def _best_of(
    arms: Mapping[str, ArmVerdict], measured: StoredCrossover, load: float
) -> tuple[str, BandPoint | None] | None:
    points = {arm: point for arm, verdict in arms.items() if (point := speedup_at(verdict, load)) is not None}
    best = max(points, key=lambda arm: points[arm].ratio, default=None)
    if best is not None and points[best].ratio > 1:
        return best, points[best]
    # That none of them beats the baseline can be said only where every one of them is known.
    return (measured.result.baseline, None) if points.keys() == measured.result.arms.keys() else None


def who(endpoint: str, pool: str) -> str:
    """An endpoint for a title, with its pool where that has another name."""
    return endpoint if endpoint == pool else f"{endpoint} (pool {pool})"


def _baseline(measured: StoredCrossover | None) -> str:
    return measured.result.baseline if measured is not None else "off"


def _k(k: int | None) -> str:
    return str(k) if k is not None else "unknown"


def _pct(share: float) -> str:
    return f"{100 * share:.0f}%"


def _or_unknown(value: float | None) -> str:
    return number(value) if value is not None else "unknown"


def utc(at_s: float) -> str:
    """An instant (Unix seconds) for people in any time zone."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
