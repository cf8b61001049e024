"""Makers of the values that store and alert tests pass around; every field that a test does not name is plausible."""

from __future__ import annotations

from typing import Any

from monitor.values import (
    AlertEvent,
    AlertPhase,
    AlertState,
    CrossoverNow,
    EndpointStatus,
    EngineNow,
    LiveVerdict,
    StoredCrossover,
    SweepRecord,
)
from probes.answer_values import ArmVerdict, Axis, BandPoint, BestRange, Crossover, Verdict
from probes.values import Cell, EngineKind, EngineReading, Histogram, Latency, Reading, State


def a_reading(endpoint: str = "chat", at_s: float = 1000.0, **fields: Any) -> Reading:
    """A good vLLM page with one engine."""
    plain: dict[str, Any] = {
        "mono_s": at_s,
        "state": State.OK,
        "engine_kind": EngineKind.VLLM,
        "engines": (an_engine(),),
        "model_names": ("llama",),
        "speculation_configured": True,
        "k": 3,
        "process_start_s": 17.25,
        "cache_config": {"block_size": "16"},
        "matched_names": {"running": "vllm:num_requests_running"},
        "scrape_s": 0.004,
        "page_bytes": 65000,
    }
    return Reading(endpoint=endpoint, at_s=at_s, **{**plain, **fields})


def an_engine(engine: str = "0", tokens: float = 100.0, **fields: Any) -> EngineReading:
    """One engine with four requests in the system."""
    plain: dict[str, Any] = {
        "running": 3.0,
        "waiting": 1.0,
        "kv_usage": 0.25,
        "drafts": 10.0,
        "draft_tokens": 30.0,
        "accepted_tokens": 16.0,
        "accepted_per_pos": (8.0, 5.0, 3.0),
        "histograms": {"ttft_s": Histogram((0.1, 0.5, float("inf")), (1.0, 4.0, 5.0), 1.75, 5.0)},
    }
    return EngineReading(engine=engine, generation_tokens=tokens, **{**plain, **fields})


def a_failed_reading(endpoint: str = "chat", at_s: float = 1000.0, reason: str = "connection refused") -> Reading:
    """A scrape that found nobody."""
    return Reading(endpoint=endpoint, at_s=at_s, mono_s=at_s, state=State.DOWN, reason=reason)


def a_cell(arm: str = "k3", order: int = 0, **fields: Any) -> Cell:
    """A valid cell at 16 clients."""
    plain: dict[str, Any] = {
        "rung": 16, "repeat": 0, "started_at_s": 50.0, "window_s": 45.0, "concurrency": 15.8, "output_tok_s": 1200.5,
        "server_tok_s": 1200.5, "client_tok_s": 1199.0, "requests": 210, "errors": 0, "capped_share": 0.1,
        "ttft": Latency(40.0, 90.0), "tpot": Latency(12.0, 15.0), "e2e": Latency(3000.0, None),
        "prompt_tokens_mean": 178.0, "output_tokens_mean": 256.0, "running_mean": 15.5, "waiting_mean": 0.0,
        "kv_usage_max": 0.2, "preemptions": 0.0, "drafts": 1000.0, "draft_tokens": 3000.0, "accepted_tokens": 1600.0,
        "accepted_per_pos": (0.7, 0.5, 0.4), "prefix_hit_ratio": 0.0, "client_tokens": 54000, "server_tokens": 54010.0,
        "foreign_requests": 0.0, "loop_lag_p99_ms": 1.5, "client_cpu_share": 0.3, "in_flight_mean": 16.0, "k": 3,
        "engine_count": 1,
    }  # fmt: skip
    return Cell(arm=arm, order=order, **{**plain, **fields})


def a_crossover() -> Crossover:
    """k3 crosses at 24 [21, 28]; k1 at 60; from 24 to 60 k1 is best, above that off."""
    k3 = (BandPoint(1, 1.5, 1.4, 1.6), BandPoint(24, 1.0, 0.97, 1.03), BandPoint(64, 0.8, 0.77, 0.83))
    k1 = (BandPoint(1, 1.2, 1.15, 1.25), BandPoint(60, 1.0, 0.97, 1.03), BandPoint(64, 0.99, 0.96, 1.02))
    return Crossover(
        baseline="off",
        axis=Axis.CONCURRENCY_PER_ENGINE,
        arms={
            "k3": ArmVerdict("k3", Verdict.CROSSES, 24.0, 21.0, 28.0, k3, None, ()),
            "k1": ArmVerdict("k1", Verdict.CROSSES, 60.0, 50.0, None, k1, None, ()),
        },
        best=(
            BestRange(1, 20, "k3", 25.0, True),
            BestRange(20, 55, "k1", 6.0, True),
            BestRange(55, 64, "off", 1.0, False),
        ),
    )


def a_stored_crossover(**fields: Any) -> StoredCrossover:
    """The answer above, as the store gives it."""
    plain: dict[str, Any] = {
        "sweep_id": 17, "pool": "chat-70b", "fingerprint": "abcdef012345", "measured_at_s": 0.0,
        "result": a_crossover(), "arm_k": {"off": None, "k1": 1, "k3": 3}, "live_arm": "k3",
    }  # fmt: skip
    return StoredCrossover(**{**plain, **fields})


def a_status(ratio: float | None = 0.88, width: float = 0.03, **fields: Any) -> EndpointStatus:
    """An endpoint at 48 concurrent whose speedup there is `ratio` give or take `width`; None: it cannot be told."""
    speedup = BandPoint(48.0, ratio, ratio - width, ratio + width) if ratio is not None else None
    plain: dict[str, Any] = {
        "name": "chat", "pool": "chat-70b", "state": State.OK, "reason": "", "age_s": 1.0,
        "engine_kind": EngineKind.VLLM, "version": "0.26.0",
        "engines": (EngineNow("0", 48.0, 0.0, 0.4, 48.0, 4200.0),), "running_max": 48.0, "concurrency": 48.0,
        "busiest_engine": "0", "speculation_configured": True, "drafting": True, "k": 3, "effective_k": 3.0,
        "acceptance_length": 2.6, "acceptance_rate": 0.53, "live_arm": "k3", "live_arm_reason": "declared in config",
        "crossover": CrossoverNow(
            "k3", Verdict.CROSSES, 24.0, 21.0, 28.0, 3 * 86400.0, 17, False, a_crossover().arms["k3"].speedup
        ),
        "verdict": LiveVerdict.ABOVE if speedup is not None else LiveVerdict.UNKNOWN, "verdict_reason": "",
        "alerting": speedup is not None and speedup.high < 0.97, "alerting_reason": "", "speedup_now": speedup,
        "headroom": 0.44, "loss_pct": 12.0, "output_tok_s": 4200.0, "ttft_p50_ms": 80.0, "ttft_p99_ms": 200.0,
        "tpot_p50_ms": 26.0, "tpot_p99_ms": 40.0, "sweep_id": None, "rule_applies": speedup is not None,
    }  # fmt: skip
    return EndpointStatus(**{**plain, **fields})


def an_event(alert_id: str = "a1", kind: str = "firing", at_s: float = 120.0, **fields: Any) -> AlertEvent:
    """One transition of `chat`."""
    plain: dict[str, Any] = {
        "endpoint": "chat", "pool": "chat-70b", "rule": "above_crossover", "started_at_s": 0.0,
        "title": f"chat: {kind} {alert_id}", "text": "What: it is slow.\nLook: `specwatch watch`.",
        "facts": {"concurrency": 48.0, "k": 3, "live_arm": "k3", "low": None},
    }  # fmt: skip
    return AlertEvent(alert_id=alert_id, kind=kind, at_s=at_s, **{**plain, **fields})


def a_state(phase: AlertPhase = AlertPhase.FIRING, endpoint: str = "chat", **fields: Any) -> AlertState:
    """The state that goes with a transition."""
    return AlertState(endpoint=endpoint, rule="above_crossover", phase=phase, **fields)


def sweep_record(**fields: Any) -> SweepRecord:
    """A measured sweep of chat-70b that took an hour."""
    plain: dict[str, Any] = {
        "id": 1, "pool": "chat-70b", "endpoint": "chat", "started_at_s": 1000.0, "ended_at_s": 4600.0,
        "outcome": "measured", "reason": "", "trigger": "schedule", "who": "ana@gpu1", "pid": 1, "host": "gpu1",
        "fingerprint": "f1", "baseline": "off", "live_arm": "k3", "plan": {}, "progress": None, "result": None,
        "exit_code": 0,
    }  # fmt: skip
    return SweepRecord(**{**plain, **fields})
