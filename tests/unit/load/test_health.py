"""The watch over our own loop sees a block, and the collector is given back as it was."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest

from probes.load.health import (
    UNKNOWN_HEALTH,
    ClientHealth,
    HealthWatch,
    LoopSample,
    health_of,
    quiet_gc,
    ticks_of,
    worst_of,
)
from tests.support.waiting import until


def no_delays(_since_s: float) -> list[float]:
    return []


async def test_a_blocked_loop_is_seen() -> None:
    watch = HealthWatch()
    watch.begin()
    for _ in range(3):
        await asyncio.sleep(0.012)
        time.sleep(0.08)  # noqa: ASYNC251 - the block that must be seen
    health = watch.end(no_delays)
    assert health.lag_p99_ms is not None
    assert health.lag_p99_ms > 40
    assert health.cpu_share is not None


async def test_a_busy_thread_shows_in_the_cpu_share() -> None:
    watch = HealthWatch()
    watch.begin()
    spent_s = time.thread_time()
    await until(lambda: sum(range(20_000)) and time.thread_time() - spent_s > 0.05)
    busy = watch.end(no_delays).cpu_share
    assert busy is not None
    assert busy > 0


async def test_a_window_that_never_began_knows_nothing_and_an_ended_one_stays_as_it_was() -> None:
    watch = HealthWatch()
    assert watch.end(no_delays) == UNKNOWN_HEALTH
    watch.begin()
    first = watch.end(lambda _: [0.001, 0.004])
    assert first.lag_p99_ms is None
    assert first.dispatch_p99_ms == 1.0
    assert watch.end(no_delays) == first


def test_a_stall_counts_for_as_long_as_it_lasted() -> None:
    assert ticks_of(-0.001) == [0.0]
    assert ticks_of(0.004) == [0.004]
    assert ticks_of(0.035) == pytest.approx([0.035, 0.025, 0.015, 0.005])
    smooth, stalled = [0.0] * 380, ticks_of(0.2)
    health = health_of([LoopSample(0.0, 4.0, (*smooth, *stalled), 0.0)], [])
    assert health.lag_p99_ms is not None
    assert health.lag_p99_ms > 150


def test_stretches_of_one_loop_add_up() -> None:
    lags = tuple(i / 1000 for i in range(100))
    health = health_of([LoopSample(0.0, 1.0, lags, 0.25), LoopSample(1.0, 2.0, (0.0,), 0.75)], [])
    assert health == ClientHealth(lag_p99_ms=98.0, cpu_share=0.5, dispatch_p99_ms=None)


def test_a_load_is_as_good_as_its_worst_process() -> None:
    parts = [ClientHealth(1.0, 0.9, None), ClientHealth(3.0, 0.1, 5.0), UNKNOWN_HEALTH]
    assert worst_of(parts) == ClientHealth(3.0, 0.9, 5.0)
    assert worst_of([UNKNOWN_HEALTH]) == UNKNOWN_HEALTH


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
