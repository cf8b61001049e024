"""Tells when two front ends are compared and not two arms: requests pile up before the scheduler, or they differ; pure.

Seen with vLLM 0.26 on an H200: one API server process, at 100% of a core, held back the arm without speculation from
192 streaming clients on (one chunk per token), while arms that put several tokens into a chunk went free. And before
anything piles up: with four of them its first tokens came in half the time already at 64 clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from probes.answer_values import ArmVerdict, Crossover
from probes.sweep.evidence import Evidence
from probes.values import Cell, Reason

FRONT_END = "front_end"
FRONT_ENDS_DIFFER = "front_ends_differ"
SHARE_MIN = 0.12
"""Of the requests in the system, out of the engine's sight. Up to 11% were seen where nothing was wrong."""
REQUESTS_MIN = 2.0
"""At one or two clients the gauge misses the moment between two requests."""
STEPS_MIN = 10.0
"""First token later than this many steps: a request that the scheduler has is on the page after one step, so that
longer waits out of sight happen in front of it. Long prompts in the engine itself took up to 7."""


def front_end(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The note of one cell."""
    outside = outside_share(cell)
    if outside is not None:
        text = (
            f"{outside:.0%} of the requests in the system waited in front of the scheduler (API server or proxy): "
            "the front end held the arm back, not the GPU"
        )
        yield Reason("front_end", text)


def outside_share(cell: Cell) -> float | None:
    """Share of the requests in the system that the engine did not see, where it is telling; else None."""
    step_ms = _step_ms(cell)
    if not cell.concurrency or step_ms is None:
        return None
    if cell.running_mean is None or cell.waiting_mean is None or cell.ttft.p50_ms is None:
        return None
    outside = cell.concurrency - cell.running_mean - cell.waiting_mean
    telling = outside > max(SHARE_MIN * cell.concurrency, REQUESTS_MIN) and cell.ttft.p50_ms > STEPS_MIN * step_ms
    return outside / cell.concurrency if telling else None


def _step_ms(cell: Cell) -> float | None:
    """Length of a step. With several API servers no page counts steps, but their requests tell."""
    if cell.steps and cell.window_s is not None:
        return 1000 * cell.window_s * (cell.engine_count or 1) / cell.steps
    return cell.output_gap_ms


def with_front_end(found: Crossover, cells: Sequence[Cell]) -> Crossover:
    """The answer with a word to every arm that was compared with another front end, or where one was in the way."""
    starts = {arm: start for arm in (found.baseline, *found.arms) if (start := _from(cells, arm)) is not None}
    several = {arm: _several(cells, arm) for arm in (found.baseline, *found.arms)}
    arms = {
        name: replace(
            verdict,
            reasons=(
                *verdict.reasons,
                *_reasons(verdict, found.baseline, starts),
                *(_differing(name, found.baseline, several) if verdict.speedup else ()),
            ),
        )
        for name, verdict in found.arms.items()
    }
    return replace(found, arms=arms)


def _from(cells: Sequence[Cell], arm: str) -> float | None:
    """Lowest concurrency of a rung most of whose cells were held back."""
    own = sorted((cell for cell in cells if cell.arm == arm and cell.valid), key=lambda cell: cell.rung)
    for _, group in groupby(own, key=lambda cell: cell.rung):
        rung = list(group)
        held = [cell for cell in rung if outside_share(cell) is not None]
        if 2 * len(held) > len(rung):
            return min(cell.concurrency for cell in rung if cell.concurrency is not None)
    return None


def _reasons(verdict: ArmVerdict, baseline: str, starts: dict[str, float]) -> list[Reason]:
    held = [name for name in (baseline, verdict.arm) if name in starts]
    if not held or not verdict.speedup or min(starts[name] for name in held) > verdict.speedup[-1].concurrency:
        return []
    where = " and ".join(f"{name} from {starts[name]:.3g}" for name in held)
    text = (
        f"Requests waited in front of the scheduler ({where} concurrent up): there the speedup compares front ends "
        "too. Give the server more API server processes and sweep again before you trust it there."
    )
    return [Reason(FRONT_END, text)]


def _several(cells: Sequence[Cell], arm: str) -> bool | None:
    """Whether an arm runs several API servers: their page counts no steps, and that of one does; None if untold."""
    own = [cell for cell in cells if cell.arm == arm and cell.valid and cell.output_gap_ms is not None]
    return None if not own else all(cell.steps is None for cell in own)


def _differing(arm: str, baseline: str, several: dict[str, bool | None]) -> list[Reason]:
    ours, theirs = several[arm], several[baseline]
    if ours is None or theirs is None or ours == theirs:
        return []
    more, one = (arm, baseline) if ours else (baseline, arm)
    text = (
        f"By their pages {more} runs several API server processes and {one} a single one (or a proxy filters them), so "
        "that the speedup compares front ends too. Give both the same number and sweep again."
    )
    return [Reason(FRONT_ENDS_DIFFER, text)]
