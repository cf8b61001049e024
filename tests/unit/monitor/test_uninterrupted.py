"""Work that must reach its end reaches it, whatever cancels it and whichever signals come."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from monitor.service.uninterrupted import first_signal_only, uninterrupted


async def test_a_cancellation_waits_for_the_end() -> None:
    go, done = asyncio.Event(), []

    async def work() -> None:
        await go.wait()
        done.append(1)

    task = asyncio.create_task(uninterrupted(work))
    await asyncio.sleep(0)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [1]


async def test_a_result_and_an_error_come_through() -> None:
    async def good() -> int:
        return 7

    async def bad() -> int:
        raise ValueError("no")

    assert await uninterrupted(good) == 7
    with pytest.raises(ValueError, match="no"):
        await uninterrupted(bad)


async def test_work_whose_own_task_is_cancelled_begins_anew() -> None:
    begun = []

    async def work() -> None:
        begun.append(1)
        if len(begun) == 1:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await uninterrupted(work)
    assert begun == [1, 1]


def test_only_the_first_signal_is_passed_on_and_all_are_given_back() -> None:
    seen: list[int] = []
    old = signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))
    try:
        with first_signal_only("busy"):
            for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGTSTP):
                os.kill(os.getpid(), number)
            assert seen == [signal.SIGTERM]
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM, signal.SIGTERM]
        assert signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, old)


def test_what_was_ignored_stays_ignored() -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with first_signal_only("busy"):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, old)
