"""A sweep's cells as rows of a table for 80 columns; a remark is said of the first cell that it holds for. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from monitor.units import number
from probes.values import Cell, Reason

COLUMNS = 79
ARM_LEAST = 8
ARM_MOST = 16
"""Columns of the arm's name; a row of the table fits with it."""
HEAD = f"{'clients':>7} {'run':>3} {'tok/s':>7} {'concurrent':>10} {'TTFT p50':>9} {'TPOT p50':>9} {'acceptance':>10}"


class CellTable:
    """Remembers what it has said; `arms` are the names that will come, for the width of their column."""

    def __init__(self, arms: Sequence[str] = ()) -> None:
        self._width = max([ARM_LEAST, *(len(short(arm)) for arm in arms)])
        self._said: set[str] = set()
        self._begun = False

    def lines(self, cell: Cell) -> Iterator[str]:
        """One cell: its row, or why it does not count, and every remark that no earlier cell had."""
        if not self._begun:
            self._begun = True
            yield f"{'arm':>{self._width}} {HEAD}"
        if not cell.valid:
            reasons = "; ".join(reason.text for reason in cell.void)
            yield from wrapped(f"{self._head(cell)}  void: {reasons}")
            return
        yield f"{self._head(cell)} {_measured(cell)}"
        for note in (*cell.notes, *_no_latency(cell)):
            if note.code not in self._said:
                self._said.add(note.code)
                where = f"{short(cell.arm)} x{cell.rung}"
                yield from wrapped(f"{'':>{self._width}} note (first at {where}): {note.text}")

    def _head(self, cell: Cell) -> str:
        return f"{short(cell.arm):>{self._width}} {cell.rung:>7} {cell.repeat:>3}"


def short(arm: str) -> str:
    """An arm's name in its column: its middle goes, since names differ at their ends."""
    return arm if len(arm) <= ARM_MOST else f"{arm[:6]}...{arm[-7:]}"


def wrapped(text: str) -> list[str]:
    """A sentence on as many lines as it takes; no word is broken."""
    return textwrap.wrap(
        text, COLUMNS, subsequent_indent=" " * 11, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def _measured(cell: Cell) -> str:
    tok_s = number(cell.output_tok_s) if cell.output_tok_s is not None else "-"
    concurrent = number(cell.concurrency) if cell.concurrency is not None else "-"
    acceptance = f"{cell.acceptance_length:.2f}" if cell.acceptance_length is not None else "-"
    times = f"{_ms(cell.ttft.p50_ms):>9} {_ms(cell.tpot.p50_ms):>9}"
    return f"{tok_s:>7} {concurrent:>10} {times} {acceptance:>10}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{number(value)} ms"


def _no_latency(cell: Cell) -> Iterator[Reason]:
    """Times are those of requests that ended inside the window."""
    if cell.ttft.p50_ms is None:
        window = f"{cell.window_s:.1f} s window" if cell.window_s is not None else "window"
        text = f"no request of this cell ended inside its {window}, so it has no TTFT and no TPOT"
        yield Reason("no_latency", f"{text}; a longer cell_s gives them")
