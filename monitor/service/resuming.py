"""Finds the broken-off sweep that a new one can go on with, so that an interrupted night is not measured twice.

Pure: what it needs of the store it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from monitor.values import SweepRecord
from probes.values import Cell

BROKEN_OFF = frozenset({"aborted", "died"})


@dataclass(frozen=True, slots=True)
class Resumable:
    """A sweep that was broken off, and its cells that still count."""

    sweep: SweepRecord
    cells: tuple[Cell, ...]


def k_changed(cells: Sequence[Cell], k_now: Mapping[str, int | None]) -> bool:
    """Whether an arm drafts another number of tokens now (`k_now`, by arm) than it did in these cells.

    A fingerprint is the baseline's and leaves K out, because arms differ in it; unknown is no difference.
    """
    return any(cell.k != k for cell in cells if cell.k is not None and (k := k_now.get(cell.arm)) is not None)


def resumable(
    sweeps: Sequence[SweepRecord],
    cells_of: Callable[[int], Sequence[Cell]],
    *,
    signature: str,
    fingerprint: str,
    now_s: float,
    within_s: float,
) -> Resumable | None:
    """The pool's newest sweep (`sweeps`: newest first) where it was broken off and may be gone on with.

    The plan and the servers must be the same, and a chain of resumed sweeps counts from its first break: cells of
    different days are not compared for ever. Refused sweeps and those that were broken off before their first cell
    are passed over; one that ended because its tokens were spent is no help. `cells_of` gives the cells that count.
    """
    by_id = {sweep.id: sweep for sweep in sweeps}
    for sweep in sweeps:
        if sweep.outcome in ("refused", "running"):
            continue
        if sweep.outcome not in BROKEN_OFF or not fingerprint:
            return None
        cells = tuple(cells_of(sweep.id))
        if not cells:
            continue
        first = sweep
        while first.resumes is not None and first.resumes in by_id:
            first = by_id[first.resumes]
        broken_s = first.ended_at_s if first.ended_at_s is not None else first.started_at_s
        if sweep.tally.get("resumable") is False:
            return None
        same = sweep.plan.get("signature") == signature and sweep.fingerprint == fingerprint
        return Resumable(sweep, cells) if same and now_s - broken_s <= within_s else None
    return None
