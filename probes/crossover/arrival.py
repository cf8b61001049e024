"""Where another arm would sit if it carried the arrivals that one arm carries now: at one rate, not at one concurrency.

Below saturation the output of a server is what arrives, whatever the arm. By Little's law (requests in the system =
arrival rate x time in the system) time per token then goes with the requests in the system.

Requests that arrive at random do not keep their number steady, and a curve that bends makes the swings cost: a mean of
four in the system is slower than four all the time. So the curve gives a queue: with n in the system the engine makes
Y(n) tok/s, shared among them; with A tok/s asked for by Poisson arrivals, the chance of n is proportional to
A^n / (Y(1) Y(2) ... Y(n)), whatever the lengths of the answers (processor sharing with a rate that depends on the state
is insensitive to them: J. W. Cohen, "The multiple phase service network with generalized processor sharing", 1979).
The live arm's mean gives A, and A the other arm's mean.

Both arms are read off their curves at the live concurrency, never off the live token counter: whatever slows both arms
alike cancels. Traffic that changes how they compare needs curves as of now (`docs/cost.md` has what it costs without).
Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from probes.answer_values import BandPoint, CurveSample
from probes.crossover.noise import Floats
from probes.crossover.smooth import monotone_cubic

ALONE = 1.05
"""A lowest rung up to here is one request alone. Lighter loads are the same with pauses between, so the curve goes on
below it in proportion: that is no extrapolation of how the server scales."""
PAUSES = math.log(1e-4)
"""How far below it goes on, in log concurrency."""
FLAT = 0.1
"""Slope of log tok/s over log concurrency at a curve's top below which more requests bring no more output."""
UNSEEN = 0.05
"""Share of the time that may lie outside what was measured before nothing is said."""
HALVINGS = 32
MOST_STATES = 16_384
"""More requests than this on one engine are not told apart: far above any batch limit."""
GAP_POINTS = 9
"""Points per gap between rungs, both ends included, on which a curve is kept."""
BEND_WEIGHT = 1.0
"""How much of the bend between two rungs (the smooth line less the straight one) is added to the half width: with all
of it nine intervals in ten cover on sparse ladders too (`docs/cost.md`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One arm's tok/s per engine in natural logs, with the half width of its 90% band; equal only to itself."""

    log_x: Floats
    log_y: Floats
    half: Floats
    lowest: float
    """Lowest measured concurrency; 0 where that is one request alone."""
    top: float
    """Highest measured concurrency."""
    rising: bool
    """More requests would have brought more output than at the highest measured."""
    states: Floats
    """Log tok/s with 1, 2, ... requests in the system, up to the most that it made; beyond, it makes no more."""
    state_half: Floats

    def at(self, log_x: float) -> tuple[float, float] | None:
        """Log tok/s and half width; None outside what was measured."""
        if not self.log_x[0] <= log_x <= self.log_x[-1]:
            return None
        return float(np.interp(log_x, self.log_x, self.log_y)), float(np.interp(log_x, self.log_x, self.half))


def curve_of(samples: Sequence[CurveSample]) -> Curve | None:
    """A stored curve in logs, gone on with below one request alone; None with fewer than two rungs."""
    return _curve(tuple(samples))


@lru_cache(maxsize=256)
def _curve(samples: tuple[CurveSample, ...]) -> Curve | None:
    if len(samples) < 2:
        return None
    rows = np.log([(s.concurrency, s.tok_s, s.low, s.high) for s in samples])
    rungs, y, half = rows[:, 0], rows[:, 1], (rows[:, 3] - rows[:, 2]) / 2
    rising = bool((y[-1] - y[-2]) / (rungs[-1] - rungs[-2]) > FLAT)
    x = np.unique(np.concatenate([np.linspace(a, b, GAP_POINTS) for a, b in pairwise(rungs)]))
    straight, half = np.interp(x, rungs, y), np.interp(x, rungs, half)
    y = monotone_cubic(rungs, y, x)
    half = np.hypot(half, BEND_WEIGHT * (y - straight))
    alone = samples[0].concurrency <= ALONE
    # Below a higher first rung the proportion is a guess: `same_rate` says nothing where that counts.
    x, y, half = (np.concatenate([[x[0] + PAUSES], x]), np.concatenate([[y[0] + PAUSES], y]), np.append(half[:1], half))
    most = min(MOST_STATES, max(1, round(math.exp(x[int(np.argmax(y))]))))
    log_n = np.log(np.arange(1, most + 1))
    own = slice(0 if alone else 1, None)
    return Curve(
        log_x=x[own],
        log_y=y[own],
        half=half[own],
        lowest=0.0 if alone else samples[0].concurrency,
        top=samples[-1].concurrency,
        rising=rising,
        states=np.interp(log_n, x, y),
        state_half=np.interp(log_n, x, half),
    )


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
    """Where `arm` would sit, as a time mean, with the arrivals that `live` carries at a mean of `concurrency`.

    The interval is that of both curves together.
    """
    now = live.at(math.log(concurrency)) if concurrency > 0 else None
    if now is None:
        return SameRate(None, reason="the live load lies outside what was measured of the live arm")
    if arm is live:
        return SameRate(concurrency, concurrency, concurrency)
    asked = _offered(live, concurrency, now[0])
    queue = _queue(arm.states, asked)
    if queue is None or queue.mean > arm.top or (arm.rising and queue.beyond > UNSEEN):
        return _cannot(arm, asked)
    if queue.below(arm.lowest) > UNSEEN:
        few = f"it would often hold fewer than {arm.lowest:.3g} requests at once, and nothing was measured that low"
        return SameRate(None, reason=f"not known: {few} (a ladder that begins at 1 tells)")
    lighter = _shift(arm, queue.mean, arm.states + arm.state_half, asked, asked - now[1])
    heavier = _shift(arm, queue.mean, arm.states - arm.state_half, asked, asked + now[1])
    return SameRate(
        queue.mean,
        queue.mean * math.exp(-lighter) if lighter is not None else None,
        queue.mean * math.exp(heavier) if heavier is not None else None,
    )


@dataclass(frozen=True, slots=True)
class _Queue:
    """The time mean of requests in the system, and how the time is spread over their number."""

    mean: float
    chance: Floats
    """Of 0, 1, 2, ... up to the most that makes a difference."""
    beyond: float

    def below(self, lowest: float) -> float:
        """Share of the time with somebody in the system, but fewer than `lowest`."""
        return float(self.chance[1 : math.ceil(lowest)].sum()) if lowest else 0.0


def _queue(states: Floats, asked: float) -> _Queue | None:
    """The queue under Poisson arrivals that ask for exp(asked) tok/s; None where it would grow without end."""
    spare = 1.0 - math.exp(asked - states[-1])
    if spare <= 0:
        return None
    n = np.arange(states.size + 1)
    log_chance = n * asked - np.concatenate([[0.0], np.cumsum(states)])
    chance = np.exp(log_chance - log_chance.max())
    # Beyond the last state the engine makes no more: a geometric tail.
    tail = float(chance[-1]) * (1 - spare) / spare
    whole = float(chance.sum()) + tail
    mean = (float(chance @ n) + tail * (states.size + 1 / spare)) / whole
    return _Queue(mean, chance / whole, tail / whole)


@lru_cache(maxsize=4096)
def _offered(live: Curve, concurrency: float, made: float) -> float:
    """Log tok/s that arrivals ask for where the live arm holds `concurrency`; at most `made`, what it makes there."""
    high = min(made, float(live.states[-1]))
    low = high + PAUSES
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        queue = _queue(live.states, middle)
        if queue is None or queue.mean > concurrency:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _shift(arm: Curve, mean: float, states: Floats, asked: float, asked_edge: float) -> float | None:
    """How far the mean moves, in logs, with the arm's curve or the live one at an edge; None beyond the top."""
    one, two = _queue(states, asked), _queue(arm.states, asked_edge)
    if one is None or two is None or max(one.mean, two.mean) > arm.top:
        return None
    return math.hypot(math.log(one.mean / mean), math.log(two.mean / mean))


def _cannot(arm: Curve, asked: float) -> SameRate:
    # As a share: what another mix of requests does to both curves alike is not in them, so tok/s would be wrong.
    makes = f"it makes at most {100 * math.exp(arm.states[-1] - asked):.0f}% of that output"
    if arm.rising:
        return SameRate(None, reason=f"not known: it would often exceed {arm.top:.3g}, the highest that was measured")
    if asked < arm.states[-1] + arm.state_half[-1]:
        return SameRate(None, reason=f"at its limit within the noise: {makes}")
    return SameRate(None, reason=f"could not carry it: {makes}", overload=True)
