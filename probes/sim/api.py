"""Turns the body of a completion request into what the engine needs, refusing what vLLM refuses; no sockets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probes.sim.request import CHARS_PER_TOKEN
from probes.sim.spec import SimSpec

COMPLETION_MAX_TOKENS = 16
"""vLLM's default for /v1/completions; chat may use the whole context."""
TOKENS_PER_MESSAGE = 4


class ApiError(Exception):
    """A refusal, with the status and the type that vLLM would give."""

    def __init__(self, status: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param

    def body(self) -> bytes:
        """vLLM's error object."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}
        return json.dumps({"error": error}).encode()


@dataclass(frozen=True, slots=True)
class Ask:
    """One completion request, checked."""

    chat: bool
    prompt: str | Sequence[int]
    prompt_tokens: int
    max_tokens: int
    min_tokens: int
    ignore_eos: bool
    stream: bool
    include_usage: bool


def parse(body: bytes, *, chat: bool, spec: SimSpec) -> Ask:
    """Read a body of /v1/completions or /v1/chat/completions. Raises ApiError."""
    try:
        data = json.loads(body)
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ApiError(400, "the body must be a JSON object")
    model = data.get("model")
    if model is not None and model != spec.model_name:
        raise ApiError(404, f"The model `{model}` does not exist.", "NotFoundError", "model")
    if spec.k and (data.get("min_p") or data.get("logit_bias")):
        raise ApiError(
            400, "The min_p and logit_bias sampling parameters are not yet supported with speculative decoding."
        )
    _number(data, "temperature", 0.0)
    _number(data, "top_p", 0.0)
    if data.get("n") not in (None, 1):
        raise ApiError(400, "the simulator answers one choice per request (n=1)", param="n")
    prompt, prompt_tokens = _messages(data) if chat else _prompt(data)
    asked = _integer(data, "max_completion_tokens", 1) if chat else None
    asked = asked if asked is not None else _integer(data, "max_tokens", 1)
    room = spec.context_limit - prompt_tokens
    if room < 1 or (asked is not None and asked > room):
        raise ApiError(
            400,
            f"This model's maximum context length is {spec.context_limit} tokens. However, your request has "
            f"{prompt_tokens} input tokens and asks for {asked if asked is not None else 1} output tokens.",
        )
    default = room if chat else min(COMPLETION_MAX_TOKENS, room)
    max_tokens = asked if asked is not None else default
    min_tokens = _integer(data, "min_tokens", 0) or 0
    if min_tokens > max_tokens:
        raise ApiError(400, f"min_tokens must be less than or equal to max_tokens={max_tokens}, got {min_tokens}.")
    options = data.get("stream_options") or {}
    return Ask(
        chat=chat,
        prompt=prompt,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        ignore_eos=bool(data.get("ignore_eos")),
        stream=bool(data.get("stream")),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )


def count_tokens(text: str) -> int:
    """The simulator's tokenizer: four characters a token."""
    return max(1, -(-len(text) // CHARS_PER_TOKEN))


def _prompt(data: dict[str, Any]) -> tuple[str | Sequence[int], int]:
    prompt = data.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return prompt, count_tokens(prompt)
    if isinstance(prompt, list) and prompt and all(type(token) is int for token in prompt):
        return prompt, len(prompt)
    raise ApiError(400, "prompt must be a text or a list of token ids, and only one of them", param="prompt")


def _messages(data: dict[str, Any]) -> tuple[str, int]:
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "messages must be a list with at least one message", param="messages")
    texts = []
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
        if not isinstance(content, str):
            raise ApiError(400, "every message needs a role and a text content", param="messages")
        texts.append(content)
    text = "\n".join(texts)
    return text, count_tokens(text) + TOKENS_PER_MESSAGE * len(texts)


def _integer(data: dict[str, Any], name: str, least: int) -> int | None:
    value = data.get(name)
    if value is None:
        return None
    if type(value) is not int or value < least:
        raise ApiError(400, f"{name} must be an integer of at least {least}, got {value!r}.", param=name)
    return value


def _number(data: dict[str, Any], name: str, least: float) -> None:
    value = data.get(name)
    if value is not None and (type(value) not in (int, float) or value < least):
        raise ApiError(400, f"{name} must be a number of at least {least:g}, got {value!r}.", param=name)
