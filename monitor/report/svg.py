"""Lines, bands, rules and axes as inline SVG; colours are CSS classes of the page, so that light and dark both work.

It knows nothing of crossovers: `charts.py` says what is drawn. Widths are pixels of the viewBox; the page scales it.
The few attributes beside the classes are for readers (mail, PDF) that know no style sheet inside a drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from monitor.tui.scale import Scale

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 96, 16, 44
LABEL_GAP = 14.0
"""Labels at the lines' ends keep this distance."""


@dataclass(slots=True)
class Chart:
    """One chart under construction; what is added later lies on top."""

    x: Scale
    y: Scale
    x_title: str
    y_title: str
    parts: list[str] = field(default_factory=list)
    labels: list[tuple[float, str, str]] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of one point, kept inside the frame."""
        right, high = min(1.0, max(0.0, self.x.at(x))), min(1.0, max(0.0, self.y.at(y)))
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - high * (HEIGHT - TOP - BOTTOM)

    def band(self, points: Sequence[tuple[float, float, float]], css: str) -> None:
        """A filled band through (x, low, high)."""
        if len(points) < 2:
            return
        edge = [self.at(x, high) for x, _, high in points] + [self.at(x, low) for x, low, _ in reversed(points)]
        self.parts.append(f'<polygon class="band {css}" fill-opacity=".18" points="{_points(edge)}"/>')

    def line(self, points: Sequence[tuple[float, float]], css: str, label: str = "", *, marks: bool = False) -> None:
        """A line through (x, y), named at its right end; `marks` puts a dot on every point."""
        pixels = [self.at(x, y) for x, y in points]
        if len(pixels) > 1:
            self.parts.append(
                f'<polyline class="line {css}" fill="none" stroke="currentColor" points="{_points(pixels)}"/>'
            )
        if marks or len(pixels) == 1:
            self.parts += [f'<circle class="dot {css}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in pixels]
        if label and pixels:
            self.labels.append((pixels[-1][1], label, css))

    def shade(self, low: float | None, high: float | None, css: str, *, vertical: bool) -> None:
        """A stretch of one axis; an open edge (None) runs to the end of the axis."""
        scale = self.x if vertical else self.y
        first, last = (scale.low if low is None else low), (scale.high if high is None else high)
        x0, y0 = self.at(first, self.y.low) if vertical else self.at(self.x.low, last)
        x1, y1 = self.at(last, self.y.high) if vertical else self.at(self.x.high, first)
        self.parts.append(
            f'<rect class="shade {css}" fill-opacity=".3" x="{x0:.1f}" y="{min(y0, y1):.1f}" '
            f'width="{abs(x1 - x0):.1f}" height="{abs(y1 - y0):.1f}"/>'
        )

    def rule(self, at: float, css: str, label: str = "", *, vertical: bool, lower: bool = False) -> None:
        """A straight line across the frame with a label at its head, a line `lower` where another one is there."""
        x0, y0 = self.at(at, self.y.low) if vertical else self.at(self.x.low, at)
        x1, y1 = self.at(at, self.y.high) if vertical else self.at(self.x.high, at)
        self.parts.append(f'<line class="rule {css}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')
        if label:
            flip = vertical and x1 > WIDTH - RIGHT - 160
            anchor = ' text-anchor="end"' if flip else ""
            x, y = ((x1 - 5 if flip else x1 + 5), y1 + (26 if lower else 11)) if vertical else (x0 + 5, y0 - 5)
            self.parts.append(f'<text class="note {css}" x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(label)}</text>')

    def svg(self, title: str, description: str) -> str:
        """The whole element; `description` is for those who do not see it."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
            f"{''.join(self._axes())}{''.join(self.parts)}{''.join(self._ends())}</svg>"
        )

    def _axes(self) -> list[str]:
        drawn = []
        bottom = HEIGHT - BOTTOM
        for tick in self.x.ticks:
            if self.x.low <= tick <= self.x.high:
                x, _ = self.at(tick, self.y.low)
                drawn.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}"/>')
                drawn.append(
                    f'<text class="tick" x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">'
                    f"{escape(self.x.label(tick))}</text>"
                )
        for tick in self.y.ticks:
            if self.y.low <= tick <= self.y.high:
                _, y = self.at(self.x.low, tick)
                drawn.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
                drawn.append(
                    f'<text class="tick" x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">'
                    f"{escape(self.y.label(tick))}</text>"
                )
        middle = (LEFT + WIDTH - RIGHT) / 2
        drawn.append(
            f'<text class="tick" x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(self.x_title)}</text>'
        )
        across = (TOP + bottom) / 2
        drawn.append(
            f'<text class="tick" transform="translate(14 {across:.0f}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.y_title)}</text>"
        )
        return drawn

    def _ends(self) -> list[str]:
        """Names at the lines' right ends, pushed apart downwards, and all back up where they leave the frame."""
        placed = sorted(self.labels)
        heights: list[float] = []
        for y, _, _ in placed:
            heights.append(max(y, heights[-1] + LABEL_GAP) if heights else y)
        over = max(0.0, heights[-1] - (HEIGHT - BOTTOM)) if heights else 0.0
        return [
            f'<text class="end {css}" x="{WIDTH - RIGHT + 7}" y="{y - over + 4:.1f}">{escape(label)}</text>'
            for y, (_, label, css) in zip(heights, placed, strict=True)
        ]


def _points(pixels: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
