"""The second screen: why one endpoint gets its verdict, with its recent past beside its crossover.

Charts of concurrency, output, acceptance and TTFT over the history that the snapshot holds, then reasons and engines.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from monitor.compared import compared_in, moved_in
from monitor.tui import format as fmt
from monitor.tui.draw.fleet import EMPTY
from monitor.tui.lines import BLANK, GLUE, Line, Span, beside, fit, line, pad, paragraph
from monitor.tui.plot import Curve, Point, Rule, Shade, plot
from monitor.tui.scale import linear, recent
from monitor.tui.view import View, above_since_s
from monitor.tui.words import (
    alert_note,
    arm_text,
    crossover_text,
    data_age,
    dimmed,
    now_text,
    sign,
    swept_text,
    why,
)
from monitor.values import EndpointStatus, Sample

MIN_CHARTS = 10
"""Rows for both rows of charts on a small screen; with less the curves say nothing, and the tables scroll instead."""
GAP_FACTOR = 2.5
"""Two samples further apart than this many usual steps have a gap between them."""


def draw(view: View, width: int, height: int) -> list[Line]:
    """The whole screen; rows beyond `height` scroll."""
    status = view.status
    if status is None:
        return [BLANK, *(row for text in EMPTY for row in paragraph(text, width, indent=" ") or [BLANK])]
    top = [_title(view, status, width), *_why(view, status, width)]
    tables = engines(status, width)
    room = height - len(top) - len(tables)
    return [*top, *_charts(view, status, width, max(room, MIN_CHARTS)), *tables]


def _title(view: View, status: EndpointStatus, width: int) -> Line:
    found = sign(view, status)
    position = [s.name for s in view.rows].index(status.name) + 1 if status in view.rows else 0
    since = above_since_s(view, status) if found.glyph == "▲" else None
    return fit(
        line(
            Span(f" {status.name} ", "strong"),
            Span(f" {found.text} ", found.role),
            Span(f" since {fmt.minute(since, view.snapshot.at_s)}" if since is not None else "", "text"),
            Span(
                f"  pool {status.pool} · data {fmt.age(data_age(view, status))} old",
                "bad" if dimmed(view, status) else "label",
            ),
            Span(f" · {position} of {len(view.rows)}", "dim"),
        ),
        width,
    )


def _why(view: View, status: EndpointStatus, width: int) -> list[Line]:
    crossover = status.crossover
    rows = paragraph(f"{why(view, status)}. {alert_note(view, status)}", width, indent=" ", limit=3)
    version = " ".join(part for part in (status.engine_kind or "", status.version or "") if part) or "engine unknown"
    drafting = {True: "drafting", False: "not drafting", None: "drafting unknown"}[status.drafting]
    arm = f"live arm {arm_text(status)}" + (f" ({status.live_arm_reason})" if status.live_arm_reason else "")
    swept = (
        "no crossover to compare with"
        if crossover is None
        else f"crossover of {crossover.for_arm} "
        + (f"as of now {crossover_text(view, status)}, swept " if moved_in(status) else "")
        + f"{swept_text(crossover)}, {fmt.age(crossover.age_s)} old"
        + (", EXPIRED" if crossover.expired else "")
    )
    band = f"speedup{GLUE}{fmt.band(status.speedup_now)} · headroom{GLUE}{fmt.ratio(status.headroom)}"
    observed = status.as_of_now.observed if status.as_of_now is not None else None
    if observed is not None:
        band += f" · observed{GLUE}{fmt.band(observed)}"
    return [
        *rows,
        *paragraph(f"{swept} · {band}", width, indent=" ", limit=2),
        *paragraph(now_text(status), width, indent=" ", limit=2),
        *paragraph(f"{arm} · {drafting} · {version}", width, role="label", indent=" ", limit=2),
    ]


def _charts(view: View, status: EndpointStatus, width: int, height: int) -> list[Line]:
    samples = view.snapshot.history.get(status.name, ())
    if not samples:
        return [
            BLANK,
            *paragraph("No history yet: the charts fill as readings arrive.", width, role="dim", indent=" "),
            BLANK,
        ]
    across = 4 if width >= 160 and height < 30 else 2
    chart_width = (width - across + 1) // across
    chart_height = height if across == 4 else height // 2
    drawn = [
        _chart(view, status, samples, key, chart_width, chart_height)
        for key in ("concurrency", "output_tok_s", "acceptance_length", "ttft_p50_ms")
    ]
    if across == 4:
        return beside(
            beside(beside(drawn[0], drawn[1], chart_width), drawn[2], 2 * chart_width + 1),
            drawn[3],
            3 * chart_width + 2,
        )
    return [*beside(drawn[0], drawn[1], chart_width), *beside(drawn[2], drawn[3], chart_width)]


def _chart(
    view: View, status: EndpointStatus, samples: tuple[Sample, ...], key: str, width: int, height: int
) -> list[Line]:
    titles = {
        "concurrency": ("concurrency/engine", fmt.concurrency(status.concurrency)),
        "output_tok_s": ("output tok/s", fmt.number(status.output_tok_s)),
        "acceptance_length": ("acceptance length", fmt.number(status.acceptance_length, 2)),
        "ttft_p50_ms": ("TTFT p50", fmt.milliseconds(status.ttft_p50_ms)),
    }
    name, now = titles[key]
    role = "label" if status.drafting is False else "on"
    live = _points(samples, key, in_sweep=False)
    loaded = _points(samples, key, in_sweep=True)
    values = [value for _, value in (*live, *loaded) if value is not None]
    shades: list[Shade] = []
    rules: list[Rule] = []
    note = ""
    crossover = compared_in(status)
    even = status.as_of_now.break_even if status.as_of_now is not None else None
    if key == "acceptance_length" and even is not None:
        values += [even.low, even.ratio, even.high]
        shades = [Shade(even.low, even.high, vertical=False)]
        rules = [Rule(even.ratio, vertical=False)]
        note = f" ░ pays ≥{even.ratio:.2f}"
    if key == "concurrency" and crossover is not None and crossover.value is not None:
        edges = [edge for edge in (crossover.low, crossover.value, crossover.high) if edge is not None]
        if values and min(edges) > 4 * max(values):
            note = f" crossover {fmt.edge(crossover.value)}: far above"
        else:
            values += edges
            shades = [Shade(crossover.low, crossover.high, vertical=False)]
            rules = [Rule(crossover.value, vertical=False)]
            note = f" ░ {crossover_text(view, status)}"
    if key == "concurrency" and len(f" {name} {now}{note}") > width:
        name = "conc/engine"
    title = fit(line(Span(f" {name} ", "label"), Span(now, "strong"), Span(note, "dim")), width)
    if not values:
        return [title, line(Span("   not known in this span", "dim")), *([BLANK] * max(0, height - 2))]
    y = linear(values, floor=1.0 if key == "acceptance_length" else 0.0, ticks=3 if height < 9 else 5)
    curves = [Curve(loaded, "note", dotted=True), Curve(live, "dim" if dimmed(view, status) else role)]
    x = recent(samples[0].at_s, view.snapshot.at_s)
    return [title, *plot(curves, x=x, y=y, width=width, height=height - 1, shades=shades, rules=rules)]


def _points(samples: tuple[Sample, ...], key: str, *, in_sweep: bool) -> tuple[Point, ...]:
    """Samples of live load or of sweep load, with a break wherever one is missing."""
    step = median([b.at_s - a.at_s for a, b in pairwise(samples)]) if len(samples) > 1 else 0.0
    points: list[Point] = []
    last: float | None = None
    for sample in samples:
        if last is not None and sample.at_s - last > GAP_FACTOR * step:
            points.append((last, None))
        points.append((sample.at_s, getattr(sample, key) if sample.in_sweep is in_sweep else None))
        last = sample.at_s
    return tuple(points)


def engines(status: EndpointStatus, width: int) -> list[Line]:
    """One row per engine, busiest first: batch limits apply per engine, never to their sum."""
    if not status.engines:
        return [line(Span(" no engine seen", "dim"))]
    heads = (("engine", 8), ("conc", 7), ("running", 8), ("waiting", 8), ("KV used", 8), ("out tok/s", 10))
    rows = [line(" ", *(Span(pad(text, size, right=index > 0), "head") for index, (text, size) in enumerate(heads)))]
    for engine in sorted(status.engines, key=lambda e: (-(e.concurrency or 0.0), e.engine)):
        cells = (
            engine.engine,
            fmt.concurrency(engine.concurrency),
            fmt.number(engine.running),
            fmt.number(engine.waiting),
            fmt.percent(engine.kv_usage),
            fmt.number(engine.output_tok_s),
        )
        busiest = len(status.engines) > 1 and engine.engine == status.busiest_engine
        rows.append(
            fit(
                line(
                    " ",
                    *(
                        Span(pad(text, size, right=index > 0))
                        for index, (text, (_, size)) in enumerate(zip(cells, heads, strict=True))
                    ),
                    Span("  ‹ busiest, compared" if busiest else "", "warn"),
                ),
                width,
            )
        )
    return rows
