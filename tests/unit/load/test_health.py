"""The watch over our own loop sees a block, and the collector is given back as it was."""

from __future__ import annotations

import asyncio
import gc
import time

from probes.load.health import LoopWatch, quiet_gc
from tests.support.waiting import until


async def test_a_blocked_loop_is_seen() -> None:
    watch = LoopWatch()
    watch.start()
    for _ in range(3):
        await asyncio.sleep(0.012)
        time.sleep(0.08)  # noqa: ASYNC251 - the block that must be seen
    health = watch.stop()
    assert health.lag_p99_ms is not None
    assert health.lag_p99_ms > 40
    assert health.cpu_share is not None


async def test_a_busy_thread_shows_in_the_cpu_share() -> None:
    watch = LoopWatch()
    watch.start()
    spent_s = time.thread_time()
    await until(lambda: sum(range(20_000)) and time.thread_time() - spent_s > 0.05)
    busy = watch.stop().cpu_share
    assert busy is not None
    assert busy > 0


async def test_stopping_at_once_knows_no_lag() -> None:
    watch = LoopWatch()
    watch.start()
    assert watch.stop().lag_p99_ms is None


def test_the_collector_is_off_inside_and_back_after() -> None:
    with quiet_gc():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    gc.disable()
    try:
        with quiet_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
