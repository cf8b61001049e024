"""The first screen: which endpoint is over its crossover, by how much, since when, and how old the data is.

A headline, a table sorted worst first, and every fact of the selected row beneath it. No charts here.
"""

from __future__ import annotations

from monitor.compared import moved_in
from monitor.tui import format as fmt
from monitor.tui.draw.columns import STATE_WIDTH, body, chosen, heading
from monitor.tui.draw.frame import NARROW
from monitor.tui.lines import BLANK, Line, Span, fit, line, middle, pad, paragraph
from monitor.tui.progress import progress_text
from monitor.tui.view import View
from monitor.tui.words import (
    alert_note,
    arm_text,
    crossover_text,
    data_age,
    dimmed,
    facts,
    headline,
    now_text,
    server_text,
    sign,
    swept_text,
    why,
)
from monitor.values import EndpointStatus

EMPTY = (
    "No endpoints configured.",
    "",
    "Add one to config.toml and start `specwatch serve` again:",
    "",
    "  [[endpoint]]",
    '  name = "chat"',
    '  url = "http://127.0.0.1:8000"',
    "",
    "`specwatch check` says whether it answers; `specwatch demo` shows everything on simulated servers.",
)


def draw(view: View, width: int, height: int) -> list[Line]:
    """The whole screen."""
    if not view.snapshot.endpoints:
        return [BLANK, *(row for text in EMPTY for row in paragraph(text, width, indent=" ") or [BLANK])]
    top = _headline(view, width)
    if width < NARROW:
        return top + _window(view, [_short(view, status, width) for status in view.rows], height - len(top))
    columns = chosen(width, view)
    top.append(line(" ", *_spaced([heading(column, wide, view) for column, wide in columns])))
    rows = [
        line(
            Span("›" if status is view.status else " ", "key"),
            *_spaced([body(column, wide, view, status) for column, wide in columns]),
            item=status.name,
            selected=status is view.status,
        )
        for status in view.rows
    ]
    if not rows:
        rows = [line(Span(f" No endpoint matches /{view.pattern}/: esc clears the filter.", "warn"))]
    below = detail(view, width)[: max(0, height - len(top) - 4)] if height >= 12 else []
    shown = _window(view, rows, height - len(top) - len(below))
    return top + shown + [BLANK] * (height - len(top) - len(shown) - len(below)) + below


def _headline(view: View, width: int) -> list[Line]:
    found, text = headline(view)
    first = line(Span(f" {found.text} ", found.role), Span(f" {text}", "strong" if found.glyph == "▲" else "text"))
    if width >= len(first.text):
        return [first, BLANK]
    return [
        line(Span(f" {found.text} ", found.role)),
        *paragraph(text, width, role="strong", indent=" ", limit=2),
        BLANK,
    ]


def _spaced(spans: list[Span]) -> list[Span]:
    return [part for index, span in enumerate(spans) for part in ((Span(" "), span) if index else (span,))]


def _window(view: View, rows: list[Line], height: int) -> list[Line]:
    """As many rows as fit around the selected one, with a word on what is hidden."""
    height = max(2, height)
    if len(rows) <= height:
        return rows
    selected = next((index for index, row in enumerate(rows) if row.selected), 0)
    size = height - 1
    start = min(max(0, selected - size // 2), len(rows) - size)
    below = len(rows) - start - size
    return [*rows[start : start + size], line(Span(f"  … {start} more above, {below} more below", "dim"))]


def _short(view: View, status: EndpointStatus, width: int) -> Line:
    """One endpoint on a screen too narrow for a table."""
    found = sign(view, status)
    numbers = f"{fmt.concurrency(status.concurrency)}/{crossover_text(view, status)} {fmt.age(data_age(view, status))}"
    room = max(6, width - STATE_WIDTH - len(numbers) - 3)
    return fit(
        line(
            Span("›" if status is view.status else " ", "key"),
            Span(pad(found.text, STATE_WIDTH), found.role),
            Span(f" {pad(middle(status.name, room), room)} ", "strong"),
            Span(numbers, "dim" if dimmed(view, status) else "text"),
            item=status.name,
            selected=status is view.status,
        ),
        width,
    )


def detail(view: View, width: int) -> list[Line]:
    """Every fact of the selected endpoint, most needed first, so that dropped columns are not lost."""
    status = view.status
    if status is None:
        return []
    crossover = status.crossover
    role = "dim" if dimmed(view, status) else "text"
    found = sign(view, status)
    live = f"crossover: {crossover_text(view, status)}"
    if crossover is not None:
        old = f"{fmt.age(crossover.age_s)} old (sweep {crossover.sweep_id}{', EXPIRED' if crossover.expired else ''})"
        live = f"crossover of {crossover.for_arm}: {crossover_text(view, status)}, "
        live += f"swept {swept_text(crossover)} {old}" if moved_in(status) else old
    arm = f"arm {arm_text(status)} · "
    arm += now_text(status) or f"acceptance {fmt.number(status.acceptance_length, 2)}"
    numbers = (
        f"speedup now {fmt.band(status.speedup_now)} · {fmt.tok_s(status.output_tok_s)} out · "
        f"TTFT p50 {fmt.milliseconds(status.ttft_p50_ms)} p99 {fmt.milliseconds(status.ttft_p99_ms)}"
    )
    rows = [
        line(Span("─" * width, "axis")),
        line(
            Span(f" {status.name}", "strong"),
            Span("  "),
            Span(found.text, found.role),
            Span(f"  pool {status.pool} · {server_text(status)}", "label"),
        ),
        *paragraph(progress_row(view, status), width, role="note", indent=" ", limit=1),
        *paragraph(f"{why(view, status)}. {alert_note(view, status)}", width, indent=" ", limit=3),
        *paragraph(f"{live} · {arm}", width, role=role, indent=" ", limit=3),
        *paragraph(numbers, width, role=role, indent=" ", limit=2),
    ]
    return [fit(row, width) for row in rows]


def progress_row(view: View, status: EndpointStatus) -> str:
    """How far the pool's running sweep is, and where more of it is seen."""
    far = progress_text(view.sweep_of(status))
    return f"{far}: 3 shows it" if far else ""


def copied(view: View) -> str:
    """What `y` copies."""
    return facts(view, view.status) if view.status is not None else ""
