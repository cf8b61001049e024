"""A sweep's progress on stderr: one redrawn bar on a terminal, a row per cell everywhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self, TextIO

from monitor.service.cell_table import COLUMNS, CellTable, short, wrapped
from monitor.units import age_text
from monitor.values import SweepProgress
from probes.values import Cell

WIDTH = 16
PHASE_WORDS = {
    "backoff": "gives way to others' traffic",
    "refine": "refining",
    "restart": "restarting the server",
    "restore": "putting the live arm back",
}
"""Of phases whose name alone does not say what happens."""
OF_CELLS = ("cells", "refine")
NO_TIME_LEFT = ("estimate", "done", "restore", "backoff")
"""No cell comes any more, also where some are missing, or nobody knows when the next one does: the time left for cells
says nothing of the end."""
CLEAR = "\r\x1b[2K"


class ProgressPrinter:
    """Draws the bar beneath the cells of these arms; restores the line at the end.

    A stream that is gone is no reason to fail.
    """

    def __init__(self, stream: TextIO, arms: Sequence[str] = ()) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._shown = ""
        self._told = ""
        self._table = CellTable(arms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._write(CLEAR)

    def progress(self, now: SweepProgress) -> None:
        """Show how far the sweep is."""
        line = progress_line(now)
        if self._live:
            # A line that wraps could not be cleared again; what is too long for the bar stays above it.
            above, columns = "", _columns(self._stream)
            if now.note and len(line) > columns:
                said = f"{PHASE_WORDS.get(now.phase, now.phase)}: {now.note}"
                above = "" if said == self._told else "".join(f"{one}\n" for one in wrapped(said))
                self._told, line = said, progress_line(replace(now, note=""))
            elif now.phase in OF_CELLS:
                self._told = ""
            line = line[:columns]
            self._write(CLEAR + above + line)
        elif now.phase not in OF_CELLS and line != self._shown:
            self._write(line + "\n")
        self._shown = line

    def cell(self, cell: Cell) -> None:
        """One finished cell, which stays on the screen."""
        lines = "".join(f"{line}\n" for line in self._table.lines(cell))
        self._write(CLEAR + lines + self._shown if self._live else lines)

    def _write(self, text: str) -> None:
        # The terminal may have gone; the sweep must still end in order and leave its record.
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def _columns(stream: TextIO) -> int:
    """What a line may have: no more than the terminal is wide now, less one in which the cursor stands."""
    try:
        wide = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return COLUMNS
    return min(COLUMNS, wide - 1) if wide else COLUMNS


def progress_line(now: SweepProgress) -> str:
    """`[#####-----] 12/56  k3 x16 #1  about 9 min left`."""
    phase = PHASE_WORDS.get(now.phase, now.phase)
    if now.total_cells == 0:
        return f"{phase}: {now.note}" if now.note else phase
    done = round(WIDTH * now.done_cells / now.total_cells)
    bar = "#" * done + "-" * (WIDTH - done)
    at = f"{short(now.arm)} x{now.rung} #{now.repeat}" if now.arm is not None else ""
    where = f"  {at}" if at and now.phase == "cells" else f"  {phase}{f' {at}' if at and now.phase == 'refine' else ''}"
    left = f"  about {age_text(now.eta_s)} left" if now.eta_s is not None and now.phase not in NO_TIME_LEFT else ""
    note = f"  {now.note}" if now.note else ""
    return f"[{bar}] {now.done_cells}/{now.total_cells}{where}{left}{note}"
