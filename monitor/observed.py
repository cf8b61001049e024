"""Pure: the live arm's own output over what the baseline would make of the same load, which needs no model of the arm.

Only a check on the band from the sweep. It rests on a load that may read low, so that it may hold back an alert and
never causes one.

Why it is needed: K=3 on an H200 made 11.8 thousand tok/s of 160 clients when it was swept (12% less than the baseline),
and on another H200 soon after 14.1 and then 12.8 thousand of 161. No repeats of a sweep show such a change.
"""

from __future__ import annotations

import math

import numpy as np

from monitor.live_window import LiveWindow
from monitor.now_values import AsOfNow
from probes.answer_values import Axis, BandPoint, Crossover, CurveSample
from probes.crossover.estimate import at_end, curve_at
from probes.crossover.noise import COMMON_SIGMA, Z_BAND
from probes.steptime.shift import output_shift
from probes.steptime.values import Mix
from probes.values import EngineKind

GAUGE_LOW = 0.20
"""How far below the truth a polled mean of running + waiting may read, where requests move in waves, ..."""
WHOLE_LOW = 0.06
"""... and the most that can be there where vLLM's page tells what its gauges miss. The load as read was up to 6.9% low
on an H200 while a drafting arm was loaded (docs/metrics.md), and the most that can be there at most 4.7%. SGLang's
gauges, which come with every tenth step, read lower even so."""
MAX_LOAD_ERROR = 0.10
"""A mean load less sure than this (standard error over mean) belongs to no one point of a curve."""


def observed_speedup(found: Crossover, window: LiveWindow, mix: Mix | None, answer_tokens: float) -> BandPoint | None:
    """The busiest engine's output over the baseline's expected one at its concurrency, with a 90% band.

    `mix` moves the baseline's curve; None leaves the sweep's. `answer_tokens` is the mean answer now. None where
    the output counter is not live, the load is outside what the baseline was measured at, or too unsteady.
    """
    engine = next((e for e in window.engines if e.engine == window.busiest_engine), None)
    x, error = window.concurrency, window.concurrency_error
    if engine is None or not engine.output_tok_s or not window.output_is_live or not x:
        return None
    if error is None or error > MAX_LOAD_ERROR or found.axis is not Axis.CONCURRENCY_PER_ENGINE:
        return None
    curve = found.curves.get(found.baseline, ())
    moved = _moved(found, curve, mix)
    if moved is None:
        return None
    here = curve_at(moved, at_end(x, [s.concurrency for s in moved]))
    if here is None:
        return None
    most = engine.concurrency_most if window.engine_kind is EngineKind.VLLM else None
    low, highest = (GAUGE_LOW, x) if most is None else (WHOLE_LOW, max(x, most))
    first, last = x * (1 - Z_BAND * error), highest * (1 + Z_BAND * error) / (1 - low)
    may_be = [_reach(moved, first), here, *(s for s in moved if first < s.concurrency < last), _reach(moved, last)]
    runs = math.exp(Z_BAND * COMMON_SIGMA)
    made = engine.output_tok_s
    low = made * (1 - _overcount(window, answer_tokens)) / (max(s.high for s in may_be) * runs)
    return BandPoint(x, made / here.tok_s, low, made / min(s.low for s in may_be) * runs)


def _overcount(window: LiveWindow, answer_tokens: float) -> float:
    """Share of a live output counter that no user got, at most.

    SGLang's counts the step in which a request ends in full, and with overlapped scheduling one more: up to 2 K tokens
    an answer (0.7 to 1.0% were seen with K = 3 and answers of 256).
    """
    if window.engine_kind is not EngineKind.SGLANG or not window.k:
        return 0.0
    return min(1.0, 2 * window.k / answer_tokens)


def _moved(found: Crossover, curve: tuple[CurveSample, ...], mix: Mix | None) -> list[CurveSample] | None:
    """The baseline's curve at another mix; None where no model can move it."""
    if mix is None:
        return list(curve)
    model = found.step_model
    if model is None or found.baseline not in model.arms or not curve:
        return None
    value, sd = output_shift(model, found.baseline, np.array([s.concurrency for s in curve]), None, mix)
    return [
        CurveSample(
            s.concurrency,
            s.tok_s * math.exp(v),
            s.tok_s * math.exp(v - math.hypot(math.log(s.tok_s / s.low), Z_BAND * e)),
            s.tok_s * math.exp(v + math.hypot(math.log(s.high / s.tok_s), Z_BAND * e)),
        )
        for s, v, e in zip(curve, value, sd, strict=True)
    ]


def weighed(swept: BandPoint, observed: BandPoint) -> BandPoint:
    """What sweep and live output say together of the speedup at one load, with a 90% band.

    Each counts by its width (inverse variance of the logarithms). Where the two are further apart than their widths
    explain, the band is as much wider (Birge's ratio), but no wider than both: then one of them is wrong, and nobody
    can tell which.
    """
    logs, spreads = zip(*((math.log(p.low * p.high) / 2, _spread(p)) for p in (swept, observed)), strict=True)
    weights = [spread**-2 for spread in spreads]
    middle = sum(weight * log for weight, log in zip(weights, logs, strict=True)) / sum(weights)
    apart = abs(logs[0] - logs[1]) / math.hypot(*spreads)
    half = Z_BAND * sum(weights) ** -0.5 * max(1.0, apart)
    low = max(math.exp(middle - half), min(swept.low, observed.low))
    high = min(math.exp(middle + half), max(swept.high, observed.high))
    return BandPoint(swept.concurrency, math.exp(middle), low, high)


def with_output(speedup: BandPoint, now: AsOfNow | None) -> BandPoint:
    """The band at the live load with the live output weighed in, where that speaks for more than the band does.

    Less output than the sweep found explains no loss away, and causes no alert either: the gauge may err.
    """
    if now is None or now.observed is None or now.observed.ratio <= speedup.ratio:
        return speedup
    return weighed(speedup, now.observed)


def _spread(point: BandPoint) -> float:
    """Standard deviation of a ratio's logarithm, from its 90% band."""
    return max(math.log(point.high / point.low) / (2 * Z_BAND), 1e-9)


def _reach(curve: list[CurveSample], concurrency: float) -> CurveSample:
    """The curve where it was measured, and beyond its ends as steep as it can be there.

    Below: in proportion to the load. Above: as steep as its last octave, because output bends down as load rises.
    """
    found = curve_at(curve, concurrency)
    if found is not None:
        return found
    end = curve[0] if concurrency < curve[0].concurrency else curve[-1]
    steep = 1.0 if end is curve[0] else _last_octave(curve)
    share = (concurrency / end.concurrency) ** steep
    return CurveSample(concurrency, end.tok_s * share, end.low * share, end.high * share)


def _last_octave(curve: list[CurveSample]) -> float:
    """Slope of log output over log load in the curve's last octave, 0 to 1; 1 where less than that was measured."""
    end = curve[-1]
    before = curve_at(curve, end.concurrency / 2)
    if before is None:
        return 1.0
    return min(1.0, max(0.0, math.log(end.tok_s / before.tok_s) / math.log(2)))
