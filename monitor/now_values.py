"""The frozen values of live traffic that are more than a reading: its mix, the crossover as of now, what an arm costs.

No behaviour, no clock, no I/O; beside `values.py`, whose `EndpointStatus` carries them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.answer_values import ArmVerdict, BandPoint, Verdict
from probes.steptime.values import Mix
from probes.values import Reason


@dataclass(frozen=True, slots=True)
class LiveMix:
    """What finished requests looked like over the last minutes, all engines together."""

    mix: Mix
    requests: float
    """Finished requests that it rests on."""
    span_s: float
    spread: float = 1.0
    """Standard deviation of a length over its mean, the larger of prompts' and answers', as the buckets show it."""


@dataclass(frozen=True, slots=True)
class AsOfNow:
    """What the sweep's answer for one arm becomes at the acceptance and the mix that traffic has now."""

    for_arm: str
    verdict: Verdict
    value: float | None
    low: float | None
    high: float | None
    band: tuple[BandPoint, ...]
    """Empty where it is withdrawn; `reasons` say why."""
    acceptance_length: float | None
    """Live; None while speculation is off, where the sweep's own is taken."""
    acceptance_measured: float | None
    """The sweep's."""
    break_even: BandPoint | None
    """At the live concurrency: `ratio` is the acceptance length at which the arm would equal the baseline."""
    mix: LiveMix | None
    mix_measured: Mix | None
    """The nearest mix that a sweep has covered."""
    observed: BandPoint | None
    """Live arm's own tok/s over the baseline's expected at the live concurrency and mix; None where unknown."""
    reasons: tuple[Reason, ...] = ()
    decides: bool = False
    """Acceptance or mix moved by more than their own noise: verdict, speedup, headroom and alert go by this band, and
    where it is withdrawn nothing is compared. False: they go by the sweep's."""
    arms: Mapping[str, ArmVerdict] = field(default_factory=dict)
    """Every speculative arm's answer as of now, where `decides`; one whose acceptance the live arm's cannot tell is
    left out."""
    no_break_even: Reason | None = None
    """Where no acceptance length makes the two equal: `never_pays` or `always_pays`."""
    acceptance_moved: bool = False
    """The live acceptance length left the sweep's by more than its own noise."""
    mix_moved: bool = False
    """So did the lengths of requests."""


@dataclass(frozen=True, slots=True)
class Span:
    """A number with its 90% interval; edges are None where they are open."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ArmAtRate:
    """Where another arm would sit if it carried the same arrivals."""

    arm: str
    concurrency: Span | None
    """None where it could not carry them, or where nothing was measured; `reason` says which."""
    time_per_token: Span | None
    """Its time per token over the live arm's."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the live arm costs (positive) or saves (negative) at the live concurrency."""

    slower_pct: Span
    """Time per token against the baseline at the same concurrency, in percent."""
    ms_per_token: Span | None
    best_arm: str | None
    """The best measured arm at this concurrency; the live arm itself where none is better."""
    capacity_tok_s: Span | None
    """Output per engine that the best arm could make at this concurrency beyond the live arm's."""
    saturated: bool | None
    """Requests wait, so that a lower speed is lost output; None where the page does not say."""
    lost_tok_s: Span | None
    """Only while saturated; below saturation output equals what arrives and nothing of it is lost."""
    at_same_rate: tuple[ArmAtRate, ...] = ()
