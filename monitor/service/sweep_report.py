"""One stored sweep as the JSON that `sweep --json` and `--out` give, and as lines for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from monitor.store.db import Store
from monitor.store.sweeps import get_sweep, load_cells
from monitor.units import outcome_words
from monitor.values import SweepRecord
from monitor.verdict_text import crossover_lines
from probes.crossover import to_json
from probes.values import Cell

SCHEMA = 1


def sweep_json(store: Store, sweep_id: int) -> dict[str, Any]:
    """Everything stored of one sweep. Raises LookupError where there is none of this id."""
    sweep = sweep_of(store, sweep_id)
    return {
        "schema": SCHEMA,
        "sweep_id": sweep.id,
        "pool": sweep.pool,
        "endpoint": sweep.endpoint,
        "started_at_s": sweep.started_at_s,
        "ended_at_s": sweep.ended_at_s,
        "outcome": sweep.outcome,
        "reason": sweep.reason,
        "exit_code": sweep.exit_code,
        "ended_by": sweep.ended_by,
        "resumes": sweep.resumes,
        "tally": sweep.tally,
        "baseline": sweep.baseline,
        "live_arm": sweep.live_arm,
        "plan": sweep.plan,
        "crossover": to_json(sweep.result) if sweep.result is not None else None,
        "cells": [cell_json(cell) for cell in load_cells(store, sweep_id)],
        "identities": sweep.identities,
        "arm_k": sweep.arm_k,
        "fingerprint": sweep.fingerprint,
    }


def sweep_of(store: Store, sweep_id: int) -> SweepRecord:
    """The record of a sweep that must be there."""
    sweep = get_sweep(store, sweep_id)
    if sweep is None:
        raise LookupError(f"{store.path} has no sweep {sweep_id}")
    return sweep


def cell_json(cell: Cell) -> dict[str, Any]:
    """Every field of a cell, and whether it counts."""
    return {**asdict(cell), "valid": cell.valid, "acceptance_length": cell.acceptance_length}


def sweep_lines(sweep: SweepRecord) -> list[str]:
    """The end of a sweep for a person."""
    on = f" (went on with sweep {sweep.resumes})" if sweep.resumes is not None else ""
    why = f": {sweep.reason}" if sweep.reason else ""
    lines = [f"sweep {sweep.id} of {sweep.pool}{on}: {outcome_words(sweep.outcome)}{why}"]
    if sweep.outcome in ("aborted", "died") and sweep.tally.get("resumable") is not False:
        lines.append("The next sweep of the pool goes on with its cells, unless --fresh asks for a new one.")
    if sweep.result is not None:
        lines += crossover_lines(sweep.result)
    return lines
