"""The first answer of each client is cut to a share of its length; the shares are even, later answers are whole."""

from __future__ import annotations

import json
from itertools import pairwise
from math import ceil

import pytest

from probes.load.first import first_answer, is_cut
from probes.load.prompts import BUILTIN, load_prompts
from probes.load.recipe import Form
from probes.load.request import RequestSource, Sampling, Series
from probes.load.shape import LengthShape

SHAPE = LengthShape(tuple(30.0 * n for n in range(1, 33)), tuple(20.0 * n for n in range(1, 33)), 1000.0)


def source(first: int, order: int = 0, form: Form | None = None) -> RequestSource:
    """Requests of one cell with answers of at most 400 tokens."""
    series = Series("n", 1, 12, 0, order)
    return RequestSource(load_prompts(BUILTIN), "m", Sampling(400), series, form or Form(), first)


def caps(given: RequestSource, count: int = 40) -> list[int]:
    """Most tokens of the answers to the next requests."""
    return [json.loads(given.next()[2].content)["max_tokens"] for _ in range(count)]


@pytest.mark.parametrize("clients", [*range(1, 65), 143, 512, 4096])
def test_shares_are_even_for_any_number_of_clients(clients: int) -> None:
    """No share of the answers is further from the share of clients that it should be than one client makes."""
    most = 10 * clients
    ends = sorted(first_answer(most, number, clients) / most for number in range(clients))
    apart = [max(abs((rank + 1) / clients - end), abs(rank / clients - end)) for rank, end in enumerate(ends)]
    assert max(apart) <= 1 / clients + 1e-9
    assert ends[-1] == 1.0


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.5, 0.9, 1.0, 2.0])
def test_first_answers_end_one_after_the_other_however_long_the_starts_take(spread: float) -> None:
    """`spread` in requests' times, from the first start to the last."""
    ends = [number / 48 * spread + first_answer(480, number, 48) / 480 for number in range(48)]
    steps = [later - earlier for earlier, later in pairwise(ends)]
    assert min(steps) == pytest.approx(max(steps))
    assert min(steps) >= 1 / 48 - 1e-9


@pytest.mark.parametrize(("max_tokens", "clients"), [(1, 8), (3, 64), (512, 1000)])
def test_every_answer_has_at_least_one_token_and_none_more_than_its_own_most(max_tokens: int, clients: int) -> None:
    lengths = [first_answer(max_tokens, number, clients) for number in range(2 * clients)]
    assert min(lengths) >= 1
    assert lengths[clients - 1 :] == [max_tokens] * (clients + 1)
    assert [is_cut(number, clients) for number in range(clients)] == [True] * (clients - 1) + [False]
    assert not any(is_cut(number, clients) for number in range(clients, 2 * clients))


def test_a_single_client_begins_with_a_whole_answer() -> None:
    assert first_answer(512, 0, 1) == 512
    assert not is_cut(0, 1)


def test_only_first_requests_are_cut_and_nothing_but_their_answers() -> None:
    cut, plain = source(12), source(0)
    assert caps(cut) == [ceil(400 * (number + 1) / 12) for number in range(12)] + [400] * 28
    assert caps(plain) == [400] * 40
    sent, alike = ([json.loads(one.next()[2].content) for _ in range(12)] for one in (source(12), source(0)))
    assert [body["prompt"] for body in sent] == [body["prompt"] for body in alike]


def test_every_arm_gets_the_same_shares() -> None:
    assert caps(source(12, order=3)) == caps(source(12, order=4))


def test_an_answer_with_a_length_of_its_own_gets_a_share_of_that() -> None:
    form = Form(SHAPE)
    own = caps(source(0, form=form))
    cut = [max(1, ceil(most * (number + 1) / 12)) for number, most in enumerate(own[:12])]
    assert caps(source(12, form=form)) == cut + own[12:]


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_send_what_one_would(processes: int) -> None:
    whole, parts = caps(source(12)), []
    for first in range(processes):
        part = source(12)
        for index in range(40):
            if index % processes == first:
                parts.append((index, *caps(part, 1)))
            else:
                part.skip()
    assert [cap for _, cap in sorted(parts)] == whole
