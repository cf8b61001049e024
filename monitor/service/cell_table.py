"""A sweep's cells as rows of a table for 80 columns; a remark is said once, not beside every cell. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from monitor.units import number
from probes.values import Cell, Reason

COLUMNS = 79
HEAD = (
    f"{'arm':>8} {'clients':>7} {'run':>3} {'tok/s':>7} {'concurrent':>10} {'TTFT p50':>9} {'TPOT p50':>9} "
    f"{'acceptance':>10}"
)


class CellTable:
    """Remembers what it has said."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._begun = False

    def lines(self, cell: Cell) -> Iterator[str]:
        """One cell: its row, or why it does not count, and every remark that no earlier cell had."""
        if not self._begun:
            self._begun = True
            yield HEAD
        if not cell.valid:
            reasons = "; ".join(reason.text for reason in cell.void)
            yield from wrapped(f"{_head(cell)}  void: {reasons}")
            return
        yield _row(cell)
        for note in (*cell.notes, *_no_latency(cell)):
            if note.code not in self._said:
                self._said.add(note.code)
                yield from wrapped(f"         note (said once): {note.text}")


def wrapped(text: str) -> list[str]:
    """A sentence on as many lines as it takes; no word is broken."""
    return textwrap.wrap(
        text, COLUMNS, subsequent_indent=" " * 11, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def _head(cell: Cell) -> str:
    return f"{cell.arm:>8} {cell.rung:>7} {cell.repeat:>3}"


def _row(cell: Cell) -> str:
    tok_s = number(cell.output_tok_s) if cell.output_tok_s is not None else "-"
    concurrent = number(cell.concurrency) if cell.concurrency is not None else "-"
    acceptance = f"{cell.acceptance_length:.2f}" if cell.acceptance_length is not None else "-"
    times = f"{_ms(cell.ttft.p50_ms):>9} {_ms(cell.tpot.p50_ms):>9}"
    return f"{_head(cell)} {tok_s:>7} {concurrent:>10} {times} {acceptance:>10}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{number(value)} ms"


def _no_latency(cell: Cell) -> Iterator[Reason]:
    """Times are those of requests that ended inside the window."""
    if cell.ttft.p50_ms is None:
        window = f"{cell.window_s:.1f} s window" if cell.window_s is not None else "window"
        text = f"no request of this cell ended inside its {window}, so it has no TTFT and no TPOT"
        yield Reason("no_latency", f"{text}; a longer cell_s gives them")
