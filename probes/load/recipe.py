"""Decides for each request which prompt is sent, how long, how much of it shared, how long the answer may get; pure.

The same for one rung and repeat in every arm: nothing in here knows the arm or the cell's salt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar

from probes.load.first import first_answer
from probes.load.prefix import BLOCK_TOKENS, SharedBlocks, shared_tokens
from probes.load.shape import CHARS_PER_TOKEN, LengthShape, draw_lengths

T = TypeVar("T")
_SAFE = 0.85
"""Share of a server's room that a prompt may take by our count of its tokens, which is an estimate."""

MARK_CHARS = 9
"""Characters of the salt before each prompt, its space included."""


@dataclass(frozen=True, slots=True)
class Form:
    """How requests are made to look like real traffic; the defaults send each prompt as it is, sharing nothing."""

    shape: LengthShape | None = None
    prefix_hit_target: float = 0.0
    """Share of prompt tokens that should come from the prefix cache, 0..1."""
    chars_per_token: float = CHARS_PER_TOKEN
    max_model_len: int | None = None
    """Most tokens of prompt and answer together that the server takes, where it says so."""


@dataclass(frozen=True, slots=True)
class Material:
    """What is known of one prompt before anything is sent."""

    chars: int
    common: int = 0
    """Leading characters that every prompt of the set has in common."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one request is made of."""

    position: int
    """Of the prompt in its set."""
    max_tokens: int
    shared_chars: int
    """Leading characters that are the same in every request of the cell."""
    own_chars: int | None = None
    """Characters that the prompt is to be fitted to; None leaves it as it is."""
    common_chars: int = 0
    """Of the shared ones, those that the prompts have in common anyway."""
    passage: int = 0
    """Where its background begins."""


def prompt_order(count: int, seed: int, rung: int, repeat: int) -> Iterator[int]:
    """Endless prompt positions: a new shuffle each pass, the same in every arm for one rung and repeat."""
    shuffle = random.Random(f"{seed}:{rung}:{repeat}")
    positions = list(range(count))
    while True:
        shuffle.shuffle(positions)
        yield from positions


def recipes(
    materials: Sequence[Material],
    form: Form,
    max_tokens: int,
    seed: int,
    rung: int,
    repeat: int,
    *,
    fitted: bool,
    first: int = 0,
) -> Iterator[Recipe]:
    """Endless recipes in order. `fitted` says whether the texts may be lengthened and cut to the shape.

    Where they may not (a user's own prompts), the shape sets the lengths of answers only. The `first` ones are each a
    client's first, with an answer cut to its share; nothing else of them changes.
    """
    for number, recipe in enumerate(_whole(materials, form, max_tokens, seed, rung, repeat, fitted=fitted)):
        yield replace(recipe, max_tokens=first_answer(recipe.max_tokens, number, first))


def _whole(
    materials: Sequence[Material], form: Form, max_tokens: int, seed: int, rung: int, repeat: int, *, fitted: bool
) -> Iterator[Recipe]:
    blocks = SharedBlocks(form.prefix_hit_target)
    lengths = draw_lengths(form.shape, seed, rung, repeat) if form.shape is not None else None
    order = prompt_order(len(materials), seed, rung, repeat)
    if form.prefix_hit_target > 0:
        if lengths is not None and form.shape is not None:
            lengths = _longest_first(lengths, len(form.shape.prompt_tokens), lambda pair: pair[0])
        order = _longest_first(order, len(materials), lambda position: materials[position].chars)
    for number, position in enumerate(order):
        wanted, answer = next(lengths) if lengths is not None else (None, float(max_tokens))
        most_answer = min(max_tokens, max(1, round(answer)))
        room = _room(form.max_model_len, most_answer)
        if wanted is not None and fitted:
            yield _fitted(position, number, min(wanted, room), most_answer, form, blocks)
            continue
        yield _as_is(position, materials[position], room, most_answer, form, blocks)


def _longest_first(drawn: Iterator[T], one_pass: int, length: Callable[[T], float]) -> Iterator[T]:
    """The same, but the first pass begins with its longest: what all share is in the cache before the window opens."""
    first = list(islice(drawn, one_pass))
    longest = first.pop(max(range(len(first)), key=lambda at: length(first[at])))
    return chain((longest,), first, drawn)


def _fitted(position: int, number: int, tokens: float, answer: int, form: Form, blocks: SharedBlocks) -> Recipe:
    shared = shared_tokens(blocks.next(tokens, tokens - BLOCK_TOKENS))
    return Recipe(
        position=position,
        max_tokens=_answer(answer, tokens, form.max_model_len),
        shared_chars=round(shared * form.chars_per_token),
        own_chars=max(1, round((tokens - shared) * form.chars_per_token) - MARK_CHARS),
        passage=number,
    )


def _as_is(position: int, material: Material, room: float, answer: int, form: Form, blocks: SharedBlocks) -> Recipe:
    tokens = (material.chars + MARK_CHARS) / form.chars_per_token
    common = material.common / form.chars_per_token
    whole = max(tokens, min(blocks.whole_tokens(tokens - common), room))
    shared = shared_tokens(blocks.next(whole, room - tokens + common))
    return Recipe(
        position=position,
        max_tokens=_answer(answer, tokens + max(0.0, shared - common), form.max_model_len),
        shared_chars=round(shared * form.chars_per_token),
        common_chars=material.common,
    )


def _room(max_model_len: int | None, answer: int) -> float:
    """Tokens that a prompt may have beside its answer; at least half of what the server takes."""
    if max_model_len is None:
        return float("inf")
    return _SAFE * max(max_model_len - answer, max_model_len / 2)


def _answer(wanted: int, prompt_tokens: float, max_model_len: int | None) -> int:
    """A server refuses a request whose prompt and answer could outgrow it."""
    if max_model_len is None:
        return wanted
    return max(1, min(wanted, int(max_model_len - prompt_tokens / _SAFE)))
