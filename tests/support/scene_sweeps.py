"""The sweep behind the scenes: two arms over seven rungs that cross near 24, with two void cells."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from monitor.values import SweepProgress, SweepRecord
from probes.answer_values import (
    ArmVerdict,
    Axis,
    BandPoint,
    BestRange,
    Capacity,
    Crossover,
    Schedule,
    ScheduleStep,
    Verdict,
)
from probes.values import Cell, Latency, Reason

NOW = 1_790_478_765.0
"""2026-09-27 03:12:45 UTC."""
HOUR = 3600.0
DAY = 86400.0
LADDER = (1, 2, 4, 8, 16, 32, 64)
REPEATS = 4
CURVE = ((1.0, 1.52), (2.0, 1.47), (4.0, 1.38), (8.0, 1.24), (16.0, 1.08), (24.0, 1.0), (32.0, 0.93), (64.0, 0.79))
VOID = {
    ("k3", 16, 1): Reason("foreign_requests", "3 requests that were not ours finished on the server"),
    ("off", 64, 3): Reason("client_bound", "the measuring client's event loop lagged by 61 ms at p99"),
}


def band() -> tuple[BandPoint, ...]:
    """Speedup of k3 with four percent to either side."""
    return tuple(BandPoint(x, ratio, ratio - 0.04, ratio + 0.04) for x, ratio in CURVE)


def band_at(points: tuple[BandPoint, ...], x: float) -> BandPoint | None:
    """Straight in log x between two points; None outside."""
    for left, right in pairwise(points):
        if left.concurrency <= x <= right.concurrency:
            share = math.log(x / left.concurrency) / math.log(right.concurrency / left.concurrency)
            ratio = left.ratio + share * (right.ratio - left.ratio)
            return BandPoint(x, ratio, ratio - 0.04, ratio + 0.04)
    return None


def _tok_s(arm: str, concurrency: float) -> float:
    base = 3200 * concurrency / (concurrency + 22)
    if arm == "off":
        return base
    point = band_at(band(), concurrency)
    return base * (point.ratio if point is not None else 1.0)


def cell(arm: str, rung: int, repeat: int, order: int) -> Cell:
    """One cell with a touch of spread by repeat."""
    concurrency = min(63.9, rung * 0.985 if rung > 1 else 1.0)
    tok_s = _tok_s(arm, concurrency) * (1 + 0.006 * (repeat - 1.5))
    drafts = tok_s * 45 / 2.41 if arm == "k3" else None
    reason = VOID.get((arm, rung, repeat))
    return Cell(
        arm=arm,
        rung=rung,
        repeat=repeat,
        order=order,
        started_at_s=NOW - 3 * DAY - HOUR + order * 60,
        window_s=45.0,
        concurrency=concurrency,
        output_tok_s=tok_s,
        server_tok_s=tok_s,
        client_tok_s=tok_s,
        requests=rung * 12,
        errors=0,
        capped_share=0.02,
        ttft=Latency(40 + 4 * rung, 180 + 30 * rung),
        tpot=Latency(9 + rung / 2, 14 + rung),
        e2e=Latency(1800.0, 4100.0),
        prompt_tokens_mean=412.0,
        output_tokens_mean=218.0,
        running_mean=concurrency,
        waiting_mean=0.0,
        kv_usage_max=0.01 * rung,
        preemptions=0.0,
        drafts=drafts,
        draft_tokens=None if drafts is None else drafts * 3,
        accepted_tokens=None if drafts is None else drafts * 1.41,
        accepted_per_pos=() if drafts is None else (0.71, 0.44, 0.26),
        prefix_hit_ratio=0.0,
        client_tokens=int(tok_s * 45),
        server_tokens=tok_s * 45,
        foreign_requests=3.0 if reason is not None and reason.code == "foreign_requests" else 0.0,
        loop_lag_p99_ms=61.0 if reason is not None and reason.code == "client_bound" else 4.0,
        client_cpu_share=0.2,
        in_flight_mean=concurrency,
        k=3 if arm == "k3" else None,
        engine_count=1,
        void=() if reason is None else (reason,),
    )


def sweep_cells() -> tuple[Cell, ...]:
    """Palindromic within each rung: off k3 k3 off, twice."""
    cells: list[Cell] = []
    for rung in LADDER:
        seen = {"off": 0, "k3": 0}
        for arm in ("off", "k3", "k3", "off") * (REPEATS // 2):
            cells.append(cell(arm, rung, seen[arm], len(cells)))
            seen[arm] += 1
    return tuple(cells)


def result() -> Crossover:
    """k3 crosses at 24 [21-28]."""
    k3 = ArmVerdict("k3", Verdict.CROSSES, 24.0, 21.0, 28.0, band(), Capacity(64.0, 1990.0, "waiting"), ())
    best = (
        BestRange(1.0, 21.0, "k3", 24.0, True, ("off",), 4.0, 52.0, 4.0),
        BestRange(21.0, 28.0, "off", 0.0, False, ("k3",), -3.0, 3.0, 4.0),
        BestRange(28.0, 64.0, "off", 14.0, True, ("k3",), 4.0, 26.0, 4.0),
    )
    latency = {
        "tpot_p50": {"k3": replace(k3, crossover=25.0, low=21.0, high=30.0)},
        "ttft_p99": {"k3": ArmVerdict("k3", Verdict.NEVER_FASTER, None, None, 8.0, (), None, ())},
    }
    schedule = Schedule((ScheduleStep(1, 20, 3, "k3"), ScheduleStep(21, 64, 0, "off")))
    return Crossover("off", Axis.CONCURRENCY_PER_ENGINE, {"k3": k3}, best, latency=latency, schedule=schedule)


def measured_sweep() -> SweepRecord:
    """Sweep 41, three days ago, by schedule."""
    return SweepRecord(
        id=41,
        pool="chat-70b",
        endpoint="chat-a",
        started_at_s=NOW - 3 * DAY - HOUR,
        ended_at_s=NOW - 3 * DAY,
        outcome="measured",
        reason="",
        trigger="schedule",
        who="daemon",
        pid=4121,
        host="gpu-7",
        fingerprint="3f9c2a71d0be",
        baseline="off",
        live_arm="k3",
        plan={"ladder": list(LADDER), "repeats": REPEATS, "cell_s": 45.0, "arms": ["off", "k3"]},
        progress=SweepProgress("done", 56, 56, None, None, None, None),
        result=result(),
        exit_code=0,
    )


def running_sweep() -> SweepRecord:
    """Sweep 42, half done, asked for in a viewer."""
    return SweepRecord(
        id=42,
        pool="chat-70b",
        endpoint="chat-a",
        started_at_s=NOW - 1830,
        ended_at_s=None,
        outcome="running",
        reason="",
        trigger="intent",
        who="dana",
        pid=5310,
        host="gpu-7",
        fingerprint="3f9c2a71d0be",
        baseline="off",
        live_arm="k3",
        plan={"ladder": list(LADDER), "repeats": REPEATS, "cell_s": 45.0, "arms": ["off", "k3"]},
        progress=SweepProgress("cells", 29, 56, "k3", 8, 2, 1710.0),
        result=None,
        exit_code=None,
    )
