"""What every format of results is read into, and the error that tells a person what is wrong with a file.

No format is known here, and no verdict is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from probes.answer_values import Axis, CurvePoint
from probes.values import Cell, Latency, Reason

UNKNOWN = Latency(None, None)
MOST, LEAST = 1e15, 1e-9
"""No time, count or rate of a benchmark lies beyond these; what does is damage, and must not overflow later."""


class ResultFileError(Exception):
    """A result file that cannot be used: which one, where in it, what is wrong and what to do."""

    def __init__(self, path: Path | str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = str(path)
        self.message = message


@dataclass(frozen=True, slots=True)
class Drafting:
    """What a run's counters say of speculation over that run, all engines together."""

    drafts: float
    draft_tokens: float
    accepted_tokens: float
    accepted_per_pos: tuple[float, ...] = ()
    """Accepted per draft by position."""

    @property
    def k(self) -> float:
        """Draft tokens per step."""
        return self.draft_tokens / self.drafts


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement as a file states it. None is what the file does not say."""

    path: Path
    where: str
    """`line 3`, `record 2`: for messages."""
    arm: str
    clients: float | None
    """Closed-loop clients for the whole endpoint; None where requests were sent at a rate."""
    output_tok_s: float
    """All engines together."""
    in_system: float | None = None
    """Requests in the system per engine, time mean, where the file has it."""
    in_flight: float | None = None
    """The same for the whole endpoint, by Little's law over the run."""
    rate: float | None = None
    """Requests per second that paced the run, where no number of clients did."""
    repeat: int | None = None
    """As the file numbers it."""
    tool: str = ""
    """What measured it; empty for a table."""
    engines: int | None = None
    k: int | None = None
    """Draft tokens per step as configured; 0 where the file says that speculation is off."""
    drafting: Drafting | None = None
    drafted: bool | None = None
    """Whether anything was drafted in this run; None where the file does not tell, not even by silence."""
    ended_at_s: float | None = None
    duration_s: float | None = None
    completed: int | None = None
    finished_share: float | None = None
    """Of the request-seconds, those of requests that finished; tokens of the others are estimated where below 1."""
    failed: int = 0
    prompt_tokens_mean: float | None = None
    output_tokens_mean: float | None = None
    ttft: Latency = UNKNOWN
    tpot: Latency = UNKNOWN
    e2e: Latency = UNKNOWN
    model: str | None = None
    version: str | None = None
    made_up: bool | None = None
    """Whether the prompts were random or synthetic text."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a `sweep --out` file says of its sweep beside the cells."""

    path: Path
    sweep_id: int
    pool: str
    started_at_s: float
    ended_at_s: float
    outcome: str
    reason: str
    live_arm: str | None
    fingerprint: str
    identities: Mapping[str, Mapping[str, object]]
    plan: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Imported:
    """Results measured elsewhere, ready for the estimator."""

    points: tuple[CurvePoint, ...]
    axis: Axis
    notes: tuple[str, ...]
    """For people: what was assumed or left out."""
    baseline: str
    files: tuple[Path, ...]
    cells: tuple[Cell, ...] = ()
    """The runs that say more than a throughput; on the axis of clients their concurrency is not known."""
    arm_k: Mapping[str, int | None] = field(default_factory=dict)
    """K by arm, None without speculation; an arm whose K no file tells is left out."""
    reasons: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    """What qualifies an arm's verdict."""
    refused: Mapping[str, Reason] = field(default_factory=dict)
    """Arms that cannot be judged, whatever their numbers."""
    tools: tuple[str, ...] = ()
    engines_assumed: bool = False
    """Runs of a whole endpoint were taken for one engine's, since neither a file nor the caller said how many."""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    sglang_versions: tuple[str, ...] = ()
    """Those of `versions` that SGLang servers told of themselves."""
    measured_s: tuple[float, float] | None = None
    """Unix time of the first and the last run's end, where every file tells it."""
    origin: Origin | None = None
    """Where all of it is one sweep of specwatch on some host."""


def positive(value: object, path: Path, where: str, name: str) -> float:
    """A finite number above zero, from JSON or CSV text; ResultFileError with place and name otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ResultFileError(path, f"{where}: {name} is {value!r}; it must be a number above 0.")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number > MOST:
        raise ResultFileError(path, f"{where}: {name} is {value!r}; it must be a finite number, like 1234.5.")
    if number < LEAST:
        raise ResultFileError(path, f"{where}: {name} is {value}; it must be above 0. Leave failed runs out.")
    return number


def known(value: object) -> float | None:
    """A finite number that is not negative, else None: for what a file may have but need not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Comparing first: an integer of JSON may be too large for a float. NaN fails every comparison.
    return float(value) if 0 <= value <= MOST else None


def above_zero(value: object) -> float | None:
    """A finite number above zero, else None."""
    number = known(value)
    return number if number is not None and number >= LEAST else None


def whole(value: object) -> int | None:
    """A count, else None."""
    number = known(value)
    return int(number) if number is not None else None
