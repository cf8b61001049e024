"""The sweep's cells as a table per rung, and in words why some of them do not count.

Speedups come from the fitted band at the arm's own concurrency, never from dividing two rungs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from monitor.answer_words import joined
from monitor.tui import format as fmt
from monitor.tui.lines import Line, Span, clip, fit, line, pad, paragraph
from monitor.values import SweepRecord
from probes.answer_values import BandPoint
from probes.values import Cell

CLIENTS = 7
HAIR = 1.05
"""Two arms at one rung differ in concurrency by about this much: a rung so near to the band's end is compared there."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the table still shows; `LAYOUTS` is the order in which it gives way to a narrow screen."""

    arm_x: bool = True
    """The concurrency of arms other than the baseline."""
    edges: bool = True
    word: bool = True
    baseline_x: bool = True

    def width(self, arms: int) -> int:
        """Cells that a row takes."""
        concurrency = 8 * (self.baseline_x + (arms - 1) * self.arm_x)
        return CLIENTS + concurrency + 13 * arms + (arms - 1) * (2 + self.speedup_width)

    @property
    def speedup_width(self) -> int:
        """`0.93× [0.90–0.95] slower`."""
        return 5 + 12 * self.edges + 7 * self.word


LAYOUTS = (
    Layout(),
    Layout(arm_x=False),
    Layout(arm_x=False, edges=False),
    Layout(arm_x=False, edges=False, baseline_x=False),
    Layout(arm_x=False, edges=False, baseline_x=False, word=False),
)


def cell_table(cells: tuple[Cell, ...], arms: tuple[str, ...], sweep: SweepRecord, width: int) -> list[Line]:
    """A row per rung: per arm its concurrency, tok/s and valid cells; per speculating arm the speedup."""
    if not cells:
        return []
    layout = next((each for each in LAYOUTS if each.width(len(arms)) <= width), LAYOUTS[-1])
    head = [Span(pad("clients", CLIENTS, right=True), "head")]
    for index, arm in enumerate(arms):
        with_x = layout.arm_x if index else layout.baseline_x
        x_head = pad("conc", 8, right=True) if with_x else ""
        head.append(Span(f"{x_head}{pad(f'{clip(arm, 4)} t/s', 8, right=True)}{pad('ok', 5, right=True)}", "head"))
    head += [Span("  " + pad(f"{clip(arm, 8)} speedup", layout.speedup_width), "head") for arm in arms[1:]]
    rows = [fit(line(*head), width)]
    for rung in sorted({cell.rung for cell in cells}):
        spans = [Span(pad(str(rung), CLIENTS, right=True), "strong")]
        for index, arm in enumerate(arms):
            ours = [cell for cell in cells if cell.arm == arm and cell.rung == rung]
            spans += _arm_spans(ours, planned(sweep, cells, rung), layout.arm_x if index else layout.baseline_x)
        for arm in arms[1:]:
            x = _mean([cell.concurrency for cell in cells if cell.arm == arm and cell.rung == rung and cell.valid])
            spans.append(_speedup_span(_speedup(sweep, arm, x), layout))
        rows.append(fit(line(*spans), width))
    return rows


def planned(sweep: SweepRecord, cells: tuple[Cell, ...], rung: int) -> int:
    """Repeats that were to be measured on a rung: the ladder's, and those that refinement added there alone."""
    ladder, repeats = sweep.plan.get("ladder"), sweep.plan.get("repeats")
    on_ladder = isinstance(ladder, list) and rung in ladder and isinstance(repeats, int)
    begun = 1 + max((cell.repeat for cell in cells if cell.rung == rung), default=-1)
    return max(begun, repeats if on_ladder and isinstance(repeats, int) else 0)


def _speedup_span(point: BandPoint | None, layout: Layout) -> Span:
    if point is None:
        return Span("  " + pad(f"    {fmt.UNKNOWN}", layout.speedup_width), "dim")
    word, role = ("slower", "bad") if point.high < 1 else ("faster", "good") if point.low > 1 else ("equal", "warn")
    edges = f" [{point.low:.2f}–{point.high:.2f}]" if layout.edges else ""
    return Span(
        "  " + pad(f"{fmt.ratio(point.ratio)}{edges}{' ' + word if layout.word else ''}", layout.speedup_width), role
    )


def _arm_spans(cells: list[Cell], repeats: int, with_x: bool) -> list[Span]:
    valid = [cell for cell in cells if cell.valid]
    void = len(cells) - len(valid)
    count = f"{len(valid)}/{repeats}" if cells else fmt.UNKNOWN
    role = "warn" if void else "label" if len(valid) == repeats else "dim"
    x = [Span(pad(fmt.concurrency(_mean([cell.concurrency for cell in valid])), 8, right=True))] if with_x else []
    return [
        *x,
        Span(pad(fmt.number(_mean([cell.output_tok_s for cell in valid])), 8, right=True)),
        Span(pad(f"{count}{'!' if void else ''}", 5, right=True), role),
    ]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _speedup(sweep: SweepRecord, arm: str, x: float | None) -> BandPoint | None:
    """The fitted band at x, straight in log x; its end where x lies a hair beyond, None further out."""
    verdict = sweep.result.arms.get(arm) if sweep.result is not None else None
    if verdict is None or x is None or x <= 0:
        return None
    points = sorted(verdict.speedup, key=lambda point: point.concurrency)
    if points:
        first, last = points[0].concurrency, points[-1].concurrency
        x = min(max(x, first), last) if first / HAIR <= x <= last * HAIR else x
    for left, right in pairwise(points):
        if left.concurrency <= x <= right.concurrency:
            span = math.log(right.concurrency / left.concurrency)
            share = math.log(x / left.concurrency) / span if span else 0.0
            ratio, low, high = (
                a + share * (b - a)
                for a, b in ((left.ratio, right.ratio), (left.low, right.low), (left.high, right.high))
            )
            return BandPoint(x, ratio, low, high)
    return None


def void_reasons(cells: tuple[Cell, ...], width: int) -> list[Line]:
    """Each void cell with its reasons, so that nobody has to guess why a number is missing."""
    rows: list[Line] = []
    for cell in cells:
        if not cell.valid:
            why = joined(reason.text for reason in cell.void)
            rows += paragraph(
                f"void: {cell.arm} @ {cell.rung} clients, repeat {cell.repeat + 1}: {why}",
                width,
                role="warn",
                indent=" ",
                limit=2,
            )
    return rows
