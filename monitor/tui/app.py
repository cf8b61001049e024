"""The application: polls the feed once a second, keeps one `View`, and hands it to the panes.

It decides nothing about endpoints and queries nothing but the feed; what a key does is one short method here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input

from monitor.tui.actions import ACTIONS, BY_ID, TABS, offered
from monitor.tui.dialogs import Confirm, Help
from monitor.tui.draw import alerts, endpoint, fleet, frame, helptext, sweep
from monitor.tui.feed import Feed
from monitor.tui.lines import clean, clean_lines
from monitor.tui.pane import Pane
from monitor.tui.poll import polled
from monitor.tui.theme import THEME
from monitor.tui.view import LAG_SHOWN_S, SORT_KEYS, View, alert_endpoint, firing_id, moved, older, settled
from monitor.tui.words import farewell
from monitor.values import Snapshot

POLL_S = 1.0
FEED_TIMEOUT_S = 10.0
FAR = 1_000_000
DRAWN = {"fleet": fleet.draw, "endpoint": endpoint.draw, "sweep": sweep.draw, "alerts": alerts.draw}


class SpecwatchApp(App[None]):
    """The dashboard over one feed. `clock` is wall time; the tests hold it still."""

    TITLE = "specwatch"
    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    ContentSwitcher { height: 1fr; }
    ContentSwitcher > Pane { height: 100%; }
    ToastRack { margin-bottom: 9; }
    #header, #tabs { background: $panel; }
    #footer { background: $panel; }
    #filter { height: 1; border: none; padding: 0 1; display: none; background: $panel; }
    #filter:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(action.keys), action.id, action.title, show=False, id=action.id) for action in ACTIONS
    ]

    @dataclass
    class Arrived(Message):
        """What one poll brought: a snapshot, or why there is none."""

        snapshot: Snapshot | None
        failure: str

        def can_replace(self, message: Message) -> bool:
            """A newer poll makes an unread older one pointless."""
            return isinstance(message, SpecwatchApp.Arrived)

    def __init__(
        self,
        feed: Feed,
        readonly: bool = False,
        *,
        clock: Callable[[], float] = time.time,
        goodbye: str | None = None,
    ) -> None:
        """`goodbye` replaces what is said at the end of what goes on afterwards."""
        super().__init__()
        self._goodbye = goodbye
        self.animation_level = "none"
        self._feed, self._readonly, self._clock = feed, readonly, clock
        self._view: View | None = None
        self._newest: Snapshot | None = None
        self._failure = ""
        self._came_from = "fleet"
        self._wake = asyncio.Event()

    def compose(self) -> ComposeResult:
        """Header, banners, tabs, one pane a screen, filter, footer."""
        yield Pane(lambda view, width, _: [frame.header(view, width)], id="header")
        yield Pane(lambda view, width, _: frame.banners(view, width), id="banners", hugging=True)
        yield Pane(lambda view, width, _: [frame.tabs(view, width)], id="tabs")
        with ContentSwitcher(initial="fleet", id="body"):
            for tab in TABS:
                yield Pane(DRAWN[tab], id=tab)
        yield Input(placeholder="filter: a pattern, ! inverts; enter keeps, esc clears", id="filter", disabled=True)
        yield Pane(lambda view, width, _: [frame.footer(view, width)], id="footer")

    def on_mount(self) -> None:
        """Colours, then the poll loop."""
        self.register_theme(THEME)
        self.theme = THEME.name
        self.query_one("#filter", Input).cursor_blink = False
        self._show_waiting()
        self.set_interval(POLL_S, self._show)
        self.run_worker(self._poll(), name="poll", exclusive=True, group="poll")

    async def _poll(self) -> None:
        """Fetch, tell, wait; a feed that fails or hangs is said on screen and asked again."""
        while True:
            self._wake.clear()
            self.post_message(self.Arrived(*await polled(self._feed, FEED_TIMEOUT_S)))
            try:
                await asyncio.wait_for(self._wake.wait(), POLL_S)
            except TimeoutError:
                continue

    def on_specwatch_app_arrived(self, message: Arrived) -> None:
        """One place takes new data in."""
        self._failure = message.failure
        if message.snapshot is not None:
            self._newest = message.snapshot
            if self._view is None:
                self._view = settled(View(message.snapshot, readonly=self._readonly))
            elif self._view.held_s is None:
                self._view = settled(replace(self._view, snapshot=message.snapshot))
            elif message.snapshot.at_s != self._view.snapshot.at_s:
                ahead = message.snapshot.at_s - self._view.snapshot.at_s
                new = self._view.held + (ahead != self._view.held_s)
                self._view = replace(self._view, held=new, held_s=ahead)
        self._show()

    def _show_waiting(self) -> None:
        self.query_one("#fleet", Pane).update_rows(frame.waiting(self._failure, self.size.width))

    def _show(self) -> None:
        """Give the view to what is on screen; panes repaint only rows that changed."""
        if self._view is None:
            self._show_waiting()
            return
        lag = self._clock() - self._view.snapshot.at_s
        self._view = replace(self._view, lag_s=lag if lag > LAG_SHOWN_S else 0.0, failure=self._failure)
        base = self.screen_stack[0]
        if not base.query("#footer"):
            return  # a snapshot that comes before the panes are there, or after they left, is drawn by the next
        for name in ("header", "banners", "tabs", self._view.tab, "footer"):
            base.query_one(f"#{name}", Pane).update_view(self._view)

    def _change(self, view: View) -> None:
        self._view = settled(view)
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is offered on this screen, to this person, can be run."""
        if action not in BY_ID:
            return True
        tab = self._view.tab if self._view is not None else "fleet"
        return BY_ID[action] in offered(tab, readonly=self._readonly)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette holds the action table and nothing else."""
        tab = self._view.tab if self._view is not None else "fleet"
        for action in offered(tab, readonly=self._readonly):
            if action.id != "command_palette":
                yield SystemCommand(
                    action.title, f"{action.help} ({action.shown})", partial(self.run_action, action.id)
                )

    # Screens and selection

    def _go(self, tab: str) -> None:
        if self._view is not None:
            self._came_from = "fleet"
            self._close_filter()
            self.query_one("#body", ContentSwitcher).current = tab
            self.query_one(f"#{tab}", Pane).scroll_home_rows()
            self._change(replace(self._view, tab=tab))

    def action_show_fleet(self) -> None:
        self._go("fleet")

    def action_show_endpoint(self) -> None:
        self._go("endpoint")

    def action_show_sweep(self) -> None:
        """Whoever was at an older one and comes again is told to look here for what runs now."""
        if self._view is not None:
            self._view = replace(self._view, older=None)
        self._go("sweep")

    def action_show_alerts(self) -> None:
        self._go("alerts")

    def action_open(self) -> None:
        if self._view is None:
            return
        came_from = self._view.tab
        if came_from == "alerts":
            self._change(replace(self._view, endpoint=alert_endpoint(self._view) or self._view.endpoint))
        self._go("endpoint")
        self._came_from = came_from

    async def action_back(self) -> None:
        """One level back; Textual's own would pop a screen."""
        box = self.query_one("#filter", Input)
        if not box.disabled:
            box.value = ""
            self._close_filter()
        elif self._view is not None and self._view.tab != "fleet":
            self._go(self._came_from)
        elif self._view is not None and self._view.pattern:
            self._change(replace(self._view, pattern=""))

    def _move(self, step: int) -> None:
        if self._view is not None:
            self.query_one(f"#{self._view.tab}", Pane).scroll_home_rows()
            self._change(moved(self._view, step))

    def action_down(self) -> None:
        self._move(1)

    def action_up(self) -> None:
        self._move(-1)

    def action_top(self) -> None:
        self._move(-FAR)

    def action_bottom(self) -> None:
        self._move(FAR)

    def _show_older(self, step: int) -> None:
        if self._view is not None:
            self.query_one("#sweep", Pane).scroll_home_rows()
            self._change(older(self._view, step))

    def action_older_sweep(self) -> None:
        self._show_older(1)

    def action_newer_sweep(self) -> None:
        self._show_older(-1)

    def _page(self, pages: int) -> None:
        if self._view is None:
            return
        pane = self.query_one(f"#{self._view.tab}", Pane)
        if not pane.scroll_rows(pages) and not pane.overflows:
            self._move(10 * pages if self._view.tab in ("fleet", "alerts") else 0)

    def action_page_down(self) -> None:
        self._page(1)

    def action_page_up(self) -> None:
        self._page(-1)

    def on_pane_picked(self, message: Pane.Picked) -> None:
        """A click selects, a double click opens."""
        if self._view is None:
            return
        if self._view.tab == "alerts":
            self._change(replace(self._view, alert=message.item))
        else:
            self._change(replace(self._view, endpoint=message.item))
        if message.again:
            self.action_open()

    def on_pane_wheel(self, message: Pane.Wheel) -> None:
        """The wheel moves the selection."""
        self._move(message.step)

    # Order and filter

    def action_sort(self) -> None:
        if self._view is not None:
            following = SORT_KEYS[(SORT_KEYS.index(self._view.sort) + 1) % len(SORT_KEYS)]
            self._change(replace(self._view, sort=following, reverse=False))

    def action_reverse(self) -> None:
        if self._view is not None:
            self._change(replace(self._view, reverse=not self._view.reverse))

    def action_sort_by(self, key: str) -> None:
        """A click on a column's head; again to reverse."""
        if self._view is not None:
            again = key == self._view.sort
            self._change(replace(self._view, sort=key, reverse=again and not self._view.reverse))

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.disabled, box.display = False, True
        box.focus()

    def _close_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.disabled, box.display = True, False

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        if self._view is not None and event.input.id == "filter":
            self._change(replace(self._view, pattern=event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter."""
        self._close_filter()

    # The view itself

    def action_pause_view(self) -> None:
        if self._view is None:
            return
        if self._view.held_s is None:
            self._change(replace(self._view, held_s=0.0, held=0))
        else:
            self._change(replace(self._view, held_s=None, held=0, snapshot=self._newest or self._view.snapshot))

    def action_refresh(self) -> None:
        self._wake.set()

    def action_copy(self) -> None:
        if self._view is None:
            return
        text = alerts.copied(self._view) if self._view.tab == "alerts" else fleet.copied(self._view)
        if text:
            self.copy_to_clipboard(clean_lines(text))
            self.notify(f"Copied: {text.splitlines()[0]}", markup=False)

    def action_help(self) -> None:
        if self._view is not None:
            self.push_screen(Help(self._view))

    def action_quit_view(self) -> None:
        snapshot = self._newest
        said = self._goodbye
        if said is None and snapshot is not None:
            said = farewell(snapshot.mode, snapshot.daemon)
        self.exit(message=said)

    async def action_quit(self) -> None:
        """Textual's own ctrl+q."""
        self.action_quit_view()

    def action_help_quit(self) -> None:
        """Textual's own ctrl+c."""
        self.action_quit_view()

    # Wishes

    def action_sweep_now(self) -> None:
        if self._view is None or not self._view.pool:
            return
        if why := helptext.no_sweep(self._view):
            self.notify(why, markup=False)
        else:
            self._ask(helptext.sweep_question(self._view), "Run it", "sweep", self._view.pool)

    def action_abort_sweep(self) -> None:
        if self._view is None:
            return
        if self._view.running_sweep is None:
            self.notify(f"No sweep of {self._view.pool or 'any pool'} is running.", markup=False)
        else:
            self._ask(helptext.abort_question(self._view), "Abort it", "abort", self._view.pool)

    def action_ack(self) -> None:
        if self._view is None:
            return
        alert_id = firing_id(self._view)
        if alert_id is None:
            self.notify("Nothing fires there: only an alert that fires can be acknowledged.", markup=False)
        else:
            self._send("ack", alert_id)

    def _ask(self, question: tuple[str, ...], yes: str, kind: str, subject: str) -> None:
        def answered(answer: bool | None) -> None:
            if answer:
                self._send(kind, subject)

        self.push_screen(Confirm(question, yes), answered)

    def _send(self, kind: str, subject: str) -> None:
        self.run_worker(self._request(kind, subject), group="request")

    async def _request(self, kind: str, subject: str) -> None:
        """Toasts are only for the results of one's own doing."""
        try:
            answer = await self._feed.request(kind, subject, "asked for in the viewer", {})
            self.notify(clean(answer), markup=False)
        except Exception as error:
            # The same rule as for snapshots: a wish that failed is told, never a crash.
            reason = clean(str(error)) or type(error).__name__
            self.notify(f"Could not ask for {kind} of {subject}: {reason}", severity="error", markup=False)
