"""Scrape loops go on for ever: through nights of a server that is down, and through faults of one endpoint."""

from __future__ import annotations

import asyncio

from monitor.service.scraping import MAX_BACKOFF, ScrapeLoops, wait_s
from probes.values import Identity, Reading, Target


def test_a_server_that_is_down_for_days_is_still_asked() -> None:
    assert wait_s(5.0, 0.1, 1) == 5.0
    assert wait_s(5.0, 0.1, 2) == 10.0
    assert wait_s(5.0, 0.1, 100_000) == 5.0 * MAX_BACKOFF


async def test_a_fault_with_one_endpoint_ends_neither_its_own_loop_nor_the_others() -> None:
    seen: list[str] = []
    enough = asyncio.Event()

    def keep(reading: Reading) -> None:
        seen.append(reading.endpoint)
        if seen.count("odd") >= 2 and seen.count("well") >= 2:
            enough.set()
        if reading.endpoint == "odd":
            raise ValueError("a page that nobody foresaw")

    def know(_name: str, _identity: Identity) -> None: ...

    targets = {name: Target(name, "http://127.0.0.1:9") for name in ("odd", "well")}
    loops = ScrapeLoops(
        targets, interval_s=0.02, timeout_s=1.0, max_bytes=1000, gzip=False, on_reading=keep, on_identity=know
    )
    task = asyncio.create_task(loops.run())
    async with asyncio.timeout(20):
        await enough.wait()
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
