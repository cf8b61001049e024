"""Requests are built ahead and handed out in order; several processes together hand out one sequence."""

from __future__ import annotations

import asyncio

import pytest

from probes.load.load import STREAMS_PER_PROCESS, make_load, process_count
from probes.load.ready import WHOLE, ReadyRequests, Share
from probes.load.wire.address import parse_address
from probes.load.wire.head import RequestHead
from probes.values import Target
from tests.support.loads import Numbers
from tests.support.waiting import until

HEAD = RequestHead(parse_address("http://h"), "/v1", {})


class Counted(Numbers):
    """Knows how many requests were built."""

    built = 0

    def next(self):  # type: ignore[no-untyped-def]
        self.built += 1
        return super().next()


async def test_requests_come_in_order_and_are_ready_before_they_are_needed() -> None:
    source = Counted()
    ready = ReadyRequests(source, HEAD, 20)
    ready.fill()
    assert source.built == 20
    taken = [ready.take().index for _ in range(30)]
    assert taken == list(range(30))
    await until(lambda: source.built == 50)
    await asyncio.sleep(0)
    assert source.built == 50
    first = ready.take()
    assert first.index == 30
    assert first.content.endswith(b'"prompt": "30", "max_tokens": 1000000, "stream": true}')


@pytest.mark.parametrize("of", [1, 2, 3])
async def test_shares_of_all_processes_are_the_whole_sequence(of: int) -> None:
    taken = [ReadyRequests(Numbers(), HEAD, 4, Share(first, of)) for first in range(of)]
    assert sorted(one.take().index for one in taken for _ in range(6)) == list(range(6 * of))
    assert Share(0, 1) == WHOLE


@pytest.mark.parametrize(
    ("clients", "asked", "cores", "processes"),
    [
        (1, None, 8, 1),
        (STREAMS_PER_PROCESS, None, 8, 1),
        (STREAMS_PER_PROCESS + 1, None, 8, 2),
        (4096, None, 8, 7),
        (4096, None, 2, 1),
        (4096, None, 1, 1),
        (8, 4, 2, 4),
        (2, 4, 8, 2),
    ],
)
def test_processes_follow_the_streams_and_leave_a_core(
    clients: int, asked: int | None, cores: int, processes: int
) -> None:
    assert process_count(clients, asked, cores) == processes


async def test_a_load_is_in_this_process_unless_there_is_reason() -> None:
    target = Target("t", "http://127.0.0.1:1")
    assert make_load(target, Numbers, 4).processes == 1
    assert make_load(target, Numbers, 4, workers=3).processes == 3
