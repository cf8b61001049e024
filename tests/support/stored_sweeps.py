"""Sweeps as the sweep process leaves them in a store, for tests that care for a few of their facts only."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.store.db import Store
from monitor.store.sweeps import begin_sweep, end_sweep
from probes.answer_values import Crossover


def begun(
    store: Store,
    started_at_s: float,
    *,
    pool: str = "chat",
    endpoint: str = "chat",
    live_arm: str | None = "k3",
    trigger: str = "command",
    plan: Mapping[str, object] | None = None,
) -> int:
    """The id of a sweep that runs."""
    return begin_sweep(
        store,
        pool=pool,
        endpoint=endpoint,
        started_at_s=started_at_s,
        trigger=trigger,
        who="ana",
        pid=1,
        host="gpu1",
        baseline="off",
        live_arm=live_arm,
        plan=dict(plan or {}),
    )


def measured(
    store: Store,
    sweep_id: int,
    ended_at_s: float,
    result: Crossover,
    arm_k: Mapping[str, int | None],
    *,
    fingerprint: str = "f1",
) -> int:
    """End it with this answer; gives its id back."""
    end_sweep(
        store,
        sweep_id,
        ended_at_s=ended_at_s,
        outcome="measured",
        reason="",
        exit_code=0,
        fingerprint=fingerprint,
        result=result,
        arm_k=dict(arm_k),
    )
    return sweep_id
