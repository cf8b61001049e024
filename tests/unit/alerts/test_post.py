"""A channel's one connection: what is cancelled costs the next ones nothing, and no failure names the address."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme

from monitor.alerts.message import Failed, Sent
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


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_certificate_for_another_host_is_told_without_the_address(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("elsewhere.example").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setattr("certifi.where", lambda: str(tmp_path / "ca.pem"))
    async with LoopbackServer(lambda _: Reply(body=b"ok"), tls=context) as server:
        poster = Poster("oncall", f"https://{host}:{server.port}/secret", timeout_s=5.0)
        failed = await poster.post({}, "key", 0.0)
        await poster.aclose()
    assert isinstance(failed, Failed)
    assert failed.error == "channel oncall could not be reached (its TLS certificate is not for this host)"
