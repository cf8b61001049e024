"""Writes the beginning of every prompt: what the cell's requests share, then the mark that makes it its own; pure.

Both begin with a salt, so nothing is ever shared with another cell, arm or sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from probes.load.compose import Library
from probes.load.prompts import Prompt
from probes.load.recipe import Material


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of one prompt."""

    mark: str
    """Of this request alone."""
    shared_mark: str = ""
    """Of the cell; used where anything is shared."""
    shared_chars: int = 0
    common_chars: int = 0
    """Leading characters that the prompts have in common anyway; they are shared first."""
    library: Library | None = None
    """Where further shared text comes from."""

    def before(self, text: str) -> str:
        """`text` with this opening; up to `common_chars` of it stand before the mark."""
        if self.shared_chars <= 0:
            return f"{self.mark} {text}"
        shared = self._shared(self.shared_chars - min(self.common_chars, self.shared_chars))
        cut = _word_end(text, min(self.common_chars, self.shared_chars))
        gap = "" if cut else " "
        return f"{shared}{text[:cut]} {self.mark}{gap}{text[cut:]}"

    def alone(self) -> str:
        """The opening as a text of its own."""
        if self.shared_chars <= 0:
            return self.mark
        return f"{self._shared(self.shared_chars)} {self.mark}"

    def _shared(self, chars: int) -> str:
        head = f"{self.shared_mark} "
        lacking = chars - len(head)
        return head + self.library.text(0, lacking) if self.library is not None and lacking > 0 else head


def materials(prompts: Sequence[Prompt]) -> tuple[Material, ...]:
    """Length of each prompt, and how much of its beginning it has in common with all others."""
    starts = [_start(prompt) for prompt in prompts]
    common = _common([start for start in starts if start is not None]) if None not in starts else 0
    return tuple(Material(_chars(prompt), common) for prompt in prompts)


def _common(starts: Sequence[str]) -> int:
    """Leading characters that all texts have in common, up to a word's end; a single text has none with others."""
    if len(starts) < 2:
        return 0
    # The first and the last of a sorted list differ the earliest.
    pairs = zip(min(starts), max(starts), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return min(_word_end(start, alike) for start in starts)


def content_chars(message: Mapping[str, Any]) -> int:
    """Characters of a message's text; pictures and other parts count nothing."""
    content = message.get("content")
    if isinstance(content, str):
        return len(content)
    parts = content if isinstance(content, list) else ()
    return sum(len(part["text"]) for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _chars(prompt: Prompt) -> int:
    if prompt.messages is not None:
        return sum(map(content_chars, prompt.messages))
    return len(prompt.text or "")


def _start(prompt: Prompt) -> str | None:
    """The text that an opening goes in front of; None where it is made of parts."""
    if prompt.messages is None:
        return prompt.text
    content = prompt.messages[0]["content"]
    return content if isinstance(content, str) else None


def _word_end(text: str, chars: int) -> int:
    """The longest beginning of at most `chars` characters that does not end inside a word."""
    if chars >= len(text):
        return len(text)
    end = max(text.rfind(" ", 0, chars + 1), text.rfind("\n", 0, chars + 1))
    return max(0, end)
