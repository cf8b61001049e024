"""Windows over the screens: the help, and the question before anything that touches production.

The safe answer has the focus; a dialog decides nothing itself, it only answers yes or no.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from monitor.tui.draw.helptext import help_lines
from monitor.tui.pane import Pane
from monitor.tui.view import View


class Confirm(ModalScreen[bool]):
    """A question with its consequences; enter takes the focused answer, which at first is the safe one."""

    CSS = """
    Confirm { align: center middle; }
    Confirm > Vertical { width: 72; max-width: 96%; height: auto; max-height: 96%; border: round #f0e442;
        background: $panel; padding: 0 2; overflow-y: auto; scrollbar-size-vertical: 1; }
    Confirm .title { color: #f0e442; text-style: bold; }
    Confirm Static { margin-bottom: 1; }
    Confirm Horizontal { dock: bottom; height: 1; align-horizontal: right; }
    Confirm Button { margin-left: 2; min-width: 12; height: 1; border: none; }
    Confirm Button:focus { text-style: bold reverse; border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
        Binding("left,right,h,l,tab", "app.focus_next", "Other answer"),
        Binding("down,j,pagedown", "page(1)", "Down"),
        Binding("up,k,pageup", "page(-1)", "Up"),
    ]
    AUTO_FOCUS = "#no"

    def __init__(self, text: Sequence[str], yes: str) -> None:
        super().__init__()
        self._text, self._yes = text, yes

    def compose(self) -> ComposeResult:
        """The question, what will happen, two answers; a small screen scrolls the words and keeps the answers."""
        with Vertical():
            yield Static(self._text[0], classes="title", markup=False)
            for part in self._text[1:]:
                yield Static(part, markup=False)
            with Horizontal():
                yield Button("Cancel \\[n]", id="no")
                yield Button(f"{self._yes} \\[y]", id="yes", variant="warning")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Either button answers."""
        self.dismiss(event.button.id == "yes")

    def action_page(self, pages: int) -> None:
        """Scroll."""
        words = self.query_one(Vertical)
        words.scroll_relative(y=pages * max(1, words.size.height - 2), animate=False)

    def action_answer(self, answer: bool) -> None:
        """A key answers."""
        self.dismiss(answer)


class Help(ModalScreen[None]):
    """Keys, signs and columns of the screen it was opened on."""

    CSS = """
    Help { align: center middle; }
    Help > Vertical { width: 96%; max-width: 100; height: 96%; border: round #9aa7b8; background: $panel; }
    Help Pane { height: 1fr; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter,f1", "close", "Close"),
        Binding("pagedown,space,j,down", "page(1)", "Down"),
        Binding("pageup,k,up", "page(-1)", "Up"),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        """One scrolling pane."""
        with Vertical() as frame:
            frame.border_title = "help"
            frame.border_subtitle = "esc closes, pgdn scrolls"
            yield Pane(lambda view, width, _: help_lines(view, width), id="help_pane")

    def on_mount(self) -> None:
        """Fill the pane."""
        self.query_one(Pane).update_view(self._view)

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)

    def action_page(self, pages: int) -> None:
        """Scroll."""
        self.query_one(Pane).scroll_rows(pages)
