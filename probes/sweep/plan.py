"""What one sweep will do, in which order and at what cost; pure, so that `--plan` and the sweep itself cannot differ.

Touches no server and no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from probes.answer_values import CurvePoint
from probes.load.recipe import Form
from probes.load.request import Sampling
from probes.load.shape import CHARS_PER_TOKEN, LengthShape
from probes.sweep.request_time import DRAIN_MAX_S, RAMP_MAX_S, grown_s
from probes.values import Target

STREAM_TOK_S_UPPER = 200.0
"""Output rate that one stream is assumed not to pass, for the upper bound of tokens, where none was measured yet."""
MORE_THAN_LAST = 1.25
"""Slack over what an earlier sweep's cells made: servers change a little, and answers differ in length."""
TOKEN_S_GUESS = 0.015
"""Seconds per token of a stream before anything has been measured, for the guess of ramp and drain only: an 8B model
on an H200 takes 3 ms with one client and 15 ms with 256."""
RAMP_AND_DRAIN_REQUESTS = 3
"""Request times for which a cell loads a server beside its window: about two to ramp and one to drain."""
SCRAPES_S = 1.0
"""Idle scrapes before and after a cell, connections and pauses."""


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """One server configuration of the sweep; two arms may name the same address (an A/A sweep)."""

    name: str
    target: Target
    speculative: bool
    """Whether this arm must draft; an arm that should not and does is as wrong as the reverse."""
    hardware: str | None = None
    restart: str | None = field(default=None, repr=False)
    """Command that turns the one server of the endpoint into this arm; None where the arm is a server of its own."""
    dynamic: bool = False
    """It changes its draft length with the load, down to none."""


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What the clients send."""

    prompts: str = "builtin"
    max_tokens: int = 512
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 1
    shape: LengthShape | None = None
    """Prompt and output lengths to imitate; None sends the prompts as they are."""
    prefix_hit_target: float = 0.0
    """Share of prompt tokens that should come from the prefix cache, 0..1."""
    chars_per_token: float | None = None
    """Of the servers' vocabulary, once the sweep has seen it count; None takes what is usual for English."""
    max_model_len: int | None = None
    """Most tokens of prompt and answer together, where the servers say so."""
    prompts_sha256: str = ""
    """Of what `prompts` names: a file may change, and so may our own set. Empty where it was not read yet."""

    @property
    def form(self) -> Form:
        """How each request is made to look like real traffic."""
        usual = CHARS_PER_TOKEN if self.chars_per_token is None else self.chars_per_token
        return Form(self.shape, self.prefix_hit_target, usual, self.max_model_len)

    @property
    def sampling(self) -> Sampling:
        """The keys that go into every request."""
        return Sampling(self.max_tokens, self.temperature, self.top_p)


@dataclass(frozen=True, slots=True)
class StreamRate:
    """How fast one stream of an arm was at most on one rung of an earlier sweep, ramp and drain included."""

    arm: str
    rung: int
    tok_s: float
    request_s: float | None = None
    """What a request took (p50), where one ended in a window."""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """One sweep. Raises ValueError where it could not give an answer."""

    pool: str
    endpoint: str
    baseline: str
    live_arm: str | None
    arms: tuple[ArmPlan, ...]
    ladder: tuple[int, ...]
    """Closed-loop clients, rising."""
    repeats: int
    cell_s: float
    warmup_s: float
    load: LoadSpec
    max_foreign: float
    """More requests in the system than this that are not ours abort the sweep."""
    max_minutes: float
    refine_octaves: float = 0.0
    """Width of the crossover's interval to aim at once the ladder is done; 0 measures the ladder only."""
    max_ttft_s: float | None = None
    """An arm stops climbing at the first rung whose TTFT p99 is above this."""
    max_total_tokens: int | None = None
    """Budget of output tokens for the whole sweep."""
    backoff_s: float = 0.0
    """How long to wait for others' traffic to go away before the sweep gives up; 0 gives up at once."""
    quiet_s: float = 0.0
    """After backing off, every arm must have been quiet this long."""
    workers: int | None = None
    """Processes that carry the load; None decides by the rung."""
    history: tuple[CurvePoint, ...] = ()
    """The baseline's points from its newest earlier sweep on the same servers, in tok/s of one engine; to see one that
    got slower."""
    seen: tuple[StreamRate, ...] = ()
    """Of every arm in that sweep, for the upper bound of tokens."""
    start_s: float | None = None
    """What one restart took the last time, draining included; None where that is not known. For estimates only."""

    @property
    def restarts(self) -> bool:
        """Whether arms are brought up by restarting the endpoint's one server."""
        return any(arm.restart is not None for arm in self.arms)

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise ValueError(f"two arms of {self.endpoint} have the same name")
        if self.baseline not in names:
            raise ValueError(f"the baseline {self.baseline!r} is not among the arms of {self.endpoint}")
        if len(names) < 2:
            raise ValueError(f"{self.endpoint} has only the arm {names[0]!r}: nothing to compare with")
        if not self.ladder or self.ladder[0] < 1 or any(a >= b for a, b in pairwise(self.ladder)):
            raise ValueError(f"the ladder of {self.endpoint} must be rising numbers of clients from 1")
        if self.repeats < 1:
            raise ValueError(f"repeats of {self.endpoint} must be at least 1")


@dataclass(frozen=True, slots=True)
class CellSlot:
    """One cell to measure."""

    arm: str
    rung: int
    repeat: int
    order: int
    """Position in the sweep, from 0."""
    start: int | None = None
    """The planned start of the server that this cell belongs to; None where no arm is restarted."""


@dataclass(frozen=True, slots=True)
class PlanCost:
    """What a sweep takes. Seconds are an estimate, tokens an upper bound; starts take their own time on top."""

    seconds: float
    cells: int
    tokens_upper: int
    starts: int = 0
    """Starts of the server, where arms are restarted."""
    refine_cells_upper: int = 0
    """Cells that refinement may add at most, while minutes and tokens last; not in the other numbers."""
    refine_seconds_upper: float = 0.0
    refine_tokens_upper: int = 0


def cell_order(plan: SweepPlan) -> tuple[CellSlot, ...]:
    """Every cell of the ladder, in an order that lets slow drift hit each arm alike."""
    return _whole_ladders(plan) if plan.restarts else _rung_by_rung(plan)


def _whole_ladders(plan: SweepPlan) -> tuple[CellSlot, ...]:
    """One start of the server per arm and repeat, each climbing the whole ladder: A B B A over the starts.

    An arm that follows itself is started anew all the same, or two of its repeats would share one start.
    """
    slots: list[CellSlot] = []
    names = [arm.name for arm in plan.arms]
    start = 0
    for repeat in range(plan.repeats):
        for name in names if repeat % 2 == 0 else reversed(names):
            slots += [CellSlot(name, rung, repeat, len(slots) + i, start) for i, rung in enumerate(plan.ladder)]
            start += 1
    return tuple(slots)


def _rung_by_rung(plan: SweepPlan) -> tuple[CellSlot, ...]:
    """Rungs climb; within a rung every other pass over the arms runs backwards.

    Two arms and even repeats give A B B A (A B B A ...): a palindrome, so slow drift hits each arm alike. The same
    holds for more arms (A B C C B A). With odd repeats the last pass of a rung has no mirror; the next rung then
    starts backwards, so that pairs of rungs balance.
    """
    slots: list[CellSlot] = []
    names = [arm.name for arm in plan.arms]
    passes = 0
    for rung in plan.ladder:
        for repeat in range(plan.repeats):
            for name in names if passes % 2 == 0 else reversed(names):
                slots.append(CellSlot(name, rung, repeat, len(slots)))
            passes += 1
    return tuple(slots)


def estimate(plan: SweepPlan, left: Sequence[CellSlot] | None = None) -> PlanCost:
    """Cost of the whole ladder, should no arm stop climbing early, or of the cells that are `left` of it.

    Every start of a server is warmed up anew.
    """
    order = cell_order(plan)
    slots = order if left is None else left
    begun = {(slot.arm, slot.start) for slot in slots}
    starts = len(begun) if plan.restarts else 0
    warmup_s = plan.warmup_s * len(begun)
    warmup = warmup_rung(plan)
    warmup_tokens = sum(plan.warmup_s * warmup * stream_tok_s_upper(plan, arm, warmup) for arm, _start in begun)
    cell_tokens = sum(cell_tokens_upper(plan, slot.arm, slot.rung) for slot in slots)
    refined = len(order) if plan.refine_octaves > 0 else 0
    return PlanCost(
        seconds=sum(cell_takes_s(plan, slot.arm, slot.rung) for slot in slots) + warmup_s,
        cells=len(slots),
        tokens_upper=int(cell_tokens + warmup_tokens),
        starts=starts,
        refine_cells_upper=refined,
        refine_seconds_upper=refined * max(cell_takes_s(plan, slot.arm, slot.rung) for slot in order),
        refine_tokens_upper=int(refined * max(cell_tokens_upper(plan, slot.arm, slot.rung) for slot in order)),
    )


def cell_takes_s(plan: SweepPlan, arm: str, rung: int) -> float:
    """Seconds of one cell, ramp, drain and scrapes included, by what requests took in an earlier sweep of this load."""
    nearest = _nearest_below([one for one in plan.seen if one.request_s is not None], arm, rung)
    if nearest is None or nearest.request_s is None:
        return loaded_s(plan.cell_s, plan.load.max_tokens) + SCRAPES_S
    return plan.cell_s + _beside_s(grown_s(nearest.request_s, nearest.rung, rung)) + SCRAPES_S


def loaded_s(cell_s: float, max_tokens: int) -> float:
    """Seconds for which one cell loads a server, before anything is known of its requests."""
    return cell_s + _beside_s(TOKEN_S_GUESS * max_tokens)


def _beside_s(request_s: float) -> float:
    return min(RAMP_AND_DRAIN_REQUESTS * request_s, RAMP_MAX_S + DRAIN_MAX_S)


def cell_tokens_upper(plan: SweepPlan, arm: str, rung: int) -> float:
    """The most output tokens that one cell is expected to make, as far as is known before the sweep."""
    return rung * loaded_s(plan.cell_s, plan.load.max_tokens) * stream_tok_s_upper(plan, arm, rung)


def stream_tok_s_upper(plan: SweepPlan, arm: str, rung: int) -> float:
    """The most output tok/s of one stream: what was seen and some more; a stream is never faster for company."""
    nearest = _nearest_below(plan.seen, arm, rung)
    return STREAM_TOK_S_UPPER if nearest is None else MORE_THAN_LAST * nearest.tok_s


def _nearest_below(seen: Sequence[StreamRate], arm: str, rung: int) -> StreamRate | None:
    below = [one for one in seen if one.arm == arm and one.rung <= rung]
    return max(below, key=lambda one: one.rung, default=None)


def warmup_rung(plan: SweepPlan) -> int:
    """Clients of the load that is thrown away on each arm: the ladder's rung nearest below 16, else its first."""
    return max((rung for rung in plan.ladder if rung <= 16), default=plan.ladder[0])
