"""Makes a prompt of a wanted length out of a shipped one, so that real tasks come in the lengths of real traffic; pure.

A longer prompt gets background in front of its task, as a retrieved document would stand there; a shorter one loses
the end of its material, never its instruction's beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

_LEAD = "Background:\n\n"
_BREAK = "\n\n"
_LEAST_BACKGROUND = 80
"""Characters; a prompt that lacks fewer than this is left as it is."""
_LONGEST_CUE = 40
"""Characters of a last paragraph such as `Summary:`, which stays when the material before it is cut."""


class Library:
    """Passages in a ring, from which background of any length is cut."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._ring = "".join(passage + _BREAK for passage in passages)
        self._starts: list[int] = []
        position = 0
        for passage in passages:
            self._starts.append(position)
            position += len(passage) + len(_BREAK)

    def __len__(self) -> int:
        return len(self._starts)

    def text(self, first: int, chars: int) -> str:
        """`chars` characters from the passage numbered `first` on; beyond the last passage the first follows."""
        start = self._starts[first % len(self._starts)]
        rounds = (start + chars) // len(self._ring) + 1
        return (self._ring * rounds)[start : start + chars]


def fit(task: str, chars: int, library: Library, first: int) -> str:
    """`task` as about `chars` characters of prompt, at least one word; background begins with the passage `first`."""
    lacking = chars - len(task) - len(_LEAD) - len(_BREAK)
    if lacking >= _LEAST_BACKGROUND:
        return f"{_LEAD}{library.text(first, lacking).rstrip()}{_BREAK}{task}"
    if chars >= len(task):
        return task
    head, _, cue = task.rpartition(_BREAK)
    if not head or len(cue) > _LONGEST_CUE or chars < 2 * len(cue) + len(_BREAK):
        return _cut(task, chars)
    return f"{_cut(head, chars - len(cue) - len(_BREAK))}{_BREAK}{cue}"


def _cut(text: str, chars: int) -> str:
    """The beginning of a text up to a word's end."""
    if len(text) <= chars:
        return text
    kept = text[: max(1, chars) + 1]
    end = max(kept.rfind(" "), kept.rfind("\n"))
    return kept[:end].rstrip() if end > 0 else text.split(maxsplit=1)[0]
