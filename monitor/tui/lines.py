"""Text as spans with a role, so that every screen is a pure function that a test can read as plain lines.

Knows widths in terminal cells and how to cut, pad, wrap and join; knows neither colours nor widgets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")

GLUE = "\N{NO-BREAK SPACE}"
"""Drawn as a space at which `wrap` does not break, between a name and its number."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text drawn in one role (see `theme.py`); `action` is what a click on it runs."""

    text: str
    role: str = "text"
    action: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the screen. `item` names what a click on the row selects; `selected` rows are highlighted."""

    spans: tuple[Span, ...] = ()
    item: str = ""
    selected: bool = False

    @property
    def text(self) -> str:
        """The row as plain text."""
        return "".join(span.text for span in self.spans)


BLANK = Line()


def clean(text: str) -> str:
    """Servers and config can hold anything; control and direction characters must not reach the terminal."""
    return CONTROL.sub(" ", text)


def clean_lines(text: str) -> str:
    """Text for the clipboard: line ends stay, control characters go."""
    return "\n".join(clean(part) for part in text.splitlines())


def line(*parts: Span | str, item: str = "", selected: bool = False) -> Line:
    """A row from spans and plain strings."""
    return Line(tuple(part if isinstance(part, Span) else Span(part) for part in parts), item, selected)


def clip(text: str, width: int) -> str:
    """Cut at the end with an ellipsis; the result is at most `width` cells."""
    text = clean(text)
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def middle(text: str, width: int) -> str:
    """Cut in the middle: names differ at both ends (`chat-eu-west-1a`, `chat-eu-west-1b`)."""
    text = clean(text)
    if cell_len(text) <= width:
        return text
    if width < 4:
        return clip(text, width)
    head = (width - 1) // 2
    return f"{set_cell_size(text, head)}…{text[-(width - 1 - head) :]}"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells: numbers to the right, words to the left, never a wrapped row."""
    text = clip(text, width)
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


def wrap(text: str, width: int, *, limit: int = 99) -> list[str]:
    """Whole words over at most `limit` rows, the last one cut with an ellipsis."""
    rows: list[str] = []
    current = ""
    for word in clean(text).split(" "):
        if not word:
            continue
        candidate = f"{current} {word}" if current else word
        if cell_len(candidate) <= width or not current:
            current = candidate
        else:
            rows.append(current)
            current = word
    rows.append(current)
    if len(rows) > limit:
        rows = [*rows[: limit - 1], " ".join(rows[limit - 1 :])]
    return [clip(row.replace(GLUE, " "), width) for row in rows if row]


def paragraph(text: str, width: int, *, role: str = "text", indent: str = "", limit: int = 99) -> list[Line]:
    """Wrapped text as rows of one role."""
    return [line(indent, Span(row, role)) for row in wrap(text, width - len(indent), limit=limit)]


def fit(row: Line, width: int) -> Line:
    """The row cut to `width` cells; drawing code aims to fit, this is the last resort."""
    if cell_len(row.text) <= width:
        return row
    spans: list[Span] = []
    left = width
    for span in row.spans:
        text = clip(span.text, left)
        spans.append(replace(span, text=text))
        left -= cell_len(text)
        if left <= 0 or text != span.text:
            break
    return replace(row, spans=tuple(spans))


def spread(left: Sequence[Span], right: Sequence[Span], width: int) -> Line:
    """Left part, blank, right part flush with the edge; the left part is cut where both do not fit."""
    right_width = sum(cell_len(span.text) for span in right)
    kept = fit(Line(tuple(left)), max(0, width - right_width - 1))
    blank = width - right_width - cell_len(kept.text)
    return fit(Line((*kept.spans, Span(" " * max(0, blank)), *right)), width)


def beside(left: Sequence[Line], right: Sequence[Line], left_width: int, gap: int = 1) -> list[Line]:
    """Two blocks side by side, the left one padded to its width."""
    rows = []
    for index in range(max(len(left), len(right))):
        first = fit(left[index] if index < len(left) else BLANK, left_width)
        second = right[index].spans if index < len(right) else ()
        rows.append(Line((*first.spans, Span(" " * (left_width - cell_len(first.text) + gap)), *second)))
    return rows


def as_text(rows: Iterable[Line]) -> str:
    """Rows as plain text without trailing blanks; what the tests and the clipboard see."""
    return "\n".join(row.text.rstrip() for row in rows)
