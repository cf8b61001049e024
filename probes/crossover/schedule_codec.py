"""A schedule as JSON: its steps as vLLM takes them, and whether anything has measured it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.values import Reason, Schedule, ScheduleStep


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    """`value` is what vLLM's `num_speculative_tokens_per_batch_size` takes: rows of first size, last size, K."""
    return {
        "value": [[step.start, step.end, step.k] for step in schedule.steps],
        "arms": [step.arm for step in schedule.steps],
        "measured": schedule.measured_as is not None,
        "measured_as": schedule.measured_as,
        "reasons": [{"code": r.code, "text": r.text} for r in schedule.reasons],
    }


def schedule_from_json(document: Mapping[str, Any]) -> Schedule:
    """Read it back; KeyError or TypeError where it is something else."""
    rows = zip(document["value"], document["arms"], strict=True)
    return Schedule(
        steps=tuple(ScheduleStep(int(start), int(end), int(k), str(arm)) for (start, end, k), arm in rows),
        measured_as=document["measured_as"],
        reasons=tuple(Reason(str(r["code"]), str(r["text"])) for r in document["reasons"]),
    )
