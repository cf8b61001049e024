"""The load client against a real socket: what it counts, stamps and survives."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from probes.load.closed_loop import ClosedLoop
from probes.load.prompts import parse_prompts
from probes.load.records import Ending
from probes.load.request import RequestSource, Sampling, Series
from probes.values import Target
from tests.support.fake_engine import FakeEngine, Faults, fake_engine
from tests.support.waiting import until

TEXT = b'{"prompt": "hello"}'
CHAT = b'{"messages": [{"role": "user", "content": "hello"}]}'


def make_loop(engine: FakeEngine, clients: int, prompts: bytes = TEXT, max_tokens: int = 64) -> ClosedLoop:
    source = RequestSource(
        parse_prompts("t", prompts), "tiny", Sampling(max_tokens), Series("n", 1, clients, 0, order=0)
    )
    return ClosedLoop(Target("t", engine.url, headers={"Authorization": "Bearer s3cret"}), source, clients)


async def run_until_records(loop: ClosedLoop, count: int) -> None:
    try:
        await loop.warm()
        loop.start(0.02)
        await until(lambda: len(loop.records) >= count)
        await loop.drain(10.0)
    finally:
        await loop.aclose()


@pytest.mark.parametrize("prompts", [TEXT, CHAT], ids=["completions", "chat"])
@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("k", [0, 3])
async def test_tokens_come_from_usage_whatever_the_chunks(prompts: bytes, crlf: bool, k: int) -> None:
    async with fake_engine(FakeEngine(k=k, crlf=crlf)) as engine:
        loop = make_loop(engine, 3, prompts)
        await run_until_records(loop, 9)
        assert {record.ending for record in loop.records} == {Ending.OK}
        assert sum(r.output_tokens or 0 for r in loop.records) == engine.counters[0].generation
        assert {r.prompt_tokens for r in loop.records} == {100}
        assert {r.finish_reason for r in loop.records} == {"stop"}
        for record in loop.records:
            assert record.sent_s is not None
            assert record.first_s is not None
            assert record.last_s is not None
            assert record.launched_s <= record.sent_s <= record.first_s < record.last_s <= record.end_s


async def test_requests_say_who_asks() -> None:
    async with fake_engine() as engine:
        await run_until_records(make_loop(engine, 1), 2)
        first = engine.headers[0]
        assert first["user-agent"].startswith("specwatch-probe/")
        assert first["x-request-id"] == "specwatch-n-0-0"
        assert first["authorization"] == "Bearer s3cret"


async def test_a_capped_answer_is_known_as_such() -> None:
    async with fake_engine() as engine:
        loop = make_loop(engine, 1, max_tokens=7)
        await run_until_records(loop, 2)
        assert {(r.output_tokens, r.finish_reason) for r in loop.records} == {(7, "length")}


async def test_a_client_that_ends_early_leaves_the_others_their_first_requests() -> None:
    """The load is cut to be even by the number of a client's first request."""
    async with fake_engine(FakeEngine(output_tokens=1)) as engine:
        loop = make_loop(engine, 4)
        try:
            await loop.warm()
            loop.start(0.4)
            await until(lambda: len({r.client for r in loop.records}) == 4)
        finally:
            await loop.aclose()
        first: dict[int, int] = {}
        for record in sorted(loop.records, key=lambda r: r.launched_s):
            first.setdefault(record.client, record.index)
        assert first == {0: 0, 1: 1, 2: 2, 3: 3}
        assert min(r.launched_s for r in loop.records if r.index > 3) < max(
            r.launched_s for r in loop.records if r.index == 3
        ), "or nobody ended early"


async def test_clients_never_wait_for_each_other() -> None:
    async with fake_engine() as engine:
        loop = make_loop(engine, 4)
        await run_until_records(loop, 20)
        assert loop.max_in_flight == 4
        by_client = [sum(r.client == client for r in loop.records) for client in range(4)]
        assert min(by_client) >= 2


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        (Faults(refuse_every=1), "HTTP 500"),
        (Faults(break_every=1), "connection failed"),
        (Faults(error_object_every=1), "the server broke off: the engine died"),
    ],
)
async def test_a_fault_is_an_error_in_words_and_no_hot_loop(faults: Faults, says: str) -> None:
    async with fake_engine(FakeEngine(faults=faults)) as engine:
        loop = make_loop(engine, 2)
        await run_until_records(loop, 4)
        assert {r.ending for r in loop.records} == {Ending.ERROR}
        assert all(r.error.startswith(says) for r in loop.records)
        assert "s3cret" not in repr(loop.records)
        by_client = [r for r in loop.records if r.client == 0]
        assert all(b.launched_s - a.end_s >= 0.09 for a, b in pairwise(by_client))


async def test_an_answer_without_usage_has_unknown_tokens() -> None:
    async with fake_engine(FakeEngine(faults=Faults(usage=False))) as engine:
        loop = make_loop(engine, 1)
        await run_until_records(loop, 2)
        assert {(r.ending, r.output_tokens) for r in loop.records} == {(Ending.OK, None)}


async def test_a_drain_that_takes_too_long_cuts_off_and_says_how_many() -> None:
    async with fake_engine(FakeEngine(output_tokens=100_000)) as engine:
        loop = make_loop(engine, 3, max_tokens=100_000)
        loop.start(0.0)
        await until(lambda: engine.open_streams == 3)
        assert await loop.drain(0.05) == 3
        assert [r.ending for r in loop.records] == [Ending.CANCELLED] * 3
        await until(lambda: engine.open_streams == 0)
        await loop.aclose()


async def test_closing_ends_every_stream_on_the_server_too() -> None:
    async with fake_engine(FakeEngine(output_tokens=100_000)) as engine:
        loop = make_loop(engine, 8, max_tokens=100_000)
        loop.start(0.0)
        await until(lambda: engine.open_streams == 8)
        async with asyncio.timeout(2.0):
            await loop.aclose()
        await until(lambda: engine.open_streams == 0)


async def test_an_unreachable_server_is_an_error_not_a_crash() -> None:
    engine = FakeEngine()
    await engine.start()
    await engine.stop()
    loop = make_loop(engine, 1)
    await run_until_records(loop, 1)
    assert loop.records[0].error.startswith("connection failed")
