"""The one widget that paints lines: it redraws only rows that changed, scrolls what does not fit, and reports clicks.

It is told what to show and never asks anybody; what the rows say is made in `draw/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from monitor.tui.lines import Line, Span, clean, fit, line
from monitor.tui.theme import ROLES, SELECTED
from monitor.tui.view import View

Draw = Callable[[View, int, int], list[Line]]


class Pane(Widget):
    """Rows drawn by a pure function of the view and the pane's size."""

    DEFAULT_CSS = """
    Pane { height: 1; width: 100%; }
    """

    @dataclass
    class Picked(Message):
        """A row was clicked; `again` where it was a double click."""

        item: str
        again: bool

    @dataclass
    class Wheel(Message):
        """The wheel turned over rows that all fit."""

        step: int

    def __init__(self, draw: Draw, *, id: str | None = None, hugging: bool = False) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._view: View | None = None
        self._rows: list[Line] = []
        self._first = 0
        self._hugging = hugging
        """As high as its rows, absent without rows (banners)."""

    def update_view(self, view: View) -> None:
        """Show this view; rows that stay the same are not painted again."""
        self._view = view
        width, height = self.size.width or self.app.size.width, self.size.height
        rows = self._draw(view, width, height)
        if self._hugging:
            self.display = bool(rows)
            if self.styles.height is None or self.styles.height.value != max(1, len(rows)):
                self.styles.height = max(1, len(rows))
        self.update_rows(rows)

    def update_rows(self, rows: list[Line]) -> None:
        """Replace the rows and repaint those that differ."""
        before = [self._visible(y) for y in range(self.size.height)]
        self._rows = rows
        self._first = min(self._first, self._last_first)
        changed = [Region(0, y, self.size.width, 1) for y, old in enumerate(before) if self._visible(y) != old]
        if changed:
            self.refresh(*changed)

    def scroll_rows(self, pages: int) -> bool:
        """Scroll by whole pages; False where everything is in view."""
        first = min(max(0, self._first + pages * max(1, self.size.height - 2)), self._last_first)
        moved = first != self._first
        self._first = first
        if moved:
            self.refresh()
        return moved

    @property
    def overflows(self) -> bool:
        """There are more rows than fit."""
        return self._last_first > 0

    def scroll_home_rows(self) -> None:
        """Back to the first row."""
        if self._first:
            self._first = 0
            self.refresh()

    @property
    def _last_first(self) -> int:
        return max(0, len(self._rows) - self.size.height)

    def _visible(self, y: int) -> Line | None:
        hidden = self._last_first - self._first
        if hidden > 0 and y == self.size.height - 1:
            return line(Span(f" ↓ {hidden + 1} more rows: pgdn", "dim"))
        index = self._first + y
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def render_line(self, y: int) -> Strip:
        """One row as Textual wants it."""
        width = self.size.width
        row = self._visible(y)
        base = self.rich_style + ROLES["text"]
        if row is None:
            return Strip.blank(width, base)
        if row.selected:
            base += SELECTED
        segments = [Segment(clean(span.text), _style(base, span, row)) for span in fit(row, width).spans]
        return Strip(segments).adjust_cell_length(width, base)

    def on_resize(self, event: events.Resize) -> None:
        """Draw again for the new size."""
        if self._view is not None:
            self.update_view(self._view)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Rows with an item can be picked; clicks on a span's own action are Textual's business."""
        row = self._visible(event.y)
        if row is not None and row.item:
            self.post_message(self.Picked(row.item, event.chain > 1))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll, or move the selection where everything fits."""
        if not self.scroll_rows(1):
            self.post_message(self.Wheel(1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll back, or move the selection where everything fits."""
        if not self.scroll_rows(-1):
            self.post_message(self.Wheel(-1))


def _style(base: Style, span: Span, row: Line) -> Style:
    style = base + ROLES[span.role]
    if row.selected and ROLES[span.role].bgcolor is None:
        style += SELECTED
    return style + Style(meta={"@click": span.action}) if span.action else style
