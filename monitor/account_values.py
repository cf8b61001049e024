"""The frozen values of a day's account: what a minute held, and what all minutes come to. No behaviour beyond words.

Concurrency is requests in the system per engine; shares are of engine time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from monitor.now_values import AsOfNow, LiveMix, Span
from probes.answer_values import Verdict
from probes.steptime.values import Mix


@dataclass(frozen=True, slots=True)
class EngineMinute:
    """One engine over one minute (or less) in which its configuration did not change."""

    at_s: float
    """Middle of the minute, Unix seconds."""
    engine: str
    seconds: float
    """What good pairs of scrapes cover of it."""
    concurrency: float | None
    """Time mean of running + waiting; None where the page does not say."""
    output_tokens: float | None
    waiting_share: float | None
    """Share of the looks in which requests waited."""
    speculation_configured: bool | None
    k: int | None
    drafts: float | None
    accepted: float | None
    swept: bool
    """A sweep loaded the server: not traffic."""

    @property
    def drafting(self) -> bool | None:
        """Whether speculation drafted; None where nothing was made, so that nobody can tell."""
        if self.speculation_configured is False:
            return False
        if self.drafts:
            return True
        return False if self.drafts == 0 and self.output_tokens else None


@dataclass(frozen=True, slots=True)
class Portion:
    """How much of the time something was so."""

    seconds: float
    share: float
    """0..1 of all engine time of the account, sweeps left out."""
    tokens: float | None
    """Output made meanwhile; None where a page did not count it."""


@dataclass(frozen=True, slots=True)
class PerToken:
    """Time per token against the baseline at the same concurrency, in percent: positive is slower."""

    by_time: Span
    """Mean over the seconds."""
    by_token: Span | None
    """Mean over the tokens; None where they were not counted."""
    covered: float
    """Share of the seconds whose load lies inside what the sweep measured."""


@dataclass(frozen=True, slots=True)
class ArmDay:
    """What one arm, or the best arm minute by minute, would have done with the same arrivals."""

    arm: str
    time_per_token: Span | None
    """In the system, over the live arm's, mean over all requests' time; None where no minute could be solved."""
    ms_per_token: Span | None
    capacity_pct: Span | None
    """Output more (or less) at the same concurrency, in percent of the live arm's."""
    covered: float
    """Share of the busy seconds that could be solved."""
    overload_s: float
    """Seconds in which it could not have carried the load."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Own traffic in which acceptance and mix stayed the same, with the answer as of then."""

    first_s: float
    last_s: float
    as_of: AsOfNow | None
    """None where nothing tells; the sweep's own answer counts then. Stretches that are nearly alike share one."""
    mix: LiveMix | None = None
    """Of this very stretch."""


@dataclass(frozen=True, slots=True)
class JudgedStretch:
    """What one stretch of the account was judged by."""

    first_s: float
    last_s: float
    moved: bool
    """Acceptance or mix had left what was swept, and the answer as of then counts."""
    arm: str | None
    verdict: Verdict | None
    crossover: float | None
    low: float | None
    high: float | None
    acceptance_length: float | None
    """Mean of the stretch."""
    acceptance_measured: float | None
    mix: Mix | None
    """Mean lengths of what finished in it."""
    mix_measured: Mix | None
    said: str
    """The crossover as of then in words."""


@dataclass(frozen=True, slots=True)
class DayAccount:
    """What speculation brought and cost over a stretch of stored traffic, by one sweep's answer."""

    since_s: float
    until_s: float
    engines: int
    baseline: str
    above: Portion
    inside: Portion
    below: Portion
    idle: Portion
    unknown: Portion
    unknown_why: tuple[tuple[str, float], ...]
    """Reasons with their seconds, longest first."""
    swept_s: float
    """Engine time under sweeps, in none of the shares."""
    baseline_s: float
    """Engine time in which the baseline ran, so that speculation neither cost nor gained."""
    slower_above: PerToken | None
    """While speculation ran above the crossover."""
    slower_below: PerToken | None
    """While it ran below: negative is the gain."""
    tokens: float | None
    live_ms_per_token: float | None
    """Mean time in the system per output token, over the minutes whose arm is known."""
    arms: tuple[ArmDay, ...] = ()
    best_static: str | None = None
    """The arm with the least time per token of those that could have carried everything."""
    routed: ArmDay | None = None
    """Each minute on the best static arm, or on one that is faster there by more than the noise."""
    routed_s: dict[str, float] = field(default_factory=dict)
    """Seconds by arm of that mix."""
    saturated_s: float | None = None
    """Engine time in which requests waited; None where no page tells."""
    lost_tokens: Span | None = None
    """Only over saturated minutes: what the best arm would have made beyond the live one. None where none was."""
    acceptance_length: float | None = None
    """Mean over all the time in which it drafted."""
    acceptance_measured: float | None = None
    """The sweep's for the same arm."""
    moved: bool = False
    """Somewhere acceptance or mix left what was swept, and the account goes by the answer as of then."""
    stretches: tuple[JudgedStretch, ...] = ()
    """What each part of the time was judged by, oldest first."""
    notes: tuple[str, ...] = ()
    """What has to be known of it."""
