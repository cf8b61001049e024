"""A sweep's progress as lines of the daemon's log, for a sweep that a daemon started: stamped like every other line."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from monitor.service.progress import OF_CELLS
from monitor.units import number
from monitor.values import SweepProgress
from probes.values import Cell

log = logging.getLogger(__name__)


class ProgressLog:
    """The same calls as a printer's; a phase is told once, a cell when it has ended."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._told = ("", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def progress(self, now: SweepProgress) -> None:
        """A new phase, or a new word on it; cells speak for themselves."""
        if now.phase in OF_CELLS:
            self._told = "", ""
            return
        if (now.phase, now.note) == self._told:
            return
        self._told = now.phase, now.note
        done = f"{now.done_cells}/{now.total_cells}"
        log.info("event=sweep_phase pool=%s phase=%s cells=%s note=%r", self._pool, now.phase, done, now.note)

    def cell(self, cell: Cell) -> None:
        """One finished cell: what was measured, or why it does not count."""
        where = f"pool={self._pool} arm={cell.arm} clients={cell.rung} run={cell.repeat}"
        if cell.valid:
            measured = f"tok_s={_or(cell.output_tok_s)} concurrency={_or(cell.concurrency)}"
            log.info("event=cell %s %s notes=%r", where, measured, "; ".join(note.text for note in cell.notes))
        else:
            log.info("event=cell_void %s reason=%r", where, "; ".join(reason.text for reason in cell.void))


def _or(value: float | None) -> str:
    return "unknown" if value is None else number(value)
