"""Writes what a running sweep tells into the store, and passes on who wants it to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from monitor.service.locks import noprobe_path
from monitor.store.db import Store
from monitor.store.intents import abort_requested
from monitor.store.sweeps import add_cell, set_progress
from monitor.values import SweepProgress
from probes.sweep.plan import CellSlot
from probes.values import Cell


@dataclass(slots=True)
class StoreHooks:
    """The way out of one sweep process."""

    store: Store
    sweep_id: int
    pool: str
    asked_s: float
    """An abort from then on is meant for this sweep."""
    interrupted: Callable[[], str | None]
    """Why this process must end (a signal, its daemon is gone), or None."""
    owned: bool
    """A daemon started it, so that a signal is the daemon's end and no wish of a person."""
    show: Callable[[SweepProgress], None]
    show_cell: Callable[[Cell], None]
    stopped_by: str = ""
    """`stop` or `owner`, once somebody wanted an end."""
    _counts: tuple[int, int] = field(default=(0, 0))

    def on_cell(self, cell: Cell) -> None:
        """Keep a finished cell."""
        add_cell(self.store, self.sweep_id, cell)
        self.show_cell(cell)

    def on_progress(
        self, done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str
    ) -> None:
        """Keep and show how far the sweep is."""
        self._counts = (done, total)
        now = SweepProgress(
            phase=phase,
            done_cells=done,
            total_cells=total,
            arm=slot.arm if slot else None,
            rung=slot.rung if slot else None,
            repeat=slot.repeat if slot else None,
            eta_s=eta_s,
            note=note,
        )
        set_progress(self.store, self.sweep_id, now)
        self.show(now)

    def tell(self, phase: str, note: str) -> None:
        """A phase between the cells: the server restarts, or is put back."""
        self.on_progress(*self._counts, None, phase, None, note)

    def stop_requested(self) -> str | None:
        """Why the sweep must stop, or None."""
        noprobe = noprobe_path(self.store.path)
        if noprobe.exists():
            self.stopped_by = "stop"
            return f"the file {noprobe} forbids probing"
        if (reason := abort_requested(self.store, self.pool, self.asked_s)) is not None:
            self.stopped_by = "stop"
            return reason
        if (reason := self.interrupted()) is not None:
            self.stopped_by = self.stopped_by or ("owner" if self.owned else "stop")
            return reason
        return None
