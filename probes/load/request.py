"""Builds the body of one salted request, so that every arm gets the same prompts and no arm a prefix-cache hit.

Sends nothing. Sampling keys go in only where the user set them; never `min_p` or `logit_bias`, which vLLM refuses
only when speculation is on.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probes.load.prompts import Prompt, PromptSet


@dataclass(frozen=True, slots=True)
class Sampling:
    """What the user set; None leaves the server's default in force, as for users."""

    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """One request ready to send."""

    path: str
    """Below the API path: `/completions` or `/chat/completions`."""
    content: bytes
    chat: bool


def salt(nonce: str, order: int, index: int) -> str:
    """Eight characters that differ for every request of every cell.

    `nonce` is the sweep's. The cell's `order` is in it so that two arms on one address (an A/A sweep) do not share
    prefixes either; the salts of all arms have the same form and length, so the work is the same.
    """
    return hashlib.blake2b(f"{nonce}:{order}:{index}".encode(), digest_size=4).hexdigest()


def prompt_order(count: int, seed: int, rung: int, repeat: int) -> Iterator[int]:
    """Endless prompt positions: a new shuffle each pass, the same in every arm for one rung and repeat."""
    shuffle = random.Random(f"{seed}:{rung}:{repeat}")
    positions = list(range(count))
    while True:
        shuffle.shuffle(positions)
        yield from positions


def make_body(prompt: Prompt, model: str, sampling: Sampling, mark: str) -> Body:
    """The JSON of one streaming request with `mark` as its very first text."""
    body: dict[str, Any] = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": sampling.max_tokens,
    }
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if prompt.messages is not None:
        body["messages"] = _salted_messages(prompt.messages, mark)
        return Body("/chat/completions", json.dumps(body).encode(), chat=True)
    body["prompt"] = f"{mark} {prompt.text}"
    return Body("/completions", json.dumps(body).encode(), chat=False)


def _salted_messages(messages: Sequence[Mapping[str, Any]], mark: str) -> list[dict[str, Any]]:
    first, *rest = (dict(message) for message in messages)
    content = first["content"]
    if isinstance(content, str):
        first["content"] = f"{mark} {content}"
    else:
        first["content"] = [{"type": "text", "text": mark}, *content]
    return [first, *rest]


@dataclass(frozen=True, slots=True)
class Series:
    """Where a cell stands in its sweep: what makes its prompt order repeatable and its salts its own."""

    nonce: str
    """The sweep's own."""
    seed: int
    rung: int
    repeat: int
    order: int
    """The cell's position in the sweep."""


class RequestSource:
    """Hands out the requests of one cell in launch order."""

    def __init__(self, prompts: PromptSet, model: str, sampling: Sampling, series: Series) -> None:
        self._prompts = prompts.prompts
        self._model = model
        self._sampling = sampling
        self._series = series
        self._positions = prompt_order(len(self._prompts), series.seed, series.rung, series.repeat)
        self._index = 0

    def skip(self) -> None:
        """Pass over the next request without building it: another process of this load sends it."""
        self._index += 1
        next(self._positions)

    def next(self) -> tuple[int, str, Body]:
        """Index, request id and body of the next request."""
        index, self._index = self._index, self._index + 1
        prompt = self._prompts[next(self._positions)]
        body = make_body(prompt, self._model, self._sampling, salt(self._series.nonce, self._series.order, index))
        return index, f"specwatch-{self._series.nonce}-{self._series.order}-{index}", body
