"""A channel's one connection: a delivery that is cancelled at any moment costs the next ones nothing."""

from __future__ import annotations

import asyncio

from monitor.alerts.message import Sent
from monitor.alerts.post import Poster
from tests.support.http_server import LoopbackServer, Reply


async def test_a_delivery_that_is_cancelled_at_any_moment_costs_the_next_ones_nothing() -> None:
    """The HTTP library can lose the connection of a cancelled request for good."""
    async with LoopbackServer(lambda _: Reply(body=b"ok")) as server:
        for turns in range(40):
            poster = Poster("oncall", server.url, timeout_s=0.5)
            if turns % 2:
                assert isinstance(await poster.post({}, "first", 0.0), Sent)
            delivery = asyncio.create_task(poster.post({}, "key", 0.0))
            for _ in range(turns // 2):
                await asyncio.sleep(0)
            delivery.cancel()
            await asyncio.wait([delivery])
            assert isinstance(await poster.post({}, "key", 0.0), Sent), turns
            await poster.aclose()
