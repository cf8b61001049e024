"""Charts in braille dots: curves, markers, a shaded interval and rules, as rows of spans.

Pure Python on purpose: a frame costs about a millisecond, plotting libraries cost ten to ninety. Later curves are drawn
over earlier ones, so the baseline comes first; arms differ by marker as well as by colour. A gap stays a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.tui.lines import BLANK, Line, Span, pad
from monitor.tui.scale import Scale

GUTTER = 6
"""Cells for the y labels, the axis itself included."""
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
SHADE = "░"

Point = tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in x order; None breaks the line. Markers are drawn at each point, `joined` draws between them."""

    points: tuple[Point, ...]
    role: str
    marker: str = ""
    joined: bool = True
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class Shade:
    """An interval of one axis; an open edge (None) runs to the end of the axis."""

    low: float | None
    high: float | None
    vertical: bool
    """True: an interval of x."""
    role: str = "band"


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line at one value, with a label in the chart where it fits."""

    at: float
    vertical: bool
    role: str = "rule"
    label: str = ""
    glyph: str = ""


class _Grid:
    """The cells of one chart under construction."""

    def __init__(self, width: int, height: int, x: Scale, y: Scale) -> None:
        self.width, self.height, self.x, self.y = width, height, x, y
        self.bits = [[0] * width for _ in range(height)]
        self.glyphs: list[list[str]] = [[" "] * width for _ in range(height)]
        self.roles: list[list[str]] = [["text"] * width for _ in range(height)]

    def column(self, value: float) -> float:
        return self.x.at(value) * (self.width * 2 - 1)

    def row(self, value: float) -> float:
        return (1.0 - self.y.at(value)) * (self.height * 4 - 1)

    def put(self, column: int, row: int, glyph: str, role: str) -> None:
        if 0 <= column < self.width and 0 <= row < self.height:
            self.glyphs[row][column], self.roles[row][column] = glyph, role

    def dot(self, dot_x: int, dot_y: int, role: str) -> None:
        column, row = dot_x // 2, dot_y // 4
        if 0 <= column < self.width and 0 <= row < self.height:
            self.bits[row][column] |= DOTS[dot_y % 4][dot_x % 2]
            self.glyphs[row][column] = chr(0x2800 + self.bits[row][column])
            self.roles[row][column] = role


def plot(
    curves: Sequence[Curve],
    *,
    x: Scale,
    y: Scale,
    width: int,
    height: int,
    shades: Sequence[Shade] = (),
    rules: Sequence[Rule] = (),
) -> list[Line]:
    """`height` rows of `width` cells: the chart, its y labels on the left, its x labels in the last row."""
    if width < GUTTER + 8 or height < 3:
        return [BLANK] * height
    grid = _Grid(width - GUTTER, height - 1, x, y)
    for shade in shades:
        _shade(grid, shade)
    for rule in rules:
        _rule(grid, rule)
    for curve in curves:
        _join(grid, curve)
    for curve in curves:
        _mark(grid, curve)
    labels = _y_labels(grid)
    rows = [
        Line(
            (
                Span(labels.get(index, " " * (GUTTER - 1)) + ("┤" if index in labels else "│"), "axis"),
                *_runs(grid, index),
            )
        )
        for index in range(grid.height)
    ]
    return [*rows, Line((Span(" " * GUTTER + _x_labels(grid), "axis"),))]


def _shade(grid: _Grid, shade: Shade) -> None:
    for row in range(grid.height):
        for column in range(grid.width):
            if shade.vertical:
                low = -1.0 if shade.low is None else grid.column(shade.low)
                high = grid.width * 2.0 if shade.high is None else grid.column(shade.high)
                inside = low - 0.5 <= column * 2 + 0.5 <= high + 0.5
            else:
                top = -1.0 if shade.high is None else grid.row(shade.high)
                bottom = grid.height * 4.0 if shade.low is None else grid.row(shade.low)
                inside = top - 1.5 <= row * 4 + 1.5 <= bottom + 1.5
            if inside:
                grid.put(column, row, SHADE, shade.role)


def _rule(grid: _Grid, rule: Rule) -> None:
    position = grid.column(rule.at) if rule.vertical else grid.row(rule.at)
    if rule.vertical:
        column = round(position) // 2
        if not 0 <= column < grid.width:
            return
        for row in range(grid.height):
            grid.put(column, row, rule.glyph or "│", rule.role)
        start = column + 2 if column + 2 + len(rule.label) <= grid.width else column - 1 - len(rule.label)
        _label(grid, start, grid.height - 1, rule)
    else:
        row = round(position) // 4
        for column in range(grid.width):
            grid.put(column, row, rule.glyph or "╌", rule.role)
        _label(grid, 1, row, rule)


def _label(grid: _Grid, start: int, row: int, rule: Rule) -> None:
    for offset, letter in enumerate(rule.label):
        grid.put(start + offset, row, letter, rule.role)


def _segments(grid: _Grid, curve: Curve) -> Iterator[tuple[float, float, float, float]]:
    previous: tuple[float, float] | None = None
    for at, value in curve.points:
        if value is None:
            previous = None
            continue
        current = (grid.column(at), grid.row(value))
        yield (*(previous or current), *current)
        previous = current if curve.joined else None


def _join(grid: _Grid, curve: Curve) -> None:
    for x0, y0, x1, y1 in _segments(grid, curve):
        steps = max(1, round(max(abs(x1 - x0), abs(y1 - y0))))
        for step in range(steps + 1):
            dot_x, dot_y = round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)
            if not curve.dotted or dot_x % 3 == 0:
                grid.dot(dot_x, dot_y, curve.role)


def _mark(grid: _Grid, curve: Curve) -> None:
    if not curve.marker:
        return
    for at, value in curve.points:
        if value is not None:
            grid.put(round(grid.column(at)) // 2, round(grid.row(value)) // 4, curve.marker, curve.role)


def _y_labels(grid: _Grid) -> dict[int, str]:
    labels: dict[int, str] = {}
    for tick in grid.y.ticks:
        row = round(grid.row(tick)) // 4
        if 0 <= row < grid.height and row not in labels:
            labels[row] = pad(grid.y.label(tick), GUTTER - 1, right=True)
    return labels


def _x_labels(grid: _Grid) -> str:
    row = [" "] * grid.width
    end = -1
    for tick in grid.x.ticks:
        text = grid.x.label(tick)
        column = round(grid.column(tick)) // 2
        start = min(max(0, column - len(text) // 2), grid.width - len(text))
        if start > end and 0 <= column <= grid.width:
            row[start : start + len(text)] = text
            end = start + len(text)
    return "".join(row)


def _runs(grid: _Grid, row: int) -> Iterator[Span]:
    start = 0
    roles = grid.roles[row]
    for column in range(1, grid.width + 1):
        if column == grid.width or roles[column] != roles[start]:
            yield Span("".join(grid.glyphs[row][start:column]), roles[start])
            start = column
