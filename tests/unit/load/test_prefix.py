"""Shared prefixes: a prefix cache hits as often as was asked for, and never across cells."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from itertools import islice

import pytest

from probes.load.prefix import BLOCK_TOKENS, SharedBlocks
from probes.load.prompts import BUILTIN, PromptSet, load_prompts, parse_prompts
from probes.load.recipe import Form
from probes.load.request import RequestSource, Sampling, Series
from probes.load.shape import LengthShape
from probes.sim.request import PrefixCache, prefix_hashes

SIM_CHARS_PER_TOKEN = 4
SHAPE = LengthShape(tuple(40.0 * n for n in range(1, 33)), tuple(8.0 * n for n in range(1, 33)), 1000.0)
RULES = "You answer for a shop that sells lamps. Be short and kind, and never promise a date. " * 6
OWN = [f"{RULES}Customer {n} asks: {'why is it so, and since when? ' * (8 + n % 9)}" for n in range(20)]


def texts(prompts: PromptSet, form: Form, *, order: int = 0, rung: int = 4, count: int = 400) -> list[str]:
    """The whole prompts of one cell as the server sees them."""
    source = RequestSource(prompts, "m", Sampling(512), Series("n", 1, rung, 0, order), form)
    bodies = [json.loads(source.next()[2].content) for _ in range(count)]
    return [body["prompt"] if "prompt" in body else "".join(m["content"] for m in body["messages"]) for body in bodies]


def hit_ratio(cache: PrefixCache, sent: Iterable[str], chars_per_token: int = SIM_CHARS_PER_TOKEN) -> float:
    """Share of prompt tokens that a prefix cache of `BLOCK_TOKENS` a block finds."""
    hits = queries = 0
    for text in sent:
        tokens = [hash(text[at : at + chars_per_token]) for at in range(0, len(text), chars_per_token)]
        hashes = prefix_hashes(tokens)
        hits += cache.match(hashes, len(tokens))
        queries += len(tokens)
        cache.add(hashes)
    return hits / queries


def form(target: float, shape: LengthShape | None = None, chars_per_token: float = 4.0) -> Form:
    return Form(shape, target, chars_per_token)


@pytest.mark.parametrize("shape", [None, SHAPE], ids=["as they are", "shaped"])
@pytest.mark.parametrize("target", [0.0, 0.08, 0.35, 0.6, 0.9])
def test_the_cache_hits_as_often_as_was_asked_for(target: float, shape: LengthShape | None) -> None:
    sent = texts(load_prompts(BUILTIN), form(target, shape))
    assert hit_ratio(PrefixCache(10_000), sent) == pytest.approx(target, abs=0.007)


@pytest.mark.parametrize("shape", [None, SHAPE], ids=["as they are", "shaped"])
@pytest.mark.parametrize("target", [0.35, 0.9])
def test_a_lone_client_hits_as_often_from_its_second_request_on(target: float, shape: LengthShape | None) -> None:
    cache = PrefixCache(10_000)
    first, *rest = texts(load_prompts(BUILTIN), form(target, shape), rung=1, count=24)
    hit_ratio(cache, [first])
    assert hit_ratio(cache, rest) == pytest.approx(target, abs=0.03)


@pytest.mark.parametrize("chars_per_token", [3.8, 4.2])
def test_a_count_that_is_a_little_off_costs_no_block(chars_per_token: float) -> None:
    short = LengthShape(tuple(100.0 + n for n in range(32)), SHAPE.output_tokens, 1000.0)
    sent = texts(load_prompts(BUILTIN), form(0.35, short, chars_per_token))
    assert hit_ratio(PrefixCache(10_000), sent) == pytest.approx(0.35, abs=0.03)


@pytest.mark.parametrize("tokens_hold", [3, 5])
def test_a_vocabulary_that_was_guessed_wrongly_does_not_void_the_cell(tokens_hold: int) -> None:
    sent = texts(load_prompts(BUILTIN), form(0.35, SHAPE))
    assert hit_ratio(PrefixCache(10_000), sent, tokens_hold) == pytest.approx(0.35, abs=0.05)


@pytest.mark.parametrize("kind", ["prompt", "messages"])
@pytest.mark.parametrize("target", [0.0, 0.2, 0.4, 0.8])
def test_own_prompts_share_their_common_beginning_before_anything_is_added(target: float, kind: str) -> None:
    lines: list[object] = [{"prompt": text} for text in OWN]
    if kind == "messages":
        rules = {"role": "system", "content": RULES}
        lines = [{"messages": [rules, {"role": "user", "content": text.removeprefix(RULES)}]} for text in OWN]
    sent = texts(parse_prompts("own", "\n".join(map(json.dumps, lines)).encode()), form(target))
    assert hit_ratio(PrefixCache(10_000), sent) == pytest.approx(target, abs=0.03)
    added = (sum(map(len, sent)) - 20 * sum(map(len, OWN))) / len(sent)
    assert (added > 100) == (target > 0.6), "six lines of rules are about half of such a prompt"


def test_own_words_are_sent_whole_and_in_order() -> None:
    own = parse_prompts("own", "\n".join(json.dumps({"prompt": text}) for text in OWN).encode())
    for sent in texts(own, form(0.3), count=20):
        marks = [word for word in sent.split() if len(word) == 8 and all(c in "0123456789abcdef" for c in word)]
        assert len(marks) == 2, "one of the cell, one of the request"
        assert sent.removeprefix(f"{marks[0]} ").replace(f" {marks[1]}", "", 1) in OWN


@pytest.mark.parametrize("shape", [None, SHAPE], ids=["as they are", "shaped"])
def test_another_cell_finds_nothing_in_the_cache(shape: LengthShape | None) -> None:
    cache = PrefixCache(10_000)
    hit_ratio(cache, texts(load_prompts(BUILTIN), form(0.5, shape), order=0))
    first_of_next = texts(load_prompts(BUILTIN), form(0.5, shape), order=1, count=1)
    assert hit_ratio(cache, first_of_next) == 0.0


def test_arms_share_the_same_amounts() -> None:
    one, two = (texts(load_prompts(BUILTIN), form(0.5, SHAPE), order=order) for order in (0, 1))
    assert [len(text) for text in one] == [len(text) for text in two]
    assert one != two


def test_the_sum_stays_next_to_the_target_although_blocks_are_whole() -> None:
    draw = random.Random(5)
    blocks, lengths = SharedBlocks(0.1), [draw.uniform(20, 300) for _ in range(2000)]
    shared = [blocks.next(length, length - BLOCK_TOKENS) * BLOCK_TOKENS for length in lengths]
    assert sum(shared) == pytest.approx(0.1 * sum(lengths), rel=0.02)
    assert all(one <= max(0.0, length - BLOCK_TOKENS) for one, length in zip(shared, lengths, strict=True))


def test_prompts_too_short_to_share_leave_no_debt_behind() -> None:
    blocks = SharedBlocks(0.5)
    for _ in range(500):
        assert blocks.next(20.0, 4.0) == 0
    assert blocks.next(200.0, 184.0) * BLOCK_TOKENS <= 0.5 * 200 + 3 * BLOCK_TOKENS


def test_a_target_of_everything_still_leaves_each_prompt_something_of_its_own() -> None:
    sent = texts(load_prompts(BUILTIN), form(1.0), count=50)
    assert len(set(sent)) == 50
    assert all(len(text) < 60_000 for text in sent)


def test_nothing_is_shared_where_nothing_is_wanted() -> None:
    assert [*islice((SharedBlocks(0.0).next(500.0, 484.0) for _ in range(5)), 5)] == [0] * 5
