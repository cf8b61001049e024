"""The load's transport against real sockets: every way an answer may be framed, refused, cut off or held back."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import socket
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from probes.load import closed_loop
from probes.load.closed_loop import ClosedLoop
from probes.load.records import Ending
from probes.load.wire import connect
from probes.values import Target
from tests.support.http_server import CLOSE, HANG, LoopbackServer, Reply, Request, script
from tests.support.loads import (
    CHUNKED,
    EVENTS,
    HEAD,
    STREAM,
    Numbers,
    chunk,
    chunked,
    on_both_loops,
    one_client,
    records_of,
    run_on,
    serving,
)
from tests.support.waiting import until

OK = Reply(body=STREAM, headers={"content-type": "text/event-stream"})
LENGTH = b"content-length: %d\r\n\r\n" % len(STREAM)

WHOLE = {
    "chunked": chunked(),
    "chunks that cut events": HEAD
    + CHUNKED
    + b"\r\n"
    + b"".join(chunk(STREAM[i : i + 7]) for i in range(0, len(STREAM), 7))
    + b"0\r\n\r\n",
    "chunked with trailers": chunked()[:-2] + b"x-checked: yes\r\n\r\n",
    "content length": HEAD + LENGTH + STREAM,
    "until the connection closes": HEAD + b"\r\n" + STREAM,
    "HTTP/1.0": HEAD.replace(b"1.1", b"1.0") + b"\r\n" + STREAM,
    "after 100 Continue": b"HTTP/1.1 100 Continue\r\n\r\n" + chunked(),
    "after early hints": b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + HEAD + b"\r\n" + STREAM,
    "CRLF": chunked([event.replace(b"\n", b"\r\n") for event in EVENTS]),
    "without the last blank line": HEAD + b"\r\n" + STREAM.removesuffix(b"\n\n"),
    "connection close": HEAD + b"Connection: close\r\n" + LENGTH + STREAM,
}

REFUSED: dict[str, tuple[Reply, str]] = {
    "429": (Reply(429, b'{"error": "slow down"}'), 'HTTP 429: {"error": "slow down"}'),
    "500": (Reply(500), "HTTP 500"),
    "401": (Reply(401), "HTTP 401: the API wants a key"),
    "204": (Reply(204), "HTTP 204"),
    "redirect": (Reply(307, headers={"location": "/elsewhere"}), "HTTP 307: a redirect, which is not followed"),
    "a page": (Reply(body=b"<html>"), "the stream ended before the answer did"),
    "compressed": (
        Reply(body=b"\x1f\x8b..", headers={"content-encoding": "gzip"}),
        "the answer came compressed (gzip)",
    ),
    "not HTTP": (Reply(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), "connection failed: http://127.0.0.1:"),
    "another protocol": (
        Reply(raw=b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
        "connection failed: http://127.0.0.1:",
    ),
    "truncated chunks": (Reply(raw=chunked()[:-20]), "connection failed: http://127.0.0.1:"),
    "truncated length": (Reply(raw=HEAD + LENGTH + STREAM[:-9]), "connection failed: http://127.0.0.1:"),
    "truncated, closed": (Reply(raw=HEAD + b"\r\n" + EVENTS[0]), "the stream ended before the answer did"),
    "no answer": (CLOSE, "connection failed: http://127.0.0.1:"),
    "endless refusal": (Reply(503, b"no " * 100_000, promised_length=10**9, hang=True), "HTTP 503: no no no"),
    "error in the stream": (
        Reply(body=EVENTS[0] + b'data: {"error": {"message": "out of memory"}}\n\n'),
        "the server broke off: out of memory",
    ),
}


@on_both_loops
@pytest.mark.parametrize("raw", WHOLE.values(), ids=WHOLE.keys())
def test_every_framing_of_an_answer_is_understood(new_loop: Any, raw: bytes) -> None:
    async def scene() -> None:
        async with LoopbackServer(script([Reply(raw=raw)])) as server:
            for record in await records_of(one_client(server.url), 2):
                assert (record.ending, record.error) == (Ending.OK, "")
                assert (record.prompt_tokens, record.output_tokens, record.finish_reason) == (3, 2, "stop")

    run_on(new_loop, scene())


@pytest.mark.parametrize("reply_and_words", REFUSED.values(), ids=REFUSED.keys())
async def test_every_refusal_is_an_error_in_words(reply_and_words: tuple[Reply, str]) -> None:
    reply, words = reply_and_words
    async with LoopbackServer(script([reply])) as server:
        for record in await records_of(one_client(server.url), 2):
            assert record.ending is Ending.ERROR
            assert record.error.startswith(words)


def spoiled(raw: bytes, dice: random.Random) -> bytes:
    """An answer with one to three accidents: bytes lost, doubled, overwritten or moved."""
    for _ in range(dice.randint(1, 3)):
        start = dice.randrange(len(raw))
        end = min(len(raw), start + dice.randint(1, 30))
        piece = dice.choice([b"", raw[start:end] * 2, dice.randbytes(end - start), raw[:start]])
        raw = raw[:start] + piece + raw[end:] or b"\n"
    return raw


@on_both_loops
def test_a_spoiled_answer_ends_its_own_request_and_nothing_else(new_loop: Any) -> None:
    dice = random.Random(7)
    whole = list(WHOLE.values())

    def answer(request: Request) -> Reply:
        number = int(request.headers["x-request-id"].removeprefix("id-"))
        return Reply(raw=spoiled(whole[number % len(whole)], dice) if number < 300 else whole[0])

    async def scene() -> None:
        async with LoopbackServer(answer) as server:
            loop = ClosedLoop(Target("t", server.url), Numbers(), 100)
            asyncio.get_running_loop().set_exception_handler(lambda _, context: unexpected.append(context))
            records = await records_of(loop, 500)
        assert {record.ending for record in records if record.index < 300} == {Ending.OK, Ending.ERROR}
        assert {record.ending for record in records if record.index >= 300} == {Ending.OK}
        assert all(record.error for record in records if record.ending is Ending.ERROR)

    unexpected: list[object] = []
    run_on(new_loop, scene())
    assert unexpected == []


async def test_one_byte_at_a_time_is_the_same_answer() -> None:
    async with LoopbackServer(script([Reply(body=STREAM, dribble_s=0.0)])) as server:
        (record,) = await records_of(one_client(server.url))
        assert (record.ending, record.output_tokens) == (Ending.OK, 2)
        assert record.first_s is not None
        assert record.last_s is not None
        assert record.first_s < record.last_s < record.end_s


async def test_a_kept_connection_serves_one_request_after_the_other() -> None:
    async with LoopbackServer(script([OK])) as server:
        records = await records_of(one_client(server.url), 5)
        assert [record.index for record in records] == [0, 1, 2, 3, 4]
        assert {request.connection for request in server.requests} == {0}
        assert [request.headers["x-request-id"] for request in server.requests[:2]] == ["id-0", "id-1"]


async def test_a_server_that_closes_after_each_answer_gets_a_new_connection_each_time() -> None:
    reply = Reply(raw=WHOLE["connection close"])
    async with LoopbackServer(script([reply])) as server:
        records = await records_of(one_client(server.url), 4)
        assert {(record.ending, record.retried) for record in records} == {(Ending.OK, False)}
        assert [request.connection for request in server.requests[:4]] == [0, 1, 2, 3]


def closing_late(second: Reply) -> Callable[[Request], Reply]:
    """A server that gives `second` to the second request of its first connection, and a good answer to all others."""
    seen: list[int] = []

    def answer(request: Request) -> Reply:
        seen.append(request.connection)
        return second if len(seen) == 2 else OK

    return answer


@on_both_loops
def test_a_stale_connection_is_replaced_once_and_counted(new_loop: Any) -> None:
    async def scene() -> None:
        async with LoopbackServer(closing_late(CLOSE)) as server:
            first, second, third = await records_of(one_client(server.url), 3)
            assert (second.ending, second.retried) == (Ending.OK, True)
            assert not first.retried
            assert not third.retried
            assert [r.headers["x-request-id"] for r in server.requests[:4]] == ["id-0", "id-1", "id-1", "id-2"]
            assert second.sent_s is not None
            assert second.launched_s <= second.sent_s

    run_on(new_loop, scene())


async def test_nothing_is_sent_again_once_a_byte_of_an_answer_came() -> None:
    async with LoopbackServer(closing_late(Reply(raw=b"HTTP/1.1 200"))) as server:
        _, second, _ = await records_of(one_client(server.url), 3)
        assert second.ending is Ending.ERROR
        assert second.error.endswith("closed the connection in the middle of its answer")
        assert [r.headers["x-request-id"] for r in server.requests[:3]] == ["id-0", "id-1", "id-2"]


async def test_nothing_is_sent_a_third_time() -> None:
    async with LoopbackServer(script([OK, CLOSE])) as server:
        _, second = await records_of(one_client(server.url), 2)
        assert (second.ending, second.retried) == (Ending.ERROR, True)
        assert [r.headers["x-request-id"] for r in server.requests].count("id-1") == 2


async def test_the_request_counts_as_sent_when_its_last_byte_left() -> None:
    took_s: list[float] = []
    reading = asyncio.Event()

    async def slow_reader(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reading.wait()
        took_s.append(time.monotonic())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(chunked())
        await reader.read()

    async with serving(slow_reader) as url:
        loop = ClosedLoop(Target("t", url), Numbers(2**24), 1)
        try:
            await loop.warm()
            loop.start(0.0)
            await until(lambda: loop.in_flight == 1)
            reading.set()
            await until(lambda: loop.records)
        finally:
            await loop.aclose()
    record = loop.records[0]
    assert record.ending is Ending.OK
    assert record.sent_s is not None
    assert record.launched_s < took_s[0] < record.sent_s


async def test_a_silent_stream_ends_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_loop, "SILENCE_MAX_S", 0.05)
    monkeypatch.setattr(closed_loop, "SILENCE_LOOK_S", 0.02)
    answers = {
        "before a byte": HANG,
        "in the middle": Reply(body=EVENTS[0], promised_length=len(STREAM), hang=True),
    }
    for reply in answers.values():
        async with LoopbackServer(script([reply])) as server:
            (record,) = await records_of(one_client(server.url))
            assert record.ending is Ending.ERROR
            assert record.error == "no answer in time: nothing came for 0.05 s"
            assert not record.retried
            assert server.connections == 1


async def test_a_host_that_takes_no_connection_is_given_up_and_can_be_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with closing(socket.create_connection(listener.getsockname())), closing(socket.socket()) as second:
            second.setblocking(False)
            second.connect_ex(listener.getsockname())
            loop = one_client(url)
            loop.start(0.0)
            await until(lambda: loop.in_flight == 1)
            async with asyncio.timeout(2.0):
                await loop.aclose()
            assert [record.ending for record in loop.records] == [Ending.CANCELLED]

            monkeypatch.setattr(connect, "CONNECT_TIMEOUT_S", 0.1)
            (record,) = await records_of(one_client(url))
            assert record.error == f"no answer in time: no connection to {url} in 0.1 s"


@on_both_loops
@pytest.mark.parametrize("part", [b"", HEAD + CHUNKED + b"\r\n" + chunk(EVENTS[0])], ids=["no byte", "in the middle"])
def test_closing_hangs_up_at_once_on_a_server_that_hangs(new_loop: Any, part: bytes) -> None:
    left: list[bytes] = []
    asked: list[bytes] = []

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"}"))
        writer.write(part)
        try:
            left.append(await reader.read())
        except ConnectionError:
            left.append(b"")

    async def scene() -> None:
        async with serving(hang) as url:
            loop = ClosedLoop(Target("t", url), Numbers(), 16)
            await loop.warm()
            loop.start(0.0)
            await until(lambda: len(asked) == 16)
            async with asyncio.timeout(2.0):
                await loop.aclose()
                await until(lambda: len(left) == 16)
            assert [record.ending for record in loop.records] == [Ending.CANCELLED] * 16

    run_on(new_loop, scene())


async def test_prefix_and_literal_addresses_are_kept() -> None:
    async with LoopbackServer(script([OK])) as server:
        await records_of(one_client(f"{server.url}/route/a", api_path="/v9"))
        assert server.requests[0].target == "/route/a/v9/completions"
        assert server.requests[0].headers["host"] == f"127.0.0.1:{server.port}"
        assert json.loads(server.requests[0].body)["prompt"] == "0"


async def test_connections_that_never_carried_a_request_are_closed_too() -> None:
    left: list[bytes] = []

    async def idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left.append(await reader.read())

    async with serving(idle) as url:
        loop = ClosedLoop(Target("t", url), Numbers(), 8)
        await loop.warm()
        await loop.aclose()
        await until(lambda: len(left) == 8)
    assert set(left) == {b""}
    assert loop.records == []


async def test_a_low_limit_of_open_files_is_raised_or_said_in_words() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        async with LoopbackServer(script([HANG])) as server:
            resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, hard))
            loop = ClosedLoop(Target("t", server.url), Numbers(), 60)
            await loop.warm()
            await until(lambda: server.connections == 60)
            await loop.aclose()

            late = one_client(server.url)
            lowest_free = os.dup(0)
            os.close(lowest_free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
            (record,) = await records_of(late)
            assert "raise its limit of open files (ulimit -n)" in record.error
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_name_is_tried_at_all_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackServer(script([OK])) as server:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, server.port))
            for address in ("127.0.0.2", "127.0.0.1")
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        (record,) = await records_of(one_client(f"http://chat.example:{server.port}"))
        assert record.error == ""
        assert server.requests[0].headers["host"] == f"chat.example:{server.port}"


async def test_a_name_that_nobody_knows_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    (record,) = await records_of(one_client("http://chat.example:8000"))
    assert record.error.startswith("connection failed: the host of http://chat.example:8000 cannot be resolved")


@on_both_loops
def test_a_name_that_cannot_be_one_is_said_in_words(new_loop: Any) -> None:
    async def scene() -> None:
        (record,) = await records_of(one_client("http://gpu..example:8000"))
        assert record.error.startswith("connection failed: the host of http://gpu..example:8000 cannot be resolved")

    run_on(new_loop, scene())


async def test_ipv6_addresses_work() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(chunked())
        await reader.read()

    heads: list[bytes] = []
    try:
        async with serving(answer, "::1") as url:
            (record,) = await records_of(one_client(url))
    except OSError:
        pytest.skip("no IPv6 on this machine")
    assert record.error == ""
    assert f"host: {url.removeprefix('http://')}".encode() in heads[0].lower()


async def test_proxy_variables_are_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with LoopbackServer(script([OK])) as server:
        (record,) = await records_of(one_client(server.url))
        assert record.error == ""
