"""A sweep's progress on stderr: one redrawn bar on a terminal, a line per cell elsewhere."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self, TextIO

from monitor.service.sweep_report import cell_line
from monitor.units import age_text
from monitor.values import SweepProgress
from probes.values import Cell

WIDTH = 24
CLEAR = "\r\x1b[2K"


class ProgressPrinter:
    """Draws the bar beneath the cells; restores the line at the end. A stream that is gone is no reason to fail."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._shown = ""

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
            self._write(CLEAR + line)
        elif now.phase != "cells" and line != self._shown:
            self._write(line + "\n")
        self._shown = line

    def cell(self, cell: Cell) -> None:
        """One finished cell, which stays on the screen."""
        line = cell_line(cell) + "\n"
        self._write(CLEAR + line + self._shown if self._live else line)

    def _write(self, text: str) -> None:
        # The terminal may have gone; the sweep must still end in order and leave its record.
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()


def progress_line(now: SweepProgress) -> str:
    """`[#####-----] 12/56  k3 x16 #1  about 9 min left`."""
    if now.total_cells == 0:
        return f"{now.phase}: {now.note}" if now.note else now.phase
    done = round(WIDTH * now.done_cells / now.total_cells)
    bar = "#" * done + "-" * (WIDTH - done)
    where = f"  {now.arm} x{now.rung} #{now.repeat}" if now.arm is not None else f"  {now.phase}"
    left = f"  about {age_text(now.eta_s)} left" if now.eta_s is not None else ""
    note = f"  {now.note}" if now.note else ""
    return f"[{bar}] {now.done_cells}/{now.total_cells}{where}{left}{note}"
