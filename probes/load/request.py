"""Builds the body of one salted request, so that every arm gets the same prompts and the same prefix-cache hits.

Sends nothing. Sampling keys go in only where the user set them; never `min_p` or `logit_bias`, which vLLM refuses
only when speculation is on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from probes.load.compose import Library, fit
from probes.load.opening import Opening, content_chars, materials
from probes.load.prompts import BUILTIN, Prompt, PromptSet, load_prompts
from probes.load.recipe import Form, recipes

PLAIN = Form()
_OF_CELL = -1
"""Stands for no request: the index in the salt of what all requests of a cell share."""


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
    chars: int = 0
    """Of prompt text, salts included; with the server's count of its tokens it tells characters per token."""


def salt(nonce: str, order: int, index: int) -> str:
    """Eight characters that differ for every request of every cell.

    `nonce` is the sweep's. The cell's `order` is in it so that two arms on one address (an A/A sweep) do not share
    prefixes either; the salts of all arms have the same form and length, so the work is the same.
    """
    return hashlib.blake2b(f"{nonce}:{order}:{index}".encode(), digest_size=4).hexdigest()


def make_body(prompt: Prompt, model: str, sampling: Sampling, opening: Opening) -> Body:
    """The JSON of one streaming request whose very first text is the opening."""
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
        messages = _opened_messages(prompt.messages, opening)
        body["messages"] = messages
        return Body("/chat/completions", json.dumps(body).encode(), True, sum(map(content_chars, messages)))
    text = opening.before(prompt.text or "")
    body["prompt"] = text
    return Body("/completions", json.dumps(body).encode(), False, len(text))


def _opened_messages(messages: Sequence[Mapping[str, Any]], opening: Opening) -> list[dict[str, Any]]:
    first, *rest = (dict(message) for message in messages)
    content = first["content"]
    if isinstance(content, str):
        first["content"] = opening.before(content)
    else:
        first["content"] = [{"type": "text", "text": opening.alone()}, *content]
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
    """Hands out the requests of one cell in order."""

    def __init__(
        self,
        prompts: PromptSet,
        model: str,
        sampling: Sampling,
        series: Series,
        form: Form = PLAIN,
        first: int = 0,
    ) -> None:
        """`first`: so many requests, the first of each client, get their shares of an answer (`first.py`)."""
        self._prompts = prompts.prompts
        self._model = model
        self._sampling = sampling
        self._series = series
        self._library = Library(prompts.passages or load_prompts(BUILTIN).passages)
        self._recipes = recipes(
            materials(prompts.prompts),
            form,
            sampling.max_tokens,
            series.seed,
            series.rung,
            series.repeat,
            fitted=bool(prompts.passages),
            first=first,
        )
        self._shared_mark = salt(series.nonce, series.order, _OF_CELL)
        self._index = 0

    def skip(self) -> None:
        """Pass over the next request without building it: another process of this load sends it."""
        self._index += 1
        next(self._recipes)

    def next(self) -> tuple[int, str, Body]:
        """Index, request id and body of the next request."""
        index, self._index = self._index, self._index + 1
        recipe, series = next(self._recipes), self._series
        prompt = self._prompts[recipe.position]
        if recipe.own_chars is not None and prompt.text is not None:
            prompt = replace(prompt, text=fit(prompt.text, recipe.own_chars, self._library, recipe.passage))
        opening = Opening(
            mark=salt(series.nonce, series.order, index),
            shared_mark=self._shared_mark,
            shared_chars=recipe.shared_chars,
            common_chars=recipe.common_chars,
            library=self._library,
        )
        body = make_body(prompt, self._model, replace(self._sampling, max_tokens=recipe.max_tokens), opening)
        return index, f"specwatch-{series.nonce}-{series.order}-{index}", body
