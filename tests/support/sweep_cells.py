"""Finished cells in plain values, for tests of what a sweep makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probes.sweep.assemble import assemble
from probes.sweep.plan import CellSlot
from probes.values import Cell, Reason
from tests.support.evidence import evidence

CLEAN = assemble(evidence())
FOREIGN = (Reason("foreign_traffic", "7 requests that are not ours finished on the server during the cell"),)


def cell_of(slot: CellSlot, **changes: Any) -> Cell:
    """A clean cell of a slot; without other orders it sits at its own rung."""
    values: dict[str, Any] = {"arm": slot.arm, "rung": slot.rung, "repeat": slot.repeat, "order": slot.order}
    return replace(CLEAN, **{**values, "start": slot.start, "concurrency": float(slot.rung), **changes})


def cell(arm: str, rung: int, repeat: int = 0, order: int = 0, **changes: Any) -> Cell:
    """A clean cell."""
    return cell_of(CellSlot(arm, rung, repeat, order), **changes)
