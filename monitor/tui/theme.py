"""The colours of the roles, chosen to stay apart for colour-blind eyes; no meaning rests on colour alone.

Blue and orange for the baseline and the speculating arms (Okabe-Ito), red only for what needs a person.
"""

from __future__ import annotations

from rich.style import Style
from textual.theme import Theme

BACKGROUND = "#11151c"
PANEL = "#1b222d"

ROLES: dict[str, Style] = {
    "text": Style(color="#d8dee9"),
    "strong": Style(color="#ffffff", bold=True),
    "dim": Style(color="#7b8798"),
    "label": Style(color="#9aa7b8"),
    "head": Style(color="#9aa7b8", bold=True),
    "sorted": Style(color="#ffffff", bold=True, underline=True),
    "good": Style(color="#5fd7a7"),
    "warn": Style(color="#f0e442"),
    "note": Style(color="#cc9ae0"),
    "bad": Style(color="#ff7b72", bold=True),
    "alarm": Style(color="#ffffff", bgcolor="#c1121f", bold=True),
    "banner": Style(color="#11151c", bgcolor="#f0e442", bold=True),
    "off": Style(color="#56b4e9"),
    "on": Style(color="#e69f00"),
    "third": Style(color="#5fd7a7"),
    "fourth": Style(color="#cc9ae0"),
    "band": Style(color="#5c6370"),
    "rule": Style(color="#f0e442"),
    "axis": Style(color="#7b8798"),
    "tab": Style(color="#9aa7b8"),
    "tab_on": Style(color="#11151c", bgcolor="#d8dee9", bold=True),
    "key": Style(color="#ffffff", bold=True),
}
SELECTED = Style(bgcolor="#263344", bold=True)

ARM_ROLES = ("on", "third", "fourth")
ARM_MARKERS = ("■", "◆", "▲")

THEME = Theme(
    name="specwatch",
    primary="#56b4e9",
    secondary="#e69f00",
    warning="#f0e442",
    error="#ff7b72",
    success="#5fd7a7",
    foreground="#d8dee9",
    background=BACKGROUND,
    surface=PANEL,
    panel=PANEL,
    dark=True,
)
