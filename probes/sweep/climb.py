"""Keeps the score of a running sweep: which cells are left, when an arm stops climbing, when to give up; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probes.sweep.plan import CellSlot, SweepPlan, cell_order
from probes.sweep.verify import NOT_DRAFTING
from probes.values import Cell

GIVE_UP_AFTER = 2
"""Cells in a row of one arm that show the same hopeless fault."""


class Climb:
    """The cells of one sweep, done and to do."""

    def __init__(self, plan: SweepPlan) -> None:
        self._plan = plan
        self._todo = list(cell_order(plan))
        self._seconds: list[float] = []
        self.cells: list[Cell] = []

    def next(self) -> CellSlot | None:
        """The next cell to measure, or None at the end."""
        return self._todo[0] if self._todo else None

    def finish(self, cell: Cell, took_s: float) -> None:
        """Take a finished cell; an arm that hit its admission limit climbs no further than this rung.

        One void cell does not decide that (a stall may have filled the queue), two do.
        """
        self._todo.pop(0)
        self.cells.append(cell)
        self._seconds.append(took_s)
        limited = [one for one in self.cells if one.arm == cell.arm and _is_limited(one)]
        if _is_limited(cell) and (cell.valid or len(limited) > 1):
            self._todo = [slot for slot in self._todo if slot.arm != cell.arm or slot.rung <= cell.rung]

    @property
    def done(self) -> int:
        """Cells finished."""
        return len(self.cells)

    @property
    def total(self) -> int:
        """Cells finished and to come."""
        return len(self.cells) + len(self._todo)

    @property
    def eta_s(self) -> float | None:
        """Seconds left, from the last cells' duration; None before the first."""
        recent = self._seconds[-2 * len(self._plan.arms) :]
        return len(self._todo) * sum(recent) / len(recent) if recent else None

    def request_s(self, arm: str) -> float | None:
        """Median time of a request in the arm's newest cell that has one."""
        known = (c.e2e.p50_ms for c in reversed(self.cells) if c.arm == arm and c.e2e.p50_ms is not None)
        p50_ms = next(known, None)
        return None if p50_ms is None else p50_ms / 1e3

    def hopeless(self) -> str | None:
        """Why going on cannot help: an arm that does not draft, answers nothing or hides its page, cell after cell."""
        for arm in self._plan.arms:
            cells = [cell for cell in self.cells if cell.arm == arm.name]
            last = cells[-GIVE_UP_AFTER:]
            finished = not any(slot.arm == arm.name for slot in self._todo)
            if len(last) < GIVE_UP_AFTER and not (last and finished):
                continue
            if text := _same(last, NOT_DRAFTING):
                return text
            if all(cell.requests == 0 and cell.errors > 0 for cell in last) and (text := _same(last, "errors")):
                return f"arm {arm.name} answers no request: {text}"
            if text := _same(last, "no_window"):
                # Without the page others' traffic cannot be seen, so we must not go on loading their server.
                return f"arm {arm.name} cannot be watched: {text}"
        return None

    def no_answer(self) -> str | None:
        """Why the cells cannot give a verdict, or None where the baseline and another arm have valid ones."""
        valid = {cell.arm for cell in self.cells if cell.valid}
        if self._plan.baseline in valid and len(valid) > 1:
            return None
        reasons = sorted({reason.text for cell in self.cells for reason in cell.void})
        missing = [arm.name for arm in self._plan.arms if arm.name not in valid]
        return f"no valid cell of {', '.join(missing)}" + (f" ({'; '.join(reasons)})" if reasons else "")


def _is_limited(cell: Cell) -> bool:
    return any(note.code == "limited" for note in cell.notes)


def _same(cells: Iterable[Cell], code: str) -> str | None:
    """The newest text of a code that voids every one of these cells."""
    found: Sequence[str] = ()
    for cell in cells:
        found = [reason.text for reason in cell.void if reason.code == code]
        if not found:
            return None
    return found[0] if found else None
