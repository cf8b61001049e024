"""Turns sweeps' cells into what the step-time fit takes; it decides which cells can speak, and fits nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probes.steptime.shape import Floats, Load
from probes.steptime.values import ArmTraffic, Mix
from probes.values import Cell

SAME_K = 0.5
"""An arm whose drafts per step vary by more than this between cells runs a schedule; one K does not describe it, and
K = 0 of a schedule is not a server without speculation."""
MIN_RUNGS = 3
"""Per arm: weights, arithmetic and the corner between them cannot be told from two."""
BUSY_FROM = 4.0
"""Requests in the system; below, an engine rests between its requests, and the window is not made of steps alone."""
RUNG_GAP = 0.15
"""Natural log of concurrency; cells further apart are different rungs."""


@dataclass(frozen=True, slots=True)
class Observations:
    """One entry per cell."""

    load: Load
    tok_s: Floats
    """Per engine."""
    step_s: Floats
    """Mean seconds of a step as the server counted them; NaN where no page told."""
    group: NDArray[np.int64]
    """Cells of one arm on one start in one sweep: what shifts such a run shifts all of them."""
    arms: dict[str, ArmTraffic]
    """Of the first sweep."""
    mixes: tuple[Mix, ...]
    """One per sweep."""


@dataclass(frozen=True, slots=True)
class _Point:
    arm: str
    start: int | None
    concurrency: float
    tok_s: float
    step_s: float
    k: float
    acceptance_length: float
    mix: Mix


def observe(sweeps: Sequence[Sequence[Cell]]) -> Observations | None:
    """None unless the first sweep has an arm with and one without drafts, each on at least `MIN_RUNGS` rungs."""
    kept = [_arms(cells) for cells in sweeps]
    first = kept[0] if kept else {}
    drafting = [arm for arm, points in first.items() if points[0].k > 0]
    if not drafting or len(drafting) == len(first):
        return None
    rows: list[_Point] = []
    load: list[tuple[float, float]] = []
    group: list[int] = []
    groups: dict[tuple[int, str, int | None], int] = {}
    for number, arms in enumerate(kept):
        for arm, points in arms.items():
            # The counters of one cell are noisier than an arm's acceptance is different from rung to rung.
            traffic = _traffic(points)
            for point in points:
                rows.append(point)
                load.append((traffic.k, traffic.acceptance_length))
                group.append(groups.setdefault((number, arm, point.start), len(groups)))
    return Observations(
        Load(
            np.array([row.concurrency for row in rows]),
            np.array([k for k, _ in load]),
            np.array([acceptance for _, acceptance in load]),
            np.array([row.mix.prompt_tokens for row in rows]),
            np.array([row.mix.output_tokens for row in rows]),
        ),
        np.array([row.tok_s for row in rows]),
        np.array([row.step_s for row in rows]),
        np.array(group, dtype=np.int64),
        {arm: _traffic(points) for arm, points in first.items()},
        tuple(_mean_mix([p for points in arms.values() for p in points]) for arms in kept if arms),
    )


def why_not_observed(cells: Sequence[Cell]) -> str:
    """What `observe` lacks in these cells of one sweep, as half a sentence; of no use where it lacks nothing."""
    by_arm: dict[str, list[Cell]] = {}
    for cell in cells:
        by_arm.setdefault(cell.arm, []).append(cell)
    faults = [fault for arm, own in by_arm.items() if (fault := _fault(arm, own)) is not None]
    if faults:
        return "; ".join(faults)
    drafted = any(point.k > 0 for points in _arms(cells).values() for point in points)
    return "no arm ran without drafts" if drafted else "by the server's counters no arm drafted anything"


def _fault(arm: str, cells: Sequence[Cell]) -> str | None:
    """Why an arm is left out."""
    usable = [cell for cell in cells if cell.valid and not cell.limited]
    points = [point for cell in usable if (point := _point(cell)) is not None]
    if usable and not points:
        if any(cell.k and not cell.drafts for cell in usable):
            return f"the server's pages do not tell how many tokens {arm} drafted (those of SGLang do from 0.5.15 on)"
        return f"the cells of {arm} lack token counts"
    rungs = _rungs(points) if points else 0
    if rungs < MIN_RUNGS:
        were = "rung is" if rungs == 1 else "rungs are"
        return f"only {rungs} {were} usable of {arm}, where {MIN_RUNGS} are needed, valid and below its admission limit"
    return None if _steady_k(points) else f"{arm} drafts more at one load than at another"


def _arms(cells: Sequence[Cell]) -> dict[str, list[_Point]]:
    """Arms of one sweep that have enough rungs and one K."""
    arms: dict[str, list[_Point]] = {}
    for cell in cells:
        point = _point(cell)
        if point is not None:
            arms.setdefault(point.arm, []).append(point)
    return {arm: points for arm, points in arms.items() if _rungs(points) >= MIN_RUNGS and _steady_k(points)}


def _point(cell: Cell) -> _Point | None:
    if not cell.valid or cell.limited:
        return None
    numbers = (cell.concurrency, cell.output_tok_s, cell.output_tokens_mean, cell.prompt_tokens_mean)
    concurrency, tok_s, output_tokens, prompt_tokens = (number or 0.0 for number in numbers)
    if not all(0 < number < np.inf for number in (concurrency, tok_s, output_tokens, prompt_tokens)):
        return None
    k, acceptance_length = 0.0, 1.0
    if cell.drafts:
        if not cell.draft_tokens or cell.acceptance_length is None:
            return None
        k, acceptance_length = cell.draft_tokens / cell.drafts, cell.acceptance_length
    elif cell.k:
        return None
    return _Point(
        cell.arm,
        cell.start,
        concurrency,
        tok_s / (cell.engine_count or 1),
        _step_s(cell),
        k,
        acceptance_length,
        Mix(prompt_tokens * (1 - min(1.0, cell.prefix_hit_ratio or 0.0)), output_tokens),
    )


def _step_s(cell: Cell) -> float:
    if not cell.steps or not cell.window_s or (cell.concurrency or 0.0) < BUSY_FROM:
        return float("nan")
    return cell.window_s * (cell.engine_count or 1) / cell.steps


def _rungs(points: Sequence[_Point]) -> int:
    logs = np.sort(np.log([point.concurrency for point in points]))
    return 1 + int(np.count_nonzero(np.diff(logs) > RUNG_GAP))


def _steady_k(points: Sequence[_Point]) -> bool:
    ks = [point.k for point in points]
    return max(ks) - min(ks) <= SAME_K


def _traffic(points: Sequence[_Point]) -> ArmTraffic:
    return ArmTraffic(
        float(np.mean([point.k for point in points])),
        float(np.mean([point.acceptance_length for point in points])),
        _mean_mix(points),
    )


def _mean_mix(points: Sequence[_Point]) -> Mix:
    return Mix(
        float(np.mean([point.mix.prompt_tokens for point in points])),
        float(np.mean([point.mix.output_tokens for point in points])),
    )
