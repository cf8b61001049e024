"""Pure reduction of an endpoint's last minute of readings to per-engine load, rates and what speculation does.

Means over time, never one sample; nothing is carried across a restart or out of a sweep's own traffic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev

from monitor.live_load import in_system
from monitor.values import EngineNow, StoredReading
from probes.scrape.rates import rates_between, restarted
from probes.values import EngineKind, EngineRates, EngineReading, Reading, State

Quantiles = tuple[float | None, float | None]
LATENCY = "e2e_s"
MIN_LOOKS = 6
"""Fewer samples do not tell how much they scatter."""


@dataclass(frozen=True, slots=True)
class LiveWindow:
    """What the good readings since the window's start say; None where they do not say."""

    reason: str
    """Why concurrency is None, in words; empty where it is known."""
    engine_kind: EngineKind | None
    engines: tuple[EngineNow, ...]
    concurrency: float | None
    busiest_engine: str | None
    running_max: float | None
    speculation_configured: bool | None
    drafting: bool | None
    k: int | None
    effective_k: float | None
    acceptance_length: float | None
    acceptance_rate: float | None
    output_tok_s: float | None
    ttft_ms: Quantiles
    tpot_ms: Quantiles
    drafts: float | None = None
    """Verify steps, counted per request, that the acceptance length rests on."""
    requests: float | None = None
    """Requests behind those steps: the ones that finished, and as many as were in the system on average."""
    accepted_per_pos: tuple[float, ...] = ()
    """Accepted per draft by position, all engines together."""
    concurrency_error: float | None = None
    """Relative standard error of `concurrency` as the mean of a few samples."""
    output_is_live: bool = False
    """The output counter moves with every step, so that its rate belongs to this window's load."""


def live_window(readings: Sequence[StoredReading], since_s: float) -> LiveWindow:
    """Reduce the good readings from `since_s` on (oldest first) after any sweep and of one server start."""
    swept = max((index for index, r in enumerate(readings) if r.sweep_id is not None), default=-1)
    good = [r.reading for r in readings[swept + 1 :] if r.reading.state is State.OK]
    recent = _since_restart([r for r in good if r.at_s >= since_s])
    if not recent:
        newest = good[-1] if good else None
        kind = next((r.reading.engine_kind for r in reversed(readings) if r.reading.state is State.OK), None)
        return _empty("no good reading in the live window", newest, kind)
    newest = recent[-1]
    if len(recent) < 2:
        return _empty("only one reading so far; a mean needs two", newest, newest.engine_kind)
    rates = rates_between(recent[0], newest)
    engines = tuple(_engine_now(name, recent, rates) for name in sorted(e.engine for e in newest.engines))
    known = [e for e in engines if e.concurrency is not None]
    busiest = max(known, key=lambda e: e.concurrency or 0.0, default=None)
    busy_rates = next((r for r in rates if busiest is not None and r.engine == busiest.engine), None)
    running = [e.running for e in newest.engines if e.running is not None]
    return LiveWindow(
        reason="" if busiest is not None else "the page does not say how many requests run or wait",
        engine_kind=newest.engine_kind,
        engines=engines,
        concurrency=busiest.concurrency if busiest is not None else None,
        busiest_engine=busiest.engine if busiest is not None else None,
        running_max=max(running) if running else None,
        speculation_configured=newest.speculation_configured,
        drafting=_drafting(newest, rates),
        k=newest.k,
        effective_k=_ratio(rates, "draft_tok_s", "drafts_per_s"),
        acceptance_length=_acceptance_length(newest, rates),
        acceptance_rate=_ratio(rates, "accepted_tok_s", "draft_tok_s"),
        output_tok_s=_total(rates, "generation_tok_s"),
        ttft_ms=_quantiles(busy_rates, "ttft_s"),
        tpot_ms=_quantiles(busy_rates, "tpot_s"),
        drafts=_drafts(rates),
        requests=_requests(engines, rates),
        accepted_per_pos=_accepted_per_pos(rates),
        concurrency_error=_concurrency_error(recent, busiest),
        output_is_live=all(e.generation_tokens_live for e in newest.engines),
    )


def _since_restart(readings: list[Reading]) -> list[Reading]:
    for index in range(len(readings) - 1, 0, -1):
        if restarted(readings[index - 1], readings[index]):
            return readings[index:]
    return readings


def _empty(reason: str, newest: Reading | None, kind: EngineKind | None) -> LiveWindow:
    """Also of a sweep's readings the kind of engine is told: no load changes it."""
    return LiveWindow(
        reason=reason,
        engine_kind=kind,
        engines=(),
        concurrency=None,
        busiest_engine=None,
        running_max=None,
        speculation_configured=newest.speculation_configured if newest else None,
        drafting=None,
        k=newest.k if newest else None,
        effective_k=None,
        acceptance_length=None,
        acceptance_rate=None,
        output_tok_s=None,
        ttft_ms=(None, None),
        tpot_ms=(None, None),
    )


def _engine_now(name: str, readings: Sequence[Reading], rates: Sequence[EngineRates]) -> EngineNow:
    samples = [e for r in readings for e in r.engines if e.engine == name]
    loads = [load for e in samples if (load := _load(e)) is not None]
    newest = samples[-1]
    rate = next((r for r in rates if r.engine == name), None)
    shown = held = None
    if len(loads) >= 2:
        running, waiting = (sum(column) / len(loads) for column in zip(*loads, strict=True))
        shown = running + waiting
        # What a page shows of several engines at once, under the first one's name (SGLang), is not that one's own.
        own = all(LATENCY in engine.histograms for engine in readings[-1].engines)
        held = in_system(running, waiting, rate if own else None)
    return EngineNow(
        engine=name,
        running=newest.running,
        waiting=newest.waiting,
        kv_usage=newest.kv_usage,
        concurrency=shown if held is None else held.value,
        output_tok_s=rate.generation_tok_s if rate is not None else None,
        unseen=held.value - shown if held is not None and shown is not None else None,
        concurrency_most=held.most if held is not None else None,
    )


def _concurrency_error(readings: Sequence[Reading], busiest: EngineNow | None) -> float | None:
    if busiest is None or not busiest.concurrency:
        return None
    own = [x for r in readings for e in r.engines if e.engine == busiest.engine and (x := _load(e)) is not None]
    loads = [running + waiting for running, waiting in own]
    if len(loads) < MIN_LOOKS:
        return None
    return stdev(loads) / math.sqrt(len(loads)) / busiest.concurrency


def _load(engine: EngineReading) -> tuple[float, float] | None:
    if engine.running is None or engine.waiting is None:
        return None
    return engine.running, engine.waiting


def _total(rates: Sequence[EngineRates], field: str) -> float | None:
    values = [v for r in rates if (v := getattr(r, field)) is not None]
    return sum(values) if values and len(values) == len(rates) else None


def _ratio(rates: Sequence[EngineRates], top: str, bottom: str) -> float | None:
    above, below = _total(rates, top), _total(rates, bottom)
    return above / below if above is not None and below else None


def _drafts(rates: Sequence[EngineRates]) -> float | None:
    counts = [r.drafts_per_s * r.dt_s for r in rates if r.drafts_per_s is not None]
    return sum(counts) if counts and len(counts) == len(rates) else None


def _requests(engines: Sequence[EngineNow], rates: Sequence[EngineRates]) -> float | None:
    inside = [e.concurrency for e in engines if e.concurrency is not None]
    return (
        sum(inside) + sum(r.finished_per_s * r.dt_s for r in rates if r.finished_per_s is not None) if inside else None
    )


def _accepted_per_pos(rates: Sequence[EngineRates]) -> tuple[float, ...]:
    """Weighted by each engine's drafts; empty where engines show different positions."""
    own = [(r.drafts_per_s, r.accepted_per_pos) for r in rates if r.drafts_per_s and r.accepted_per_pos]
    total = sum(weight for weight, _ in own)
    if not own or len({len(positions) for _, positions in own}) > 1:
        return ()
    return tuple(
        sum(weight * share for (weight, _), share in zip(own, shares, strict=True)) / total
        for shares in zip(*(positions for _, positions in own), strict=True)
    )


def _drafting(newest: Reading, rates: Sequence[EngineRates]) -> bool | None:
    """True or False only where tokens were produced: an idle server neither drafts nor refuses to."""
    if newest.speculation_configured is False:
        return False
    drafts, tokens = _total(rates, "drafts_per_s"), _total(rates, "generation_tok_s")
    if drafts:
        return True
    if drafts == 0 and tokens:
        return False
    if newest.engine_kind is EngineKind.SGLANG and newest.speculation_configured and tokens:
        gauges = [e.acceptance_length_gauge for e in newest.engines if e.acceptance_length_gauge]
        return True if gauges else None
    return None


def _acceptance_length(newest: Reading, rates: Sequence[EngineRates]) -> float | None:
    accepted = _ratio(rates, "accepted_tok_s", "drafts_per_s")
    if accepted is not None:
        return 1.0 + accepted
    if _total(rates, "drafts_per_s") == 0:
        return None
    if newest.engine_kind is EngineKind.SGLANG and newest.speculation_configured and _total(rates, "generation_tok_s"):
        gauges = [e.acceptance_length_gauge for e in newest.engines if e.acceptance_length_gauge]
        return sum(gauges) / len(gauges) if gauges else None
    return None


def _quantiles(rates: EngineRates | None, name: str) -> Quantiles:
    if rates is None:
        return (None, None)
    return rates.quantiles_ms.get(name, (None, None))
