"""Reads the prompts a sweep sends: our own small set or the user's JSONL, with every fault named by file and line.

Does not salt, order or send them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

BUILTIN = "builtin"


class PromptFileError(ValueError):
    """A prompts file that cannot be used; the message says where and why."""

    def __init__(self, path: str, line: int | None, message: str) -> None:
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {message}")
        self.path, self.line, self.message = path, line, message


@dataclass(frozen=True, slots=True)
class Prompt:
    """Either plain text (completions API) or messages (chat API)."""

    text: str | None = None
    messages: tuple[Mapping[str, Any], ...] | None = None
    kind: str | None = None
    """What it asks for (code, chat, ...), where the file says so."""


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts with where they came from; the hash tells two sweeps apart that used different text."""

    source: str
    sha256: str
    """Of the file's bytes; of the built-in set, of its prompts and passages."""
    prompts: tuple[Prompt, ...]
    passages: tuple[str, ...] = ()
    """Texts that prompts may be lengthened with; none but the built-in set has any."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many prompts there are of each kind, the most frequent first; those without a kind count as "other"."""
        return dict(Counter(prompt.kind or "other" for prompt in self.prompts).most_common())


def load_prompts(spec: str) -> PromptSet:
    """`builtin`, or the path of a JSONL file with one {"prompt": "..."} or {"messages": [...]} a line.

    Raises PromptFileError.
    """
    if spec == BUILTIN:
        return _builtin()
    try:
        data = Path(spec).read_bytes()
    except OSError as error:
        raise PromptFileError(spec, None, f"cannot be read: {error.strerror or error}") from None
    return parse_prompts(spec, data)


@cache
def _builtin() -> PromptSet:
    """Read once: every process that sends a share of the load asks for it."""
    folder = files("probes.load")
    prompts, passages = folder.joinpath("prompts.jsonl").read_bytes(), folder.joinpath("passages.jsonl").read_bytes()
    texts = tuple(json.loads(line)["text"] for line in passages.splitlines())
    digest = hashlib.sha256(prompts + passages).hexdigest()
    return replace(parse_prompts(BUILTIN, prompts), sha256=digest, passages=texts)


def parse_prompts(source: str, data: bytes) -> PromptSet:
    """Parse a JSONL file's bytes; blank lines are skipped. Raises PromptFileError."""
    prompts = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            try:
                prompts.append(_prompt(json.loads(line)))
            except UnicodeDecodeError:
                raise PromptFileError(source, number, "is not UTF-8 text") from None
            except json.JSONDecodeError as error:
                raise PromptFileError(source, number, f"is not JSON: {error.msg} at column {error.colno}") from None
            except ValueError as error:
                raise PromptFileError(source, number, str(error)) from None
    if not prompts:
        raise PromptFileError(source, None, 'holds no prompt; write one {"prompt": "..."} a line')
    return PromptSet(source, hashlib.sha256(data).hexdigest(), tuple(prompts))


def _prompt(value: object) -> Prompt:
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"prompt": "..."}')
    text, messages, kind = value.get("prompt"), value.get("messages"), value.get("kind")
    if kind is not None and not isinstance(kind, str):
        raise ValueError('"kind" must be text where it is given')
    if (text is None) == (messages is None):
        raise ValueError('must hold exactly one of "prompt" and "messages"')
    if messages is None:
        if not isinstance(text, str) or not text.strip():
            raise ValueError('"prompt" must be text and not empty')
        return Prompt(text=text, kind=kind)
    if not isinstance(messages, list) or not messages:
        raise ValueError('"messages" must be a list with at least one message')
    for message in messages:
        good = isinstance(message, dict) and isinstance(message.get("role"), str)
        if not good or not isinstance(message.get("content"), str | list):
            raise ValueError('every message needs a "role" and a "content" (text or a list of parts)')
    return Prompt(messages=tuple(messages), kind=kind)
