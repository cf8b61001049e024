"""Runs a piece of a sweep while asking, at least every half second, whether it must stop; then stops it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
ASK_EVERY_S = 0.25


class Stopped(Exception):
    """Somebody asked for an end, or the time budget ran out; the message is the reason in words."""


async def guarded(work: Coroutine[Any, Any, T], stop_reason: Callable[[], str | None]) -> T:
    """The result of `work`. Raises Stopped once `stop_reason` answers; `work` is then cancelled and has cleaned up.

    `stop_reason` is also asked once before the work begins.
    """
    if reason := stop_reason():
        work.close()
        raise Stopped(reason)
    task = asyncio.ensure_future(work)
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=ASK_EVERY_S)
            if done:
                return task.result()
            if reason := stop_reason():
                raise Stopped(reason)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # the reason to stop is told, not what went wrong in clearing up after it
