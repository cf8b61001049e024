"""One poll of the feed: a snapshot, or in one sentence why there is none."""

from __future__ import annotations

import asyncio

from monitor.tui.feed import Feed
from monitor.tui.lines import clean
from monitor.values import Snapshot


async def polled(feed: Feed, timeout_s: float) -> tuple[Snapshot | None, str]:
    """Whatever a feed raises, the person at the screen keeps what is known and reads why it is old."""
    try:
        return await asyncio.wait_for(feed.snapshot(), timeout_s), ""
    except TimeoutError:
        return None, f"no answer within {timeout_s:.0f} s"
    except Exception as error:
        return None, clean(str(error)) or type(error).__name__
