"""A server is restarted only after it has been idle, seen to be idle, for long enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from probes.restart.drain import NotDrained, let_end, until_drained
from probes.values import Reading, State
from tests.support.readings import engine, reading

STEP_S = 2.0**-5


class Page:
    """A scraper over a script: reading number i is `at(i)`, each `STEP_S` later than the one before."""

    def __init__(self, at: Callable[[int], Reading]) -> None:
        self.at = at
        self.reads = 0

    async def read(self) -> Reading:
        self.reads += 1
        return replace(self.at(self.reads - 1), mono_s=STEP_S * self.reads)


def page(running: float | None = 0.0, waiting: float = 0.0, tokens: float = 100.0) -> Reading:
    return reading(0.0, [engine(running=running, waiting=waiting, tokens=tokens)])


async def drained(at: Callable[[int], Reading], quiet_s: float = 5 * STEP_S, bound_s: float = 20.0) -> int:
    scraper = Page(at)
    last = await until_drained(scraper, quiet_s=quiet_s, bound_s=bound_s)
    # What the process that is about to be replaced showed last: another look might fail, and any process would do then.
    assert (last.state, last.mono_s) == (State.OK, STEP_S * scraper.reads)
    return scraper.reads


async def test_an_idle_server_is_drained_after_the_quiet_time() -> None:
    assert await drained(lambda _: page()) == 6


async def test_without_a_quiet_time_one_look_suffices_but_is_needed() -> None:
    assert await drained(lambda _: page(), quiet_s=0.0) == 1
    with pytest.raises(NotDrained):
        await drained(lambda _: page(running=1.0), quiet_s=0.0, bound_s=0.0)


async def test_users_requests_may_end_first() -> None:
    assert await drained(lambda i: page(running=3.0 if i < 4 else 0.0)) == 10


async def test_quiet_begins_anew_where_an_answer_was_counted_between_two_looks() -> None:
    assert await drained(lambda i: page(tokens=100.0 if i < 4 else 101.0)) == 10


@pytest.mark.parametrize(
    ("seen", "words", "requests"),
    [
        (page(running=2.0), "2 in the system", 2.0),
        (page(waiting=1.0), "1 in the system", 1.0),
        (page(running=None), "does not show how many", None),
        (reading(0.0, state=State.DOWN, reason="refused"), "it is down: refused", None),
    ],
)
async def test_it_gives_up_and_says_what_it_saw(seen: Reading, words: str, requests: float | None) -> None:
    with pytest.raises(NotDrained, match=words) as given_up:
        await drained(lambda _: seen, bound_s=0.0)
    assert given_up.value.requests == requests


async def test_answers_without_end_are_traffic_too() -> None:
    with pytest.raises(NotDrained, match="requests kept being answered") as given_up:
        await drained(lambda i: page(tokens=float(i)), bound_s=0.1)
    assert given_up.value.requests == 0.0


async def test_silence_is_no_proof_of_idleness() -> None:
    """One failed look starts the quiet time anew."""
    assert await drained(lambda i: page() if i != 4 else reading(0.0, state=State.STALE)) == 11


async def test_before_a_restore_requests_get_their_time_and_no_more() -> None:
    idle = Page(lambda i: page(running=1.0 if i < 2 else 0.0))
    await let_end(idle, bound_s=5.0)
    assert idle.reads == 3
    gone = Page(lambda _: reading(0.0, state=State.DOWN))
    await let_end(gone, bound_s=5.0)
    assert gone.reads == 3
    once = Page(lambda i: page(running=1.0) if i % 3 else reading(0.0, state=State.DOWN))
    assert (await let_end(once, bound_s=1.0)).mono_s >= 7 * STEP_S, "a look that fails now and then ends nothing"
    assert (await let_end(Page(lambda _: page(running=1.0)), bound_s=0.0)).mono_s == STEP_S
    busy = Page(lambda _: page(running=1.0))
    await let_end(busy, bound_s=0.1)
    assert busy.reads >= 1
