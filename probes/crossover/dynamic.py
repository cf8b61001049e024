"""What arms ran that change their draft length with the load, and how they fare against the static ones; pure.

A schedule that was never an arm is not judged here, nor is one built (`schedule.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from probes.answer_values import BestRange, ScheduleStep
from probes.crossover.best import K_APART, pct, short
from probes.crossover.cells import draft_length
from probes.crossover.curves import Curve
from probes.crossover.ratio import Ratio, ratio_on
from probes.values import Cell, Reason

EDGE_SHARE = 0.15
"""A rung this close to where a schedule switches runs some steps on either side: its mean K proves nothing."""
LOSES = "schedule_loses"
POINTS = 24
"""Points per range at which two arms are compared."""


def k_by_rung(cells: Sequence[Cell], arm: str) -> list[tuple[float, float]]:
    """One arm's concurrency and draft tokens per step, by rung; empty where its counters do not tell."""
    rungs: dict[int, list[tuple[float, float]]] = {}
    for cell in cells:
        k = draft_length(cell)
        if cell.valid and cell.arm == arm and k is not None and cell.concurrency is not None:
            rungs.setdefault(cell.rung, []).append((cell.concurrency, k))
    return sorted((fmean(x for x, _ in rung), fmean(k for _, k in rung)) for rung in rungs.values())


def dynamic_arms(cells: Sequence[Cell], declared: Collection[str]) -> tuple[str, ...]:
    """Arms whose K changes with the load: those said to, and those whose counters show it."""
    arms = dict.fromkeys(cell.arm for cell in cells if cell.valid)
    return tuple(arm for arm in arms if arm in declared or _changes(k_by_rung(cells, arm)))


def _changes(rungs: Sequence[tuple[float, float]]) -> bool:
    lengths = [k for _, k in rungs]
    return bool(lengths) and max(lengths) - min(lengths) > K_APART


def ran_these(rungs: Sequence[tuple[float, float]], steps: Sequence[ScheduleStep]) -> bool:
    """Whether an arm with these draft lengths by rung ran these very steps, as far as its rungs can show.

    At least two steps must be seen, and every rung away from a switch must have drafted what its step says.
    """
    edges = [step.start - 0.5 for step in steps[1:]]
    seen: set[int] = set()
    for x, k in rungs:
        step = next((one for one in steps if x < one.end + 0.5), None)
        if step is None or any(abs(x - edge) <= EDGE_SHARE * edge for edge in edges):
            continue
        if abs(k - step.k) > K_APART:
            return False
        seen.add(step.k)
    return len(seen) > 1


def against_static(arm: str, curves: Mapping[str, Curve], best: Sequence[BestRange]) -> list[Reason]:
    """An arm with changing K beside every static one, range by range; where it loses to the best, that comes first."""
    seen = [(one, reason) for one in _joined(best) if (reason := _in_range(arm, curves, one)) is not None]
    lost = [_span(one) for one, reason in seen if reason.code == LOSES]
    reasons = [reason for _, reason in seen]
    if lost:
        where = "in every range compared" if len(lost) == len(seen) else f"from {' and from '.join(lost)}"
        text = f"{arm} changes its draft length with the load, and it loses to the best arm of fixed length {where}."
        return [Reason("schedule_lost", text), *reasons]
    if reasons:
        text = f"{arm} changes its draft length with the load, and nowhere loses to the best arm of fixed length "
        text += "beyond the noise."
        return [Reason("schedule_holds", text), *reasons]
    return []


def _joined(best: Sequence[BestRange]) -> list[BestRange]:
    """Neighbours of one arm as one range, whether or not its lead is clear on both."""
    joined: list[BestRange] = []
    for one in best:
        if joined and joined[-1].arm == one.arm and joined[-1].end == one.start:
            joined[-1] = replace(joined[-1], end=one.end)
        else:
            joined.append(one)
    return joined


def _in_range(arm: str, curves: Mapping[str, Curve], one: BestRange) -> Reason | None:
    leads: dict[str, Ratio] = {}
    for name, other in curves.items():
        curve = curves[arm]
        low = max(np.log(one.start), curve.log_x[0], other.log_x[0])
        high = min(np.log(one.end), curve.log_x[-1], other.log_x[-1])
        if name != arm and low < high:
            leads[name] = ratio_on(curve, other, np.linspace(low, high, POINTS))
    if one.arm not in leads:
        return None
    names = sorted(leads, key=lambda name: (name != one.arm, name))
    text = f"From {_span(one)} {arm} is {', '.join(_words(n, leads[n]) for n in names)}."
    lead = leads[one.arm]
    if np.any(lead.value < -lead.half_strong):
        return Reason(LOSES, text)
    return Reason("schedule_wins" if np.median(lead.value - lead.half) > 0 else "schedule_even", text)


def _span(one: BestRange) -> str:
    return f"{short(one.start)} to {short(one.end)}"


def _words(name: str, lead: Ratio) -> str:
    """The lead over one arm across a range, from its lower end to its upper one where that makes a difference."""
    if np.all(np.abs(lead.value) <= lead.half):
        return f"even with {name}"
    best, worst = (round(pct(v)) for v in (lead.value.max(), lead.value.min()))
    if best > 0 > worst:
        return f"{best}% faster to {-worst}% slower than {name}"
    way = "slower" if worst < 0 else "faster"
    near, far = sorted((abs(best), abs(worst)))
    return f"{far}% {way} than {name}" if near == far else f"{near} to {far}% {way} than {name}"
