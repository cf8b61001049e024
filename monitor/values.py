"""The frozen values the monitor's rooms pass to each other: live status, sweep progress, alert records, one snapshot.

No behaviour, no clock, no I/O: the store reads into these, `state.py` derives them, alerts and screens take them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from monitor.now_values import AsOfNow, Cost
from probes.answer_values import BandPoint, Crossover, Verdict
from probes.values import Cell, EngineKind, Reading, State


class LiveVerdict(StrEnum):
    """Where the live concurrency sits against the newest crossover."""

    BELOW = "below"
    INSIDE = "inside"
    ABOVE = "above"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StoredReading:
    """A reading as the store gives it back, with the sweep that loaded the endpoint then (or shortly before)."""

    reading: Reading
    sweep_id: int | None


@dataclass(frozen=True, slots=True)
class StoredCrossover:
    """The newest finished sweep's answer for one pool and fingerprint."""

    sweep_id: int
    pool: str
    fingerprint: str
    measured_at_s: float
    result: Crossover
    arm_k: dict[str, int | None]
    """Configured K per arm as seen in the sweep; None = no speculation on the page."""
    live_arm: str | None
    """Declared in config at the time, where it was."""
    imported: bool = False
    """It was measured elsewhere, with another client."""


@dataclass(frozen=True, slots=True)
class EngineNow:
    """One engine over the live window."""

    engine: str
    running: float | None
    waiting: float | None
    kv_usage: float | None
    concurrency: float | None
    """Mean requests in the system over the live window."""
    output_tok_s: float | None
    unseen: float | None = None
    """Of these, how many the gauges do not show; None where nothing tells (monitor.live_load)."""
    concurrency_most: float | None = None
    """Requests in the system at most, where something tells."""


@dataclass(frozen=True, slots=True)
class CrossoverNow:
    """The crossover that the endpoint is compared with."""

    for_arm: str
    verdict: Verdict
    value: float | None
    low: float | None
    high: float | None
    age_s: float
    sweep_id: int
    expired: bool
    band: tuple[BandPoint, ...]
    imported: bool = False
    """It was measured elsewhere."""


@dataclass(frozen=True, slots=True)
class EndpointStatus:
    """Everything known of one endpoint at one instant; the row of the fleet table and of `once --json`."""

    name: str
    pool: str
    state: State
    reason: str
    age_s: float | None
    """Age of the newest good reading; None where there is none."""
    engine_kind: EngineKind | None
    version: str | None
    engines: tuple[EngineNow, ...]
    running_max: float | None
    concurrency: float | None
    """Busiest engine's."""
    busiest_engine: str | None
    speculation_configured: bool | None
    drafting: bool | None
    k: int | None
    effective_k: float | None
    acceptance_length: float | None
    acceptance_rate: float | None
    live_arm: str | None
    live_arm_reason: str
    crossover: CrossoverNow | None
    verdict: LiveVerdict
    verdict_reason: str
    alerting: bool
    """The alert rule's condition holds right now; never for "above" while speculation is off."""
    alerting_reason: str
    speedup_now: BandPoint | None
    """Live arm against baseline at the live concurrency, with its band; None outside the measured range."""
    headroom: float | None
    """Crossover's lower edge over live concurrency; None unless the verdict is `crosses` and that edge is closed."""
    loss_pct: float | None
    """1 - speedup in percent at the live concurrency, where it is a loss."""
    output_tok_s: float | None
    ttft_p50_ms: float | None
    ttft_p99_ms: float | None
    tpot_p50_ms: float | None
    tpot_p99_ms: float | None
    sweep_id: int | None
    """A sweep is loading this endpoint, or did within the settle time."""
    rule_applies: bool = False
    """Whether the alert rule can judge at all: speculation on, crossover known and fresh, load measured, no sweep."""
    as_of_now: AsOfNow | None = None
    """None where nothing speaks for it: no model, no acceptance, no finished requests."""
    cost: Cost | None = None


class AlertPhase(StrEnum):
    """Prometheus' words."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"


@dataclass(frozen=True, slots=True)
class AlertState:
    """One rule on one endpoint; three instants decide everything."""

    endpoint: str
    rule: str
    """`above_crossover` | `not_restored`."""
    phase: AlertPhase = AlertPhase.INACTIVE
    pending_since_s: float | None = None
    firing_since_s: float | None = None
    clear_since_s: float | None = None
    """Since when the leave condition holds while firing."""
    alert_id: str | None = None
    """Set when it fires; the same id goes out with the resolution."""
    evaluated_at_s: float | None = None
    no_data_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """A transition worth telling: written with the state in one transaction, then delivered from the outbox."""

    alert_id: str
    endpoint: str
    pool: str
    rule: str
    kind: str
    """`firing` | `resolved`."""
    at_s: float
    started_at_s: float
    """When the condition first held."""
    title: str
    text: str
    """Plain text for a person: what, how much, since when, what to do."""
    facts: dict[str, str | float | int | bool | None]
    """Machine-readable: concurrency, crossover, low, high, speedup, live_arm, age_s, sweep_id, best_arm ..."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one channel."""

    id: int
    event: AlertEvent
    channel: str
    created_at_s: float
    attempts: int
    next_try_s: float
    delivered_at_s: float | None
    dead_at_s: float | None
    """Given up: the channel refused it for good."""
    last_error: str
    superseded: bool = False
    """Ended unsent because what it would tell was over before it could be told; no fault of the channel."""


GATE_PHASE = "gate"
"""While a sweep only watches: nothing of ours is on the servers yet."""


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """How far a running sweep is."""

    phase: str
    """gate | preflight | restart | warmup | cells | backoff | refine | restore | estimate | done."""
    done_cells: int
    total_cells: int
    arm: str | None
    rung: int | None
    repeat: int | None
    eta_s: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """One sweep in the store, running or ended."""

    id: int
    pool: str
    endpoint: str
    started_at_s: float
    ended_at_s: float | None
    outcome: str
    """running | measured | refused | aborted | arm_mismatch | died | failed | not_restored."""
    reason: str
    trigger: str
    """schedule | command | intent."""
    who: str
    pid: int
    host: str
    fingerprint: str
    baseline: str
    live_arm: str | None
    plan: dict[str, object]
    progress: SweepProgress | None
    result: Crossover | None
    exit_code: int | None
    arm_k: dict[str, int | None] = field(default_factory=dict)
    """Configured K per arm as the pages showed it."""
    identities: dict[str, dict[str, object]] = field(default_factory=dict)
    """What each arm's server said of itself."""
    resumes: int | None = None
    """The broken-off sweep that this one went on with."""
    ended_by: str = ""
    """Of an aborted sweep: traffic | stop | owner | budget. Of a refused one: the gate's codes, with commas between."""
    tally: dict[str, object] = field(default_factory=dict)
    """What it used up: tokens, backoffs, refined_cells; only what is known."""


@dataclass(frozen=True, slots=True)
class Unrestored:
    """A server that a sweep restarted and that has not been put back."""

    endpoint: str
    reason: str
    """For people: what hinders; empty where nobody has tried yet."""
    attempts: int
    """Tries to restore so far that failed."""
    live_arm: str | None
    journal: str
    """Path of the file that tells how to restore."""
    seen: str = ""
    """What its page showed last, in words; empty where nobody has looked."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody asked for: sweep now, abort, pause, resume, acknowledge; with who, where, when and why."""

    id: int
    kind: str
    """sweep | abort | pause | resume | ack."""
    subject: str
    """A pool, endpoint or alert id; empty for all."""
    who: str
    host: str
    created_at_s: float
    reason: str
    args: dict[str, object]
    claimed_at_s: float | None
    done_at_s: float | None
    result: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One point of an endpoint's history for charts; gaps are missing samples, never zeros."""

    at_s: float
    concurrency: float | None
    output_tok_s: float | None
    acceptance_length: float | None
    ttft_p50_ms: float | None
    kv_usage: float | None
    in_sweep: bool


@dataclass(frozen=True, slots=True)
class AlertTerms:
    """The numbers of the alert rule that the screens name."""

    tolerated_loss_pct: float
    clear_loss_pct: float
    keep_firing_for_s: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that the screens draw, at one instant; widgets never query."""

    at_s: float
    endpoints: tuple[EndpointStatus, ...]
    history: dict[str, tuple[Sample, ...]]
    sweeps: tuple[SweepRecord, ...]
    """Newest first, running ones included."""
    cells: dict[int, tuple[Cell, ...]]
    """For the newest sweep of each pool, and for older ones as they are read."""
    alerts: tuple[AlertState, ...]
    events: tuple[AlertEvent, ...]
    """Newest first."""
    deliveries: tuple[Delivery, ...]
    mode: str
    """daemon | local | daemon_gone."""
    daemon: str
    """`pid 123 on host` or empty."""
    paused_until_s: float | None
    pause_reason: str
    next_sweep_at_s: dict[str, float]
    """By pool, from the schedule."""
    terms: AlertTerms
    acks: dict[str, Intent] = field(default_factory=dict)
    """Newest acknowledgement by alert id."""
    unrestored: tuple[Unrestored, ...] = ()
    unprobed: frozenset[str] = frozenset()
    """Pools without an `[endpoint.probe]`: nothing ever sweeps them."""
    asked: tuple[Intent, ...] = ()
    """Sweeps that were asked for and whose request has lately come to an end, newest first."""
    note: str = ""
    """What whoever opened this viewer does meanwhile; empty but in the demo."""
