"""Hand-made readings and crossovers for tests of everything that derives from them."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.values import StoredCrossover, StoredReading
from probes.answer_values import ArmVerdict, Axis, BandPoint, Crossover, Verdict
from probes.values import EngineKind, EngineReading, Reading, State

NOW_S = 1_800_000_000.0


def engine(
    name: str = "0",
    *,
    running: float | None = 4.0,
    waiting: float | None = 0.0,
    tokens: float | None = 1000.0,
    drafts: float | None = None,
    draft_tokens: float | None = None,
    accepted: float | None = None,
) -> EngineReading:
    """One engine's numbers at one instant."""
    return EngineReading(
        engine=name,
        running=running,
        waiting=waiting,
        kv_usage=0.25,
        generation_tokens=tokens,
        drafts=drafts,
        draft_tokens=draft_tokens,
        accepted_tokens=accepted,
    )


def reading(
    at_s: float,
    engines: Sequence[EngineReading] = (),
    *,
    endpoint: str = "chat",
    state: State = State.OK,
    reason: str = "",
    k: int | None = None,
    process_start_s: float | None = 1.0,
) -> Reading:
    """One scrape; speculation is configured where `k` is given."""
    return Reading(
        endpoint=endpoint,
        at_s=at_s,
        mono_s=at_s,
        state=state,
        reason=reason,
        engine_kind=EngineKind.VLLM if engines else None,
        engines=tuple(engines),
        model_names=("m",),
        speculation_configured=(k is not None) if engines else None,
        k=k,
        process_start_s=process_start_s,
    )


def minute(
    concurrency: float,
    *,
    k: int | None = 3,
    drafts_per_s: float = 100.0,
    end_s: float = NOW_S,
    every_s: float = 5.0,
    count: int = 13,
    sweep_id: int | None = None,
) -> list[StoredReading]:
    """A minute of good readings at constant load, oldest first, the newest at `end_s`."""
    result = []
    for index in range(count):
        at_s = end_s - (count - 1 - index) * every_s
        moved = index * every_s
        one = engine(
            running=concurrency,
            tokens=1000.0 + moved * 500.0,
            drafts=moved * drafts_per_s if k else None,
            draft_tokens=moved * drafts_per_s * k if k else None,
            accepted=moved * drafts_per_s * 1.6 if k else None,
        )
        result.append(StoredReading(reading(at_s, [one], k=k), sweep_id))
    return result


def crossing(
    arm: str = "k3",
    *,
    verdict: Verdict = Verdict.CROSSES,
    value: float | None = 24.0,
    low: float | None = 20.0,
    high: float | None = 29.0,
    band: Sequence[tuple[float, float, float, float]] = (
        (1, 1.9, 1.85, 1.95),
        (8, 1.5, 1.45, 1.55),
        (16, 1.15, 1.1, 1.2),
        (24, 1.0, 0.95, 1.05),
        (32, 0.9, 0.86, 0.94),
        (64, 0.8, 0.76, 0.84),
    ),
) -> ArmVerdict:
    """An arm that pays below 24 concurrent requests."""
    return ArmVerdict(
        arm=arm,
        verdict=verdict,
        crossover=value,
        low=low,
        high=high,
        speedup=tuple(BandPoint(*p) for p in band),
        capacity=None,
        reasons=(),
    )


def stored(
    *arms: ArmVerdict,
    age_s: float = 3600.0,
    fingerprint: str = "f" * 12,
    arm_k: dict[str, int | None] | None = None,
    axis: Axis = Axis.CONCURRENCY_PER_ENGINE,
) -> StoredCrossover:
    """A finished sweep of the pool `chat`, by default with one arm that crosses at 24."""
    verdicts = arms or (crossing(),)
    return StoredCrossover(
        sweep_id=7,
        pool="chat",
        fingerprint=fingerprint,
        measured_at_s=NOW_S - age_s,
        result=Crossover(baseline="off", axis=axis, arms={a.arm: a for a in verdicts}),
        arm_k=arm_k if arm_k is not None else {"off": None, "k3": 3},
        live_arm=None,
    )
