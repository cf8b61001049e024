"""The third screen: what a sweep of the selected pool measured, cell by cell, and how far a running one is.

Curves of output tok/s over log2 concurrency with the crossover's interval and the live load, then the cells. Void cells
are counted and explained here, and never averaged.
"""

from __future__ import annotations

from monitor.tui import format as fmt
from monitor.tui.draw.cells import cell_table, void_reasons
from monitor.tui.draw.helptext import no_sweep
from monitor.tui.draw.sweep_answer import answer, compared, verdict_text
from monitor.tui.lines import BLANK, Line, Span, fit, line, paragraph
from monitor.tui.plot import Curve, Rule, Shade, plot
from monitor.tui.progress import PHASES, time_left
from monitor.tui.scale import doublings, linear
from monitor.tui.theme import ARM_MARKERS, ARM_ROLES
from monitor.tui.view import View
from monitor.values import SweepRecord
from probes.values import Cell

ENDED = {
    "measured": ("●", "good"),
    "refused": ("○", "warn"),
    "aborted": ("◌", "warn"),
    "arm_mismatch": ("✕", "bad"),
    "died": ("✕", "bad"),
    "not_restored": ("✕", "alarm"),
    "failed": ("✕", "bad"),
    "running": ("»", "note"),
}

CHART_ROWS = 14
"""A chart this high is clear enough; rows beyond go to the reasons of void cells first."""


def draw(view: View, width: int, height: int) -> list[Line]:
    """The whole screen; rows beyond `height` scroll."""
    sweep = view.sweep
    if sweep is None:
        return [BLANK, *_none_yet(view, width)]
    cells = view.snapshot.cells.get(sweep.id, ())
    arms = arm_names(sweep, cells)
    top = [_title(view, sweep, width), *_state(view, sweep, width), *answer(sweep, width)]
    top += [*_in_force(view, sweep, width), *_newer_refusal(view, sweep, width)]
    table, void = cell_table(cells, arms, sweep, width), void_reasons(cells, width)
    below = [*table, *void]
    if not any(cell.concurrency is not None and cell.output_tok_s is not None for cell in cells):
        return [*top, BLANK, *paragraph(_no_cells(view, sweep), width, role="dim", indent=" "), *below]
    room = height - len(top) - len(table)
    room -= min(len(void), max(1, room - CHART_ROWS))
    return [*top, *curves(view, sweep, cells, arms, width, min(max(room, 8), 32)), *below]


def _no_cells(view: View, sweep: SweepRecord) -> str:
    """Why there is nothing to draw."""
    if view.older is not None and sweep.id not in view.snapshot.cells:
        return (
            "Its cells are being read …" if view.held_s is None else "The view is paused without its cells: p goes on."
        )
    if sweep.trigger == "import" and sweep.result is not None:
        return "An import keeps a sweep's answer, and not its cells."
    return "No cell has been measured in it."


def _none_yet(view: View, width: int) -> list[Line]:
    pool = view.pool or "this pool"
    if view.never_swept:
        return paragraph(no_sweep(view), width, role="strong", indent=" ")
    rows = paragraph(f"No sweep yet of {pool}.", width, role="strong", indent=" ")
    due = view.snapshot.next_sweep_at_s.get(view.pool)
    if due is not None:
        rows += paragraph(f"The schedule starts one at {fmt.minute(due, view.snapshot.at_s)}.", width, indent=" ")
    ask = "" if view.readonly or no_sweep(view) else "R runs one, after saying what it does to production. "
    return [
        *rows,
        BLANK,
        *paragraph(
            f"{ask}From a shell, `specwatch sweep {pool} --plan` states its cost and runs nothing.", width, indent=" "
        ),
        BLANK,
        *paragraph(
            "A sweep sends closed-loop load to each arm (speculation off, on, ...) at rising concurrency and finds "
            "where speculation stops paying. Until then every verdict is unknown.",
            width,
            role="label",
            indent=" ",
        ),
    ]


def arm_names(sweep: SweepRecord, cells: tuple[Cell, ...]) -> tuple[str, ...]:
    """Baseline first, then the others in the order of measurement, then those that only the result knows."""
    others = [cell.arm for cell in cells] + list(sweep.result.arms if sweep.result is not None else ())
    return tuple(dict.fromkeys([sweep.baseline, *others]))


def arm_look(index: int) -> tuple[str, str]:
    """Role and marker of an arm; the baseline is always the round blue one."""
    if index == 0:
        return "off", "●"
    return ARM_ROLES[(index - 1) % len(ARM_ROLES)], ARM_MARKERS[(index - 1) % len(ARM_MARKERS)]


def _title(view: View, sweep: SweepRecord, width: int) -> Line:
    glyph, role = ENDED.get(sweep.outcome, ("?", "warn"))
    at_s = sweep.ended_at_s if sweep.ended_at_s is not None else sweep.started_at_s
    when = (
        f"{fmt.age(view.snapshot.at_s - at_s)} ago"
        if sweep.ended_at_s is not None
        else f"since {fmt.minute(at_s, view.snapshot.at_s)}"
    )
    due = view.snapshot.next_sweep_at_s.get(sweep.pool)
    place = ""
    if view.older is not None:
        force = ", in force" if view.in_force == sweep else ""
        place = f"older ({view.sweeps.index(sweep) + 1} of {len(view.sweeps)}){force} · "
    return fit(
        line(
            Span(f" {sweep.pool} ", "strong"),
            Span(f" sweep {sweep.id} ", "label"),
            Span(place, "warn"),
            Span(f"{glyph} {sweep.outcome.replace('_', ' ')} {when}", role),
            Span(f"  {_by(sweep)}{_on(sweep)}", "label"),
            Span(f" · next {fmt.minute(due, view.snapshot.at_s)}" if due is not None else "", "label"),
        ),
        width,
    )


def _by(sweep: SweepRecord) -> str:
    if sweep.trigger == "schedule":
        return "by schedule"
    return f"{'imported' if sweep.trigger == 'import' else 'asked'} by {sweep.who or sweep.trigger}"


def _on(sweep: SweepRecord) -> str:
    return f", went on with sweep {sweep.resumes}" if sweep.resumes is not None else ""


def _state(view: View, sweep: SweepRecord, width: int) -> list[Line]:
    progress = sweep.progress
    if sweep.outcome != "running" or progress is None:
        return paragraph(sweep.reason, width, role="text", indent=" ", limit=2)
    share = progress.done_cells / progress.total_cells if progress.total_cells else 0.0
    size = max(8, width // 4)
    full = round(share * size)
    phase = PHASES.get(progress.phase, progress.phase)
    where = f"{progress.arm} @ {progress.rung} clients, repeat {(progress.repeat or 0) + 1}" if progress.arm else phase
    if progress.arm and progress.phase in PHASES:
        where = f"{phase}: {where}"
    apart = progress.phase in PHASES
    note = f" · {progress.note}" if progress.note and not apart else ""
    said = paragraph(progress.note, width, role="warn", indent=" ", limit=2) if progress.note and apart else []
    return [
        fit(
            line(
                " ",
                Span("█" * full, "on"),
                Span("░" * (size - full), "band"),
                Span(f" {progress.done_cells}/{progress.total_cells} cells", "strong"),
                Span(f" · {time_left(progress)}", "strong"),
                Span(f" · {where}{note}", "text"),
            ),
            width,
        ),
        *said,
    ]


def _in_force(view: View, shown: SweepRecord, width: int) -> list[Line]:
    """While a sweep has no answer (yet), the newest one that has goes on counting."""
    last = view.in_force
    if shown.result is not None or last is None or last.result is None:
        return []
    spec = [(name, verdict) for name, verdict in last.result.arms.items() if name != last.baseline]
    answers = "; ".join(f"{name} {verdict_text(verdict, last.result.axis)}" for name, verdict in spec)
    key = "[" if view.sweeps.index(last) > view.sweeps.index(shown) else "]"
    text = f"in force, from sweep {last.id} (key {key}): {answers}"
    return paragraph(text, width, role="label", indent=" ", limit=2)


def _newer_refusal(view: View, shown: SweepRecord, width: int) -> list[Line]:
    """Why the newest try did not even start, where an older sweep is shown."""
    newest = next((sweep for sweep in view.snapshot.sweeps if sweep.pool == shown.pool), shown)
    if view.older is not None or newest.id == shown.id or newest.outcome != "refused":
        return []
    ago = fmt.age(view.snapshot.at_s - newest.started_at_s)
    return paragraph(f"newest try {ago} ago refused: {newest.reason}", width, role="warn", indent=" ", limit=2)


def curves(
    view: View, sweep: SweepRecord, cells: tuple[Cell, ...], arms: tuple[str, ...], width: int, height: int
) -> list[Line]:
    """Legend, then mean output tok/s per rung and arm over concurrency."""
    lines: list[Curve] = []
    legend: list[Span] = [Span(" output tok/s over concurrency per engine  ", "label")]
    for index, arm in enumerate(arms):
        role, marker = arm_look(index)
        legend.append(Span(f"{marker} {arm}  ", role))
        lines.append(Curve(means(cells, arm), role, marker))
    verdict = compared(sweep)
    shades: list[Shade] = []
    rules: list[Rule] = []
    if verdict is not None and verdict.crossover is not None:
        shades.append(Shade(verdict.low, verdict.high, vertical=True))
        legend.append(Span(f"░ crossover {fmt.interval(verdict.crossover, verdict.low, verdict.high)}  ", "label"))
    xs = [x for curve in lines for x, _ in curve.points]
    ys = [y for curve in lines for _, y in curve.points if y is not None]
    x = doublings(xs)
    status = view.status
    live = status.concurrency if status is not None and sweep.outcome != "running" else None
    if live is not None and status is not None:
        if live <= 0 or x.at(live) < 0 or x.at(live) > 1:
            legend.append(Span(f"live {fmt.concurrency(live)}: not in the measured range", "rule"))
        else:
            rules.append(Rule(live, vertical=True, glyph="┃", label=f"live {fmt.concurrency(live)}"))
    return [
        fit(Line(tuple(legend)), width),
        *plot(
            lines,
            x=x,
            y=linear(ys, ticks=3 if height < 10 else 5),
            width=width,
            height=height - 1,
            shades=shades,
            rules=rules,
        ),
    ]


def means(cells: tuple[Cell, ...], arm: str) -> tuple[tuple[float, float | None], ...]:
    """Per rung the mean of valid cells, in x order."""
    by_rung: dict[int, list[tuple[float, float]]] = {}
    for cell in cells:
        if cell.arm == arm and cell.valid and cell.concurrency is not None and cell.output_tok_s is not None:
            by_rung.setdefault(cell.rung, []).append((cell.concurrency, cell.output_tok_s))
    points = [(sum(x for x, _ in p) / len(p), sum(y for _, y in p) / len(p)) for p in by_rung.values()]
    return tuple(sorted(points))
