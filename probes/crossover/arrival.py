"""Where another arm would sit if it carried the arrivals that one arm carries now: at one rate, not at one concurrency.

Below saturation the output of a server is what arrives, whatever the arm. By Little's law (requests in the system =
arrival rate x time in the system) the same requests per second and the same answers give the same tok/s, so another arm
sits where its own curve makes that many, and its time per token is to the live one's as the two concurrencies are.

Both curves are read where the live arm sits, never off the live token counter: traffic of another shape than the
sweep's moves all arms alike, and the ratio of two points of the measured curves does not see it. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from probes.crossover.noise import Floats
from probes.values import BandPoint, CurveSample

ALONE = 1.05
"""A lowest rung up to here is one request alone. Lighter loads are the same with pauses between, so the curve goes on
below it in proportion: that is no extrapolation of how the server scales."""
PAUSES = math.log(1e-4)
"""How far below it goes on, in log concurrency."""
FLAT = 0.1
"""Slope of log tok/s over log concurrency at a curve's top below which more requests bring no more output."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One arm's tok/s per engine in natural logs, with the half width of its 90% band."""

    log_x: Floats
    log_y: Floats
    half: Floats
    top: float
    """Highest measured concurrency."""

    def at(self, log_x: float) -> tuple[float, float] | None:
        """Log tok/s and half width; None outside what was measured."""
        if not self.log_x[0] <= log_x <= self.log_x[-1]:
            return None
        return float(np.interp(log_x, self.log_x, self.log_y)), float(np.interp(log_x, self.log_x, self.half))


def curve_of(samples: Sequence[CurveSample]) -> Curve | None:
    """A stored curve in logs, gone on with below one request alone; None with fewer than two rungs."""
    if len(samples) < 2:
        return None
    rows = np.log([(s.concurrency, s.tok_s, s.low, s.high) for s in samples])
    x, y, half = rows[:, 0], rows[:, 1], (rows[:, 3] - rows[:, 2]) / 2
    if samples[0].concurrency <= ALONE:
        x, y, half = (
            np.concatenate([[x[0] + PAUSES], x]),
            np.concatenate([[y[0] + PAUSES], y]),
            np.concatenate([half[:1], half]),
        )
    return Curve(x, y, half, samples[-1].concurrency)


def curves_of(samples: Mapping[str, Sequence[CurveSample]]) -> dict[str, Curve]:
    """Every arm's curve that can be read."""
    return {arm: curve for arm, own in samples.items() if (curve := curve_of(own)) is not None}


def lead(arm: Curve, other: Curve, concurrency: float) -> BandPoint | None:
    """Output of `arm` over that of `other` at one concurrency, both bands together; None where one was not measured."""
    if concurrency <= 0:
        return None
    one, two = arm.at(math.log(concurrency)), other.at(math.log(concurrency))
    if one is None or two is None:
        return None
    value, half = one[0] - two[0], math.hypot(one[1], two[1])
    return BandPoint(concurrency, math.exp(value), math.exp(value - half), math.exp(value + half))


@dataclass(frozen=True, slots=True)
class SameRate:
    """Requests per engine with the 90% interval; edges are None where what was measured does not close them."""

    concurrency: float | None
    """None where the arm could not carry that rate, or nobody measured whether it could; `reason` says which."""
    low: float | None = None
    high: float | None = None
    reason: str = ""
    overload: bool = False
    """It could not carry that rate."""


def same_rate(live: Curve, arm: Curve, concurrency: float) -> SameRate:
    """Where `arm` would sit with the arrivals that `live` carries at `concurrency`.

    The lowest concurrency at which the arm makes as many tok/s: with arrivals that do not wait for answers, that is
    where it settles. The interval is that of both curves together.
    """
    now = live.at(math.log(concurrency)) if concurrency > 0 else None
    if now is None:
        return SameRate(None, reason="the live load lies outside what was measured of the live arm")
    if arm is live:
        return SameRate(concurrency, concurrency, concurrency)
    wanted, half = now[0], np.hypot(arm.half, now[1])
    at = _first(arm.log_x, arm.log_y, wanted)
    if at is None:
        return _cannot(arm, wanted, half)
    if at == -math.inf:
        lowest = math.exp(arm.log_x[0])
        return SameRate(None, reason=f"it would sit below {lowest:.3g}, the lowest that was measured of it")
    return SameRate(
        math.exp(at),
        _exp(_first(arm.log_x, arm.log_y + half, wanted)),
        _exp(_first(arm.log_x, arm.log_y - half, wanted)),
    )


def _cannot(arm: Curve, wanted: float, half: Floats) -> SameRate:
    most = int(np.argmax(arm.log_y))
    made = f"{math.exp(arm.log_y[most]):.0f} tok/s at {math.exp(arm.log_x[most]):.3g}"
    if float(np.max(arm.log_y + half)) >= wanted:
        return SameRate(None, reason=f"at its limit within the noise: it made at most {made}")
    slope = (arm.log_y[-1] - arm.log_y[-2]) / (arm.log_x[-1] - arm.log_x[-2])
    if slope > FLAT:
        return SameRate(None, reason=f"not known: it made {made}, the highest measured, and was still rising")
    return SameRate(None, reason=f"could not carry it: it made at most {made}", overload=True)


def _first(log_x: Floats, log_y: Floats, wanted: float) -> float | None:
    """Where the line first reaches `wanted` from below; -inf where it starts above, None where it never does."""
    reached = np.flatnonzero(log_y >= wanted)
    if not reached.size:
        return None
    right = int(reached[0])
    if right == 0:
        return float(log_x[0]) if math.isclose(log_y[0], wanted, abs_tol=1e-9) else -math.inf
    share = (wanted - log_y[right - 1]) / (log_y[right] - log_y[right - 1])
    return float(log_x[right - 1] + share * (log_x[right] - log_x[right - 1]))


def _exp(edge: float | None) -> float | None:
    return math.exp(edge) if edge is not None and edge != -math.inf else None
