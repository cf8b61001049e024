"""The frozen values of an answer: points that go into the estimator, and verdicts, curves and schedules that come out.

No behaviour, no clock, no I/O. `None` always means "not known", never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from probes.steptime.values import StepModel
from probes.values import Reason


class Verdict(StrEnum):
    """What a sweep says of one arm against the baseline."""

    CROSSES = "crosses"
    ALWAYS_FASTER = "always_faster"
    NEVER_FASTER = "never_faster"
    UNCLEAR = "unclear"
    INSUFFICIENT = "insufficient"


class Axis(StrEnum):
    """What a crossover's x means; `clients` results compare with live load only where there is one engine."""

    CONCURRENCY_PER_ENGINE = "concurrency_per_engine"
    CLIENTS = "clients"


@dataclass(frozen=True, slots=True)
class BandPoint:
    """Speedup at one concurrency with its interval."""

    concurrency: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """An arm's highest sustained running batch and tok/s, both of one engine, and what ended the climb."""

    running: float
    tok_s: float
    limited_by: str


@dataclass(frozen=True, slots=True)
class ArmVerdict:
    """One arm against the baseline. `low`/`high` are the interval's edges; an open edge is None with a reason."""

    arm: str
    verdict: Verdict
    crossover: float | None
    low: float | None
    high: float | None
    speedup: tuple[BandPoint, ...]
    capacity: Capacity | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class BestRange:
    """The arm that is fastest over one stretch of concurrency."""

    start: float
    end: float
    arm: str
    margin_pct: float
    """Output over that of the next fastest arm, in percent, median over the stretch; negative where a simpler arm is
    named although another reads faster within the noise."""
    confident: bool
    """It leads every other arm that was measured there beyond the noise (90%)."""
    over: tuple[str, ...] = ()
    """The next fastest arms in the order in which they take turns; where not confident, those that noise cannot tell
    from it."""
    low_pct: float | None = None
    high_pct: float | None = None
    """Smallest and largest margin over the stretch."""
    noise_pct: float | None = None
    """Half width of the margin's 90% band, median over the stretch."""
    limited_above: float | None = None
    """Concurrency above which admission holds this arm back, where that is inside the stretch."""


@dataclass(frozen=True, slots=True)
class CurveSample:
    """One arm's fitted output at one concurrency, per engine, with its 90% interval."""

    concurrency: float
    tok_s: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ScheduleStep:
    """Draft length for one range of running batch sizes, ends included."""

    start: int
    end: int
    k: int
    arm: str
    """The measured arm that this step copies."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Draft lengths by batch size that the best arms imply: a hypothesis until that very configuration was an arm."""

    steps: tuple[ScheduleStep, ...]
    measured_as: str | None = None
    """The arm of this sweep that ran a schedule; None while nothing has measured one."""
    reasons: tuple[Reason, ...] = ()
    """How it fares against the static arms, or what has to be known before it is used."""

    @property
    def rows(self) -> list[list[int]]:
        """First size, last size, K: what vLLM's `num_speculative_tokens_per_batch_size` takes."""
        return [[step.start, step.end, step.k] for step in self.steps]


@dataclass(frozen=True, slots=True)
class Crossover:
    """The whole answer of one sweep (or of a file of results)."""

    baseline: str
    axis: Axis
    arms: Mapping[str, ArmVerdict]
    best: tuple[BestRange, ...] = ()
    curves: Mapping[str, tuple[CurveSample, ...]] = field(default_factory=dict)
    """Every arm's own output tok/s per engine, the baseline's included."""
    latency: Mapping[str, Mapping[str, ArmVerdict]] = field(default_factory=dict)
    """By metric (`tpot_p50`, `tpot_p99`, `ttft_p50`, `ttft_p99`), then by arm: the same verdicts, where the ratio is
    the baseline's latency over the arm's, so that above 1 is faster."""
    schedule: Schedule | None = None
    step_model: StepModel | None = None
    """How long an engine step takes, fitted over all arms; None where the cells cannot tell."""
    acceptance: Mapping[str, float] = field(default_factory=dict)
    """Mean acceptance length that each speculative arm of one K was measured at, where its counters told it."""
    baseline_capacity: Capacity | None = None
    """What the baseline holds, beside the arms' own: drafts take KV space."""
    notes: tuple[Reason, ...] = ()
    """What concerns no single arm, such as why there is no schedule."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One throughput measurement as the estimator takes it."""

    arm: str
    concurrency: float
    output_tok_s: float
    repeat: int
    limited: bool = False
    """Admission-limited (waiting, preemption or KV): counts for capacity, not for the curve's shape."""
    start: int | None = None
    """Server start it was measured on, where arms are restarted: starts differ by more than repeats of one start."""
    running: float | None = None
    kv_usage: float | None = None
    engines: int = 1
    """Engines whose output `output_tok_s` sums."""
    k: float | None = None
    """Draft tokens per step by the counters; 0 without speculation, None where they do not tell."""
