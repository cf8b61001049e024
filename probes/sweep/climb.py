"""Keeps the score of a running sweep: which cells are left, when an arm stops climbing, when to give up; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probes.sweep.limits import ends_climb
from probes.sweep.plan import CellSlot, SweepPlan, cell_order
from probes.sweep.request_time import grown_s
from probes.sweep.verify import NOT_DRAFTING
from probes.values import Cell

GIVE_UP_AFTER = 2
"""Cells in a row of one arm that show the same hopeless fault."""
FOREIGN = "foreign_traffic"
"""The void reason of a cell during which others' requests were served."""


class Climb:
    """The cells of one sweep, done and to do.

    `tops` says at which rung an arm's climb ended, and why; `next_start` is the first planned start that no cell has.

    `resumed` cells lead `cells`; what they measured is not measured again.
    """

    def __init__(self, plan: SweepPlan, resumed: Sequence[Cell] = ()) -> None:
        self._plan = plan
        self._resumed = len(resumed)
        self._seconds: list[float] = []
        self._start_seconds: list[float] = []
        self.cells: list[Cell] = list(resumed)
        self.tops: dict[str, tuple[int, str]] = {}
        there = {(cell.arm, cell.rung, cell.repeat) for cell in resumed}
        order = cell_order(plan)
        self._todo = [slot for slot in order if (slot.arm, slot.rung, slot.repeat) not in there]
        self.next_start = 1 + max((slot.start for slot in order if slot.start is not None), default=-1)
        for cell in resumed:
            self._may_end(cell)

    def next(self) -> CellSlot | None:
        """The next cell to measure, or None at the end."""
        return self._todo[0] if self._todo else None

    @property
    def left(self) -> tuple[CellSlot, ...]:
        """The cells that are still to be measured."""
        return tuple(self._todo)

    def waits_for(self, arm: str) -> bool:
        """Whether cells of this arm are still to be measured."""
        return any(slot.arm == arm for slot in self._todo)

    def add(self, slots: Iterable[CellSlot]) -> None:
        """More cells to measure, after all others."""
        self._todo += slots
        starts = [slot.start for slot in self._todo if slot.start is not None]
        self.next_start = max(self.next_start, 1 + max(starts, default=-1))

    def finish(self, cell: Cell, took_s: float) -> None:
        """Take a finished cell; an arm that met a limit climbs no further than this rung.

        One void cell does not decide that (a stall may have filled the queue), two do.
        """
        self._todo.pop(0)
        self.cells.append(cell)
        self._seconds.append(took_s)
        self._may_end(cell)

    def again(self, slot: CellSlot) -> None:
        """Measure the cell that was just finished once more, before all others."""
        top = self.tops.get(slot.arm)
        if top is None or slot.rung <= top[0]:
            self._todo.insert(0, slot)

    def started(self, took_s: float) -> None:
        """A start of the server took this long, its warm-up included."""
        self._start_seconds.append(took_s)

    @property
    def done(self) -> int:
        """Cells finished, those gone on after included."""
        return len(self.cells)

    @property
    def total(self) -> int:
        """Cells finished and to come."""
        return len(self.cells) + len(self._todo)

    @property
    def next_order(self) -> int:
        """The first position in the sweep that no cell has."""
        return 1 + max([*(cell.order for cell in self.cells), *(slot.order for slot in self._todo)], default=-1)

    @property
    def eta_s(self) -> float | None:
        """Seconds left, from the last cells' and starts' duration; None before the first."""
        return self.seconds_for(self._todo)

    def seconds_for(self, slots: Sequence[CellSlot]) -> float | None:
        """What these cells will take; None before anything has been measured."""
        recent = self._seconds[-2 * len(self._plan.arms) :]
        if not recent:
            return None
        starts = len({slot.start for slot in slots if slot.start is not None})
        per_start_s = sum(self._start_seconds) / len(self._start_seconds) if self._start_seconds else 0.0
        return len(slots) * sum(recent) / len(recent) + starts * per_start_s

    def request_s(self, arm: str, rung: int) -> float | None:
        """What a request of the arm takes on this rung, rather too long than too short; None before any was timed.

        The median of its newest cell there; else what the nearest rung below tells (`grown_s`), else the nearest above.
        """
        timed = {c.rung: c.e2e.p50_ms / 1e3 for c in self.cells if c.arm == arm and c.e2e.p50_ms is not None}
        below = max((known for known in timed if known <= rung), default=None)
        if below is not None:
            return grown_s(timed[below], below, rung)
        return timed[min(timed)] if timed else None

    def hopeless(self) -> str | None:
        """Why going on cannot help: an arm that does not draft, answers nothing or hides its page, cell after cell."""
        for arm in self._plan.arms:
            cells = [cell for cell in self.cells[self._resumed :] if cell.arm == arm.name]
            last = cells[-GIVE_UP_AFTER:]
            known_before = any(cell.arm == arm.name for cell in self.cells[: self._resumed])
            if len(last) < GIVE_UP_AFTER and (not last or known_before or self.waits_for(arm.name)):
                continue
            if text := _same(last, NOT_DRAFTING):
                return text
            if all(cell.requests == 0 and cell.errors > 0 for cell in last) and (text := _same(last, "errors")):
                return f"arm {arm.name} answers no request: {text}"
            if text := _same(last, "no_window"):
                # Without the page others' traffic cannot be seen, so we must not go on loading their server.
                return f"arm {arm.name} cannot be watched: {text}"
        return None

    def outage(self) -> str | None:
        """Why the sweep must wait for another time: an arm that gave valid cells answers nothing any more.

        It is what it claims, so the cells so far stand and a later sweep can go on after them.
        """
        for arm in self._plan.arms:
            cells = [cell for cell in self.cells if cell.arm == arm.name]
            last = cells[-GIVE_UP_AFTER:]
            gone = len(last) == GIVE_UP_AFTER and all(_answers_nothing(cell) for cell in last)
            if gone and any(cell.valid for cell in cells):
                (why, *_) = last[-1].void
                return f"arm {arm.name} was measured and now answers nothing: {why.text}"
        return None

    def no_answer(self) -> str | None:
        """Why the cells cannot give a verdict, or None where the baseline and another arm have valid ones."""
        valid = {cell.arm for cell in self.cells if cell.valid}
        if self._plan.baseline in valid and len(valid) > 1:
            return None
        reasons = sorted({reason.text for cell in self.cells for reason in cell.void})
        missing = [arm.name for arm in self._plan.arms if arm.name not in valid]
        return f"no valid cell of {', '.join(missing)}" + (f" ({'; '.join(reasons)})" if reasons else "")

    def _may_end(self, cell: Cell) -> None:
        limit = self._limit(cell)
        if limit is None or ((top := self.tops.get(cell.arm)) is not None and top[0] <= cell.rung):
            return
        met = [one for one in self.cells if one.arm == cell.arm and self._limit(one) is not None]
        if cell.valid or len(met) > 1:
            self.tops[cell.arm] = (cell.rung, limit)
            self._todo = [slot for slot in self._todo if slot.arm != cell.arm or slot.rung <= cell.rung]

    def _limit(self, cell: Cell) -> str | None:
        # Others' requests take room too: what they filled says nothing of the arm.
        return None if disturbed(cell) else ends_climb(cell, self._plan.max_ttft_s)


def disturbed(cell: Cell) -> str | None:
    """What others did during the cell, in words; None where its counters show nobody but us."""
    return next((reason.text for reason in cell.void if reason.code == FOREIGN), None)


def _same(cells: Iterable[Cell], code: str) -> str | None:
    """The newest text of a code that voids every one of these cells."""
    found: Sequence[str] = ()
    for cell in cells:
        found = [reason.text for reason in cell.void if reason.code == code]
        if not found:
            return None
    return found[0] if found else None


def _answers_nothing(cell: Cell) -> bool:
    codes = {reason.code for reason in cell.void}
    return "no_window" in codes or (cell.requests == 0 and "errors" in codes)
