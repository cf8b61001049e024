"""A schedule as JSON: its steps as each engine takes them, and whether anything has measured it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.answer_values import Schedule, ScheduleStep
from probes.values import Reason


def sglang_value(schedule: Schedule) -> dict[str, dict[str, list[int]]]:
    """What the file of `--speculative-adaptive-config` takes: candidate steps by the size from which they hold.

    With one candidate each there is nothing left to adapt, so that the steps follow the batch alone. SGLang rounds
    the size up to its next CUDA graph before it looks.
    """
    return {str(step.start): {"candidate_steps": [step.k]} for step in schedule.steps}


def largest_k(schedule: Schedule) -> int:
    """The K that the server has to be started with; no step may be longer."""
    return max(step.k for step in schedule.steps)


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    """`value` is vLLM's; `measured` only where an arm of the sweep ran these very steps."""
    return {
        "value": schedule.rows,
        "num_speculative_tokens": largest_k(schedule),
        "sglang": sglang_value(schedule),
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
