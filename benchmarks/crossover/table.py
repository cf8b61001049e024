"""Markdown tables on standard output, so that what the evaluation prints can stand in the documentation as it is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import numpy as np


def say(line: str = "") -> None:
    """One line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def header(names: Sequence[str], *, words: bool = False) -> None:
    """The head of a table whose first column is text, with `words` all of them."""
    row(names)
    row(["---", *["---" if words else "---:"] * (len(names) - 1)])


def row(cells: Iterable[str]) -> None:
    """One row."""
    say("| " + " | ".join(cells) + " |")


def share(found: Sequence[bool], digits: int = 1) -> str:
    """Percent of true ones; a dash where nothing was counted."""
    return f"{100 * float(np.mean(found)):.{digits}f}%" if len(found) else "-"


def octaves(widths: Sequence[float]) -> str:
    """Median width, open ones counted as infinitely wide."""
    if not widths:
        return "-"
    median = float(np.median(widths))
    return f"{median:.2f}" if np.isfinite(median) else "open"
