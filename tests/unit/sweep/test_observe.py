"""Watching arms before a sweep asks each server's page once at a time, however many arms it stands for."""

from __future__ import annotations

from probes.sweep.observe import observe
from tests.support.fake_engine import FakeEngine, Faults, fake_engine
from tests.support.plans import arm


async def test_arms_at_one_address_are_looked_at_together() -> None:
    async with fake_engine(FakeEngine(faults=Faults(phantom_running=2))) as one, fake_engine(FakeEngine()) as two:
        one.requests.append({})
        arms = (arm("off", one.url), arm("other", two.url), arm("k3", one.url))
        loads = await observe(arms, 0.0, timeout_s=2.0, max_bytes=1_000_000)
        assert one.metrics_reads == 1
    assert [(load.arm, load.concurrency_max) for load in loads] == [("off", 2.0), ("other", 0.0), ("k3", 2.0)]
