"""The dynamic schedule that the best arms imply, in the words of vLLM and SGLang; a hypothesis, never a recommendation.

Built from the best static arm per level such a schedule has run slower than no speculation at all, so none counts as
measured before that very configuration has been an arm of a sweep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from probes.answer_values import BestRange, Schedule, ScheduleStep
from probes.crossover.best import short
from probes.crossover.cells import draft_length
from probes.values import Cell, Reason

WHOLE = 0.2
"""How near to a whole number the counters' draft tokens per step must be, to be the configured K."""

AXIS = Reason(
    "schedule_axis",
    "Sizes count running requests, the sweep those in the system.",
)
NOT_OFF = Reason(
    "k0_is_not_off",
    "K = 0 is not speculation off: the drafter stays loaded (6 to 22% slower on published servers).",
)
HYPOTHESIS = Reason(
    "schedule_not_measured",
    "Such schedules have run slower than no speculation at all: make it an arm (dynamic = true) and sweep it first.",
)
ALIKE = Reason("schedule_assumes", "It assumes that the arms differ in K alone.")


def draft_lengths(arm_k: Mapping[str, int | None], baseline: str, cells: Sequence[Cell]) -> dict[str, int]:
    """K by static arm: configured, else from counters that show a whole number; absent where neither tells."""
    lengths = {baseline: 0}
    for arm in dict.fromkeys(cell.arm for cell in cells if cell.valid and cell.arm != baseline):
        seen = [k for cell in cells if cell.valid and cell.arm == arm and (k := draft_length(cell)) is not None]
        known = arm_k.get(arm)
        if known is not None:
            lengths[arm] = known
        elif seen and all(abs(k - round(seen[0])) <= WHOLE for k in seen):
            lengths[arm] = round(seen[0])
    return lengths


def lengths_by_name(arms: Sequence[str], baseline: str) -> dict[str, int]:
    """K as arms of results from elsewhere are usually named: `k3`; absent for every other name."""
    found = {arm: re.fullmatch(r"[kK](\d{1,3})", arm) for arm in arms}
    return {baseline: 0, **{arm: int(match[1]) for arm, match in found.items() if match}}


def schedule_of(
    best: Sequence[BestRange], lengths: Mapping[str, int], engines: int | None
) -> tuple[Schedule | None, tuple[Reason, ...]]:
    """The schedule of the best static arms, or None and why there is none. `engines` share the load, None: unknown."""
    if not best:
        return None, ()
    if why := _none_because(best, lengths, engines):
        return None, (why,)
    steps = _steps(best, lengths)
    if not steps:
        return None, (Reason("no_schedule_below_one", "No schedule: nothing was compared from one request on."),)
    if len(steps) == 1:
        text = f"{best[0].arm} is best at every concurrency that was compared, so there is nothing to schedule."
        if not all(one.confident for one in best):
            text = f"No arm is better than {best[0].arm} beyond the noise, so there is nothing to schedule."
        return None, (Reason("no_schedule_one_k", text),)
    reasons = [*_uncovered(best, steps), AXIS]
    reasons += [NOT_OFF] if any(step.k == 0 for step in steps) else []
    return Schedule(steps, None, (HYPOTHESIS, *reasons, ALIKE)), ()


def _none_because(best: Sequence[BestRange], lengths: Mapping[str, int], engines: int | None) -> Reason | None:
    if engines is not None and engines > 1:
        text = (
            f"No schedule: {engines} engines share the load, and with data parallelism vLLM drops one silently and "
            "SGLang's adaptive mode falls back to static drafts."
        )
        return Reason("no_schedule_dp", text)
    if engines is None:
        text = "No schedule: how many engines share the load is not known, and with several vLLM drops one silently."
        return Reason("no_schedule_engines", text)
    unknown = sorted({one.arm for one in best if one.arm not in lengths})
    if unknown:
        text = f"No schedule: how many tokens {' and '.join(unknown)} drafts per step is not known; names like k3 tell."
        return Reason("no_schedule_k_unknown", text)
    by_k: dict[int, str] = {}
    for one in best:
        twin = by_k.setdefault(lengths[one.arm], one.arm)
        if twin != one.arm:
            text = f"No schedule: {twin} and {one.arm} both draft {lengths[one.arm]}, so they differ in more than K."
            return Reason("no_schedule_same_k", text)
    return None


def _steps(best: Sequence[BestRange], lengths: Mapping[str, int]) -> tuple[ScheduleStep, ...]:
    """Whole sizes from 1 up without a gap, as vLLM wants them (0.26 to 0.32: first row from 1, no overlap).

    Every range reaches to where the next begins; equal neighbours are one step.
    """
    rows: list[ScheduleStep] = []
    ends = [math.floor(after.start) for after in best[1:]] + [round(best[-1].end)]
    for one, end in zip(best, ends, strict=True):
        start = rows[-1].end + 1 if rows else 1
        if end < start:
            continue
        if rows and rows[-1].arm == one.arm:
            rows[-1] = ScheduleStep(rows[-1].start, end, rows[-1].k, one.arm)
        else:
            rows.append(ScheduleStep(start, end, lengths[one.arm], one.arm))
    return tuple(rows)


def _uncovered(best: Sequence[BestRange], steps: Sequence[ScheduleStep]) -> list[Reason]:
    """What the engine will run on all the same: it wants every size from 1 up, and carries the last row on."""
    reasons = []
    first, last = best[0].start, round(best[-1].end)
    if first >= 1.5:
        text = f"Below {short(first)}, the lowest compared, K = {steps[0].k} is carried on unmeasured."
        reasons.append(Reason("below_measured", text))
    for one, after in pairwise(best):
        if after.start > 1.05 * one.end:
            text = (
                f"From {short(one.end)} to {short(after.start)} no two arms were compared; there {one.arm}'s K goes on."
            )
            reasons.append(Reason("between_measured", text))
    text = f"Above {last}, the highest compared, the engine goes on with K = {steps[-1].k}, unmeasured."
    reasons.append(Reason("above_measured", text))
    unsure = [f"{short(one.start)} to {short(one.end)}" for one in best if not one.confident]
    if unsure:
        text = f"From {', '.join(unsure)} the choice is inside the noise: there it takes the simpler arm."
        reasons.append(Reason("schedule_unsure", text))
    return reasons
