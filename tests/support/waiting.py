"""Waits for conditions instead of sleeping, so that tests are as fast as the machine and no faster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Return once the condition holds; fail the test after `timeout_s`."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - conditions live in servers and lists, not in events
            await asyncio.sleep(0.005)
