"""The scraper against a real server on the loopback: every way a page can fail to come has its name."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import ssl
from pathlib import Path

import pytest

from probes.scrape.scrape import Scraper
from probes.values import Reading, State, Target
from tests.support.http_server import CLOSE, HANG, Handler, LoopbackServer, Reply, Request, script
from tests.unit.engines.pages import real

K3 = real("vllm-0.26.0-h200-k3-c32.prom")
TLS = Path(__file__).parent / "tls"
GOOD = Reply(body=K3)
SMALL = b"vllm:num_requests_running 1\nvllm:num_requests_waiting 0\nvllm:generation_tokens_total 5\n"


def scraper(url: str, **settings: object) -> Scraper:
    given: dict[str, object] = {"timeout_s": 5.0, "max_bytes": 1_000_000, **settings}
    target = given.pop("target", None) or Target("chat", url)
    return Scraper(target, **given)  # type: ignore[arg-type]


async def read_once(handler: Handler, **settings: object) -> Reading:
    async with LoopbackServer(handler) as server:
        one = scraper(server.url, **settings)
        reading = await one.read()
        await one.aclose()
        return reading


async def test_a_good_page_becomes_a_reading() -> None:
    async with LoopbackServer(script([GOOD])) as server:
        one = scraper(server.url, clock=lambda: 1000.5, mono=lambda: 7.25)
        reading = await one.read()
        await one.aclose()
    assert reading.state is State.OK
    assert reading.reason == ""
    assert reading.endpoint == "chat"
    assert (reading.at_s, reading.mono_s) == (1000.5, 7.25)
    assert reading.engines[0].generation_tokens == 276460.0
    assert reading.speculation_configured is True
    assert reading.k == 3
    assert reading.page_bytes == len(K3)
    assert reading.scrape_s == 0.0
    (request,) = server.requests
    assert (request.method, request.target) == ("GET", "/metrics")
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"].startswith("specwatch/")


async def test_the_stamp_is_of_the_first_byte_not_of_the_last() -> None:
    ticks = iter([1.0, 2.0, 9.0])
    reading = await read_once(script([GOOD]), clock=lambda: 100.0, mono=lambda: next(ticks))
    assert reading.mono_s == 2.0
    assert reading.scrape_s == 8.0


async def test_one_connection_serves_every_scrape() -> None:
    async with LoopbackServer(script([GOOD])) as server:
        one = scraper(server.url)
        states = [(await one.read()).state for _ in range(3)]
        await one.aclose()
        assert states == [State.OK] * 3
        assert server.connections == 1


async def test_the_metrics_address_and_its_own_headers_are_used() -> None:
    async with LoopbackServer(script([GOOD])) as server:
        target = Target(
            "chat",
            "http://127.0.0.1:1",
            metrics_url=f"{server.url}/m/page?x=1",
            headers={"Authorization": "Bearer api-secret"},
            metrics_headers={"Authorization": "Bearer page-secret"},
        )
        one = scraper("", target=target)
        assert (await one.read()).state is State.OK
        await one.aclose()
    (request,) = server.requests
    assert request.target == "/m/page?x=1"
    assert request.headers["authorization"] == "Bearer page-secret"


@pytest.mark.parametrize(
    ("reply", "state", "words"),
    [
        (Reply(body=b""), State.EMPTY, "empty"),
        (Reply(body=b"# TYPE vllm:num_requests_running gauge\n"), State.EMPTY, "--disable-log-stats"),
        (Reply(body=b"litellm_x 1\n"), State.NOT_AN_ENGINE, "LiteLLM"),
        (Reply(401), State.UNAUTHORIZED, "metrics_key_env"),
        (Reply(403), State.UNAUTHORIZED, "metrics_key_file"),
        (Reply(404), State.NOT_AN_ENGINE, "--enable-metrics"),
        (Reply(307, headers={"location": "/metrics/"}), State.NOT_AN_ENGINE, "redirect"),
        (Reply(500), State.DOWN, "500"),
        (Reply(503), State.DOWN, "503"),
        (Reply(body=b"<html></html>", headers={"content-type": "text/html"}), State.NOT_AN_ENGINE, "text/html"),
        (Reply(body=b"{}", headers={"content-type": "application/json"}), State.NOT_AN_ENGINE, "application/json"),
        (Reply(body=b"\x00\x01\xff"), State.NOT_AN_ENGINE, "not text"),
        (Reply(body=K3[: len(K3) // 2]), State.EMPTY, "middle of a line"),
        (Reply(body=K3[:9000], promised_length=len(K3), close=True), State.DOWN, "before its answer was whole"),
        (Reply(body=K3 * 30), State.NOT_AN_ENGINE, "max_page_mb"),
        (Reply(raw=b"garbage\r\n\r\n"), State.DOWN, "before its answer was whole"),
        (Reply(body=b"x", headers={"content-encoding": "br"}), State.DOWN, "'br'"),
        (CLOSE, State.DOWN, "closed the connection"),
    ],
)
async def test_named_states(reply: Reply, state: State, words: str) -> None:
    reading = await read_once(script([reply]))
    assert reading.state is state
    assert words in reading.reason
    assert "127.0.0.1" in reading.reason
    assert reading.engines == ()


async def test_a_refused_connection_says_so() -> None:
    async with LoopbackServer(script([GOOD])) as server:
        url = server.url
    reading = await scraper(url).read()
    assert reading.state is State.DOWN
    assert "connection refused" in reading.reason


@pytest.mark.parametrize(
    "reply", [HANG, Reply(body=b"", promised_length=9, hang=True), Reply(body=SMALL, dribble_s=0.01)]
)
async def test_the_deadline_is_for_the_whole_request(reply: Reply) -> None:
    reading = await read_once(script([reply]), timeout_s=0.15)
    assert reading.state is State.DOWN
    assert "within 0.15 s" in reading.reason


async def test_after_a_timeout_the_next_scrape_works() -> None:
    async with LoopbackServer(script([HANG, GOOD])) as server:
        one = scraper(server.url, timeout_s=1.0)
        assert (await one.read()).state is State.DOWN
        assert (await one.read()).state is State.OK
        await one.aclose()


async def test_a_scrape_that_is_cancelled_at_any_moment_costs_the_next_ones_nothing() -> None:
    """A deadline cancels, too. httpcore loses the connection where that falls between its making and its opening."""
    async with LoopbackServer(lambda _: GOOD) as server:
        for turns in range(40):
            one = scraper(server.url, timeout_s=0.5)
            reading = asyncio.create_task(one.read())
            for _ in range(turns):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait([reading])
            assert (await one.read()).state is State.OK, turns
            await one.aclose()


async def test_one_request_in_flight() -> None:
    async with LoopbackServer(script([GOOD])) as server:
        ticks = itertools.count()
        one = scraper(server.url, mono=lambda: float(next(ticks)))
        readings = await asyncio.gather(*(one.read() for _ in range(5)))
        await one.aclose()
        assert [reading.state for reading in readings] == [State.OK] * 5
        assert server.most_in_flight == 1
    assert [reading.scrape_s for reading in readings] == [2.0] * 5, "waiting for its turn is no part of a scrape"


async def test_cancellation_is_not_swallowed_and_leaves_the_scraper_usable() -> None:
    arrived = asyncio.Event()

    def answer(request: Request) -> Reply:
        if arrived.is_set():
            return GOOD
        arrived.set()
        return HANG

    async with LoopbackServer(answer) as server:
        one = scraper(server.url)
        task = asyncio.create_task(one.read())
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await one.read()).state is State.OK
        await one.aclose()


def closes_kept_connections(after_first: Reply) -> Handler:
    """Serves one request per connection; the second one on a connection gets `after_first`."""
    served: set[int] = set()

    def answer(request: Request) -> Reply:
        if request.connection in served:
            return after_first
        served.add(request.connection)
        return GOOD

    return answer


async def test_a_stale_kept_connection_is_not_down() -> None:
    async with LoopbackServer(closes_kept_connections(CLOSE)) as server:
        one = scraper(server.url)
        assert (await one.read()).state is State.OK
        assert (await one.read()).state is State.OK
        await one.aclose()
        assert (server.connections, len(server.requests)) == (2, 3)


async def test_a_fresh_connection_that_closes_is_asked_once_only() -> None:
    async with LoopbackServer(script([CLOSE])) as server:
        one = scraper(server.url)
        assert (await one.read()).state is State.DOWN
        await one.aclose()
        assert len(server.requests) == 1


@pytest.mark.parametrize("broken", [Reply(503), Reply(body=b"abc", promised_length=9, close=True), Reply(body=b"")])
async def test_an_answer_on_a_kept_connection_is_final(broken: Reply) -> None:
    async with LoopbackServer(closes_kept_connections(broken)) as server:
        one = scraper(server.url)
        assert (await one.read()).state is State.OK
        assert (await one.read()).state is not State.OK
        await one.aclose()
        assert len(server.requests) == 2


def packed(body: bytes) -> Reply:
    return Reply(body=gzip.compress(body), headers={"content-encoding": "gzip", "content-type": "text/plain"})


async def test_gzip_is_asked_for_only_where_wanted() -> None:
    async with LoopbackServer(script([packed(K3)])) as server:
        one = scraper(server.url, gzip=True)
        reading = await one.read()
        await one.aclose()
    assert server.requests[0].headers["accept-encoding"] == "gzip"
    assert reading.state is State.OK
    assert reading.page_bytes == len(K3)


async def test_a_small_body_that_unpacks_to_a_huge_one_is_stopped() -> None:
    bomb = packed(b"a 1\n" * 5_000_000)
    assert len(bomb.body) < 100_000
    reading = await read_once(script([bomb]), gzip=True)
    assert reading.state is State.NOT_AN_ENGINE
    assert "1 MB" in reading.reason


@pytest.mark.parametrize("body", [gzip.compress(K3)[:500], b"no gzip at all"])
async def test_broken_gzip_is_down(body: bytes) -> None:
    reading = await read_once(script([Reply(body=body, headers={"content-encoding": "gzip"})]), gzip=True)
    assert reading.state is State.DOWN
    assert "gzip" in reading.reason


async def test_a_restart_is_read_with_fresh_keys() -> None:
    again = K3.replace(b"process_start_time_seconds 1.79600929454e+09", b"process_start_time_seconds 1.8e+09")
    async with LoopbackServer(script([GOOD, Reply(body=again)])) as server:
        one = scraper(server.url)
        first, second = await one.read(), await one.read()
        await one.aclose()
    assert first.process_start_s == 1.79600929454e09
    assert second.process_start_s == 1.8e09
    assert first.engines == second.engines


def tls_server() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    return context


async def test_an_untrusted_certificate_names_the_key_that_helps() -> None:
    async with LoopbackServer(script([GOOD]), tls=tls_server()) as server:
        reading = await scraper(server.url).read()
        assert reading.state is State.DOWN
        assert "certificate is not trusted" in reading.reason
        assert "ca_file" in reading.reason
        trusted = scraper("", target=Target("chat", server.url, ca_file=str(TLS / "server.pem")))
        assert (await trusted.read()).state is State.OK
        await trusted.aclose()
        unchecked = scraper("", target=Target("chat", server.url, verify_tls=False))
        assert (await unchecked.read()).state is State.OK
        await unchecked.aclose()


async def test_https_to_a_plain_port_says_so() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reading = await scraper(f"https://127.0.0.1:{port}").read()
    assert reading.state is State.DOWN
    assert "http://" in reading.reason


async def test_a_missing_ca_file_is_named() -> None:
    target = Target("chat", "https://127.0.0.1:1", ca_file="/nowhere/ca.pem")
    reading = await scraper("", target=target).read()
    assert reading.state is State.DOWN
    assert "ca_file = /nowhere/ca.pem" in reading.reason


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "http://[::1", "127.0.0.1:8000", "http://127.0.0.1:99999"])
async def test_an_address_that_cannot_be_fetched_is_a_state(url: str) -> None:
    reading = await scraper(url).read()
    assert reading.state is State.DOWN
    assert reading.reason


@pytest.mark.parametrize("secret", ["s3cret\nvalue", "s3cret\u00e9\u4e2d"])
async def test_no_secret_reaches_a_reason(secret: str) -> None:
    async with LoopbackServer(script([Reply(401)])) as server:
        address = server.url.replace("http://", "http://user:s3cret@")
        for headers in ({}, {"Authorization": f"Bearer {secret}"}):
            target = Target("chat", server.url, metrics_url=f"{address}/metrics?key=s3cret", metrics_headers=headers)
            one = scraper("", target=target)
            reading = await one.read()
            await one.aclose()
            assert reading.state is not State.OK
            assert "s3cret" not in reading.reason
            assert "s3cret" not in repr(reading)
            assert "s3cret" not in repr(one)
