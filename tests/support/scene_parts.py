"""The pieces that scenes are made of: one endpoint, one engine, a history, and a feed that stands still."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from monitor.values import (
    AlertTerms,
    CrossoverNow,
    EndpointStatus,
    EngineNow,
    LiveVerdict,
    Sample,
    Snapshot,
)
from probes.answer_values import Verdict
from probes.values import EngineKind, State
from tests.support.scene_sweeps import DAY, NOW, band_at, measured_sweep, sweep_cells


class SceneFeed:
    """A feed that always gives the same snapshot and remembers what was asked for."""

    def __init__(self, snapshot: Snapshot, answer: str = "done") -> None:
        self.current = snapshot
        self.answer = answer
        self.failure: Exception | None = None
        self.requests: list[tuple[str, str]] = []
        self.polls = 0

    async def snapshot(self) -> Snapshot:
        """The scene, or the failure it was given."""
        self.polls += 1
        if self.failure is not None:
            raise self.failure
        return self.current

    async def request(self, kind: str, subject: str, reason: str, args: Mapping[str, object]) -> str:
        """Remember and answer."""
        if self.failure is not None:
            raise self.failure
        self.requests.append((kind, subject))
        return self.answer


def crossover(**changes: object) -> CrossoverNow:
    """k3 crosses at 24 [21-28], measured three days ago."""
    verdict = measured_sweep().result
    assert verdict is not None
    k3 = verdict.arms["k3"]
    base = CrossoverNow(
        "k3", Verdict.CROSSES, k3.crossover, k3.low, k3.high, 3 * DAY, sweep_id=41, expired=False, band=k3.speedup
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def engine(name: str, load: float) -> EngineNow:
    """One engine under `load` requests."""
    running = min(load, 64.0)
    return EngineNow(name, round(running), round(load - running), 0.01 * load + 0.05, load, 60 * load**0.75)


def endpoint(name: str, load: float | None = 11.2, **changes: object) -> EndpointStatus:
    """A healthy vLLM endpoint with k3 live; every field can be changed."""
    found = crossover()
    low, high = found.low or 0.0, found.high or math.inf
    verdict = LiveVerdict.UNKNOWN
    if load is not None:
        verdict = LiveVerdict.BELOW if load < low else LiveVerdict.ABOVE if load > high else LiveVerdict.INSIDE
    speedup = band_at(found.band, load) if load is not None else None
    loss = (1 - speedup.ratio) * 100 if speedup is not None and speedup.ratio < 1 else None
    base = EndpointStatus(
        name=name,
        pool="chat-70b",
        state=State.OK,
        reason="",
        age_s=3.0,
        engine_kind=EngineKind.VLLM,
        version="0.26.0",
        engines=(engine("0", load),) if load is not None else (),
        running_max=min(load, 64.0) if load is not None else None,
        concurrency=load,
        busiest_engine="0" if load is not None else None,
        speculation_configured=True,
        drafting=True,
        k=3,
        effective_k=3.0,
        acceptance_length=2.41,
        acceptance_rate=0.47,
        live_arm="k3",
        live_arm_reason="declared in config.toml",
        crossover=found,
        verdict=verdict,
        verdict_reason="",
        alerting=speedup is not None and speedup.high < 0.97,
        alerting_reason="",
        speedup_now=speedup,
        headroom=low / load if load else None,
        loss_pct=loss,
        output_tok_s=60 * load**0.75 if load is not None else None,
        ttft_p50_ms=40 + 4 * load if load is not None else None,
        ttft_p99_ms=180 + 60 * load if load is not None else None,
        tpot_p50_ms=9 + 0.5 * load if load is not None else None,
        tpot_p99_ms=14 + 1.1 * load if load is not None else None,
        sweep_id=None,
        rule_applies=load is not None,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def silent(name: str, state: State, reason: str, age_s: float | None, **changes: object) -> EndpointStatus:
    """An endpoint that cannot be read."""
    return endpoint(
        name,
        None,
        state=state,
        reason=reason,
        age_s=age_s,
        verdict_reason=f"{state.value}: {reason}",
        alerting_reason=f"{state.value}: {reason}",
        drafting=None,
        acceptance_length=None,
        acceptance_rate=None,
        **changes,
    )


def history(load: float, *, rising: bool = False, gap: bool = True, swept: bool = False) -> tuple[Sample, ...]:
    """Two hours in steps of a minute up to `load`, with a scrape gap of ten minutes and perhaps a sweep."""
    samples = []
    for step in range(120):
        if gap and 40 <= step < 50:
            continue
        level = load * (0.35 + 0.65 * min(1.0, step / 100)) if rising else load
        now = level * (1 + 0.12 * math.sin(step / 5) + 0.05 * math.sin(step / 1.7)) if step < 119 else load
        in_sweep = swept and step < 20
        now = 2.0 ** (step // 3) if in_sweep else now
        samples.append(
            Sample(
                at_s=NOW - 60.0 * (119 - step),
                concurrency=now,
                output_tok_s=60 * now**0.75,
                acceptance_length=2.41 + 0.1 * math.sin(step / 4),
                ttft_p50_ms=40 + 4 * now,
                kv_usage=min(0.98, 0.01 * now + 0.05),
                in_sweep=in_sweep,
            )
        )
    return tuple(samples)


def snapshot(*endpoints: EndpointStatus, **changes: object) -> Snapshot:
    """A daemon's snapshot of these endpoints, with one finished sweep and a quiet history."""
    base = Snapshot(
        at_s=NOW,
        endpoints=endpoints,
        history={status.name: history(status.concurrency) for status in endpoints if status.concurrency},
        sweeps=(measured_sweep(),),
        cells={41: sweep_cells()},
        alerts=(),
        events=(),
        deliveries=(),
        mode="daemon",
        daemon="pid 4121 on gpu-7",
        paused_until_s=None,
        pause_reason="",
        next_sweep_at_s={"chat-70b": NOW + 4 * DAY},
        terms=AlertTerms(tolerated_loss_pct=3.0, clear_loss_pct=1.0, keep_firing_for_s=300.0),
    )
    return replace(base, **changes)  # type: ignore[arg-type]
