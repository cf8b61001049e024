"""Says why a cell does not count (void) or counts with a remark (note): stable codes, plain sentences; pure.

The checks and their limits live in the `judge_*` files, each limit with its reason. Limits are relative to the window,
the step or the request time where they can be, so that a quick look with half-second windows is judged by the same
rules as a night's sweep. docs/cells.md lists every code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from probes.sweep import judge_client, judge_limits, judge_notes, judge_server, judge_steady
from probes.sweep.evidence import Evidence
from probes.sweep.judge_front_end import front_end
from probes.sweep.verify import arm_reasons
from probes.values import Cell, Reason

Check = Callable[[Cell, Evidence], Iterator[Reason]]


def judge(cell: Cell, evidence: Evidence) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """(void, notes)."""
    void = tuple(reason for check in _VOID for reason in check(cell, evidence))
    arm_void, arm_notes = arm_reasons(cell, evidence)
    notes = tuple(reason for check in _NOTES for reason in check(cell, evidence))
    return (*arm_void, *void), (*arm_notes, *notes)


_VOID: tuple[Check, ...] = (
    judge_server.no_window,
    judge_server.counter_reset,
    judge_server.changed,
    judge_server.foreign,
    judge_server.errors,
    judge_server.no_usage,
    judge_server.token_mismatch,
    judge_server.contradicted,
    judge_server.too_few,
    judge_client.concurrency,
    judge_server.prefix_hits,
    judge_server.uneven,
    judge_client.client_limit,
    judge_steady.cut_answers,
    judge_steady.stalled,
    judge_steady.not_steady,
)
_NOTES: tuple[Check, ...] = (
    judge_limits.limited,
    judge_server.few_errors,
    judge_steady.ramp_cut,
    judge_steady.drifting,
    judge_steady.short_window,
    judge_notes.remarks,
    front_end,
    judge_notes.restarted_before,
    judge_notes.capped,
    judge_notes.baseline_degraded,
    judge_notes.dead_flag,
)
