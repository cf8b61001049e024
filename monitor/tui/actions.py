"""The one table of what a person can do: bindings, footer, help, palette and the tests are derived from it.

Holds no behaviour: `app.py` has one `action_<id>` method for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

TABS = ("fleet", "endpoint", "sweep", "alerts")


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do. `keys` are Textual key names, the first is the one shown."""

    id: str
    keys: tuple[str, ...]
    shown: str
    title: str
    help: str
    tabs: tuple[str, ...] = TABS
    writes: bool = False
    """Asks the daemon to do something; hidden under --readonly."""
    footer: tuple[str, ...] = ()
    """The screens whose footer names it."""


ACTIONS: tuple[Action, ...] = (
    Action("show_fleet", ("1",), "1", "Fleet", "every endpoint against its crossover, worst headroom first"),
    Action("show_endpoint", ("2",), "2", "Endpoint", "the selected endpoint: charts, engines, why the verdict"),
    Action("show_sweep", ("3",), "3", "Sweep", "the selected pool's sweeps, the newest first: curves, interval, cells"),
    Action("show_alerts", ("4",), "4", "Alerts", "firing and pending, history, delivery"),
    Action("open", ("enter",), "enter", "Open", "drill into the selected row", ("fleet", "alerts"), footer=TABS),
    Action("back", ("escape",), "esc", "Back", "one level back; clears a filter; never quits", footer=TABS[1:]),
    Action("down", ("j", "down"), "j ↓", "Down", "next row, endpoint or pool"),
    Action("up", ("k", "up"), "k ↑", "Up", "previous row, endpoint or pool"),
    Action("top", ("g", "home"), "g", "First", "first row, endpoint or pool"),
    Action("bottom", ("G", "end"), "G", "Last", "last row, endpoint or pool"),
    Action("older_sweep", ("left_square_bracket",), "[", "Older", "the sweep before this one", ("sweep",), footer=TABS),
    Action("newer_sweep", ("right_square_bracket",), "]", "Newer", "the sweep after this one", ("sweep",), footer=TABS),
    Action("page_down", ("pagedown", "ctrl+f"), "pgdn", "Page down", "scroll what does not fit"),
    Action("page_up", ("pageup", "ctrl+b"), "pgup", "Page up", "scroll back"),
    Action("filter", ("slash",), "/", "Filter", "keep rows that match a pattern; ! inverts", ("fleet",), footer=TABS),
    Action(
        "sort", ("s",), "s", "Sort", "next sort key: headroom, name, concurrency, speedup, age", ("fleet",), footer=TABS
    ),
    Action("reverse", ("S",), "S", "Reverse", "reverse the sort order", ("fleet",)),
    Action("pause_view", ("p", "space"), "p", "Pause", "freeze the view; watching goes on", footer=TABS),
    Action("refresh", ("r",), "r", "Refresh", "ask for a snapshot now"),
    Action("copy", ("y",), "y", "Copy", "copy the selected row's facts to the clipboard (OSC 52, works over ssh)"),
    Action(
        "sweep_now",
        ("R",),
        "R",
        "Run sweep",
        "ask for a sweep of the selected pool; says first what it does to production",
        ("fleet", "endpoint", "sweep"),
        writes=True,
        footer=TABS,
    ),
    Action(
        "abort_sweep",
        ("X",),
        "X",
        "Abort sweep",
        "stop the running sweep of the selected pool",
        ("fleet", "endpoint", "sweep"),
        writes=True,
        footer=TABS,
    ),
    Action(
        "ack",
        ("a",),
        "a",
        "Acknowledge",
        "say that somebody looks after the selected alert, or the selected endpoint's",
        writes=True,
        footer=("alerts",),
    ),
    Action("help", ("question_mark", "f1"), "?", "Help", "this list", footer=TABS),
    Action("command_palette", ("ctrl+p", "colon"), "ctrl+p", "Palette", "find an action by its name"),
    Action(
        "quit_view",
        ("q", "ctrl+c"),
        "q",
        "Quit",
        "close the viewer; a daemon goes on, unless `watch --serve` started it",
        footer=TABS,
    ),
)
BY_ID = {action.id: action for action in ACTIONS}


def offered(tab: str, *, readonly: bool) -> tuple[Action, ...]:
    """What makes sense on this screen for this person."""
    return tuple(action for action in ACTIONS if tab in action.tabs and not (readonly and action.writes))
