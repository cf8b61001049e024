"""The fleet table's columns: what each shows, how wide it is, and the order in which they give way to a narrow screen.

Drop order, first to go: pool, the speedup's band, acceptance, crossover age, arm, speedup. Endpoint, state,
concurrency, crossover, headroom and data age never go;
the endpoint's name gives way instead. Wide screens give what is left to the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from monitor.tui import format as fmt
from monitor.tui.lines import Span, middle, pad
from monitor.tui.view import View
from monitor.tui.words import arm_text, crossover_text, data_age, dimmed, sign
from monitor.values import EndpointStatus

Cell = Callable[[View, EndpointStatus], tuple[str, str]]
"""Text and role."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `keep` is its rank: the lowest rank is dropped first; `sort` is the key its header sorts by."""

    id: str
    head: str
    width: int
    keep: int
    cell: Cell
    right: bool = True
    sort: str = ""


def _number(text: Callable[[View, EndpointStatus], str]) -> Cell:
    def cell(view: View, status: EndpointStatus) -> tuple[str, str]:
        return text(view, status), "dim" if dimmed(view, status) else "text"

    return cell


def _state(view: View, status: EndpointStatus) -> tuple[str, str]:
    found = sign(view, status)
    return found.text, found.role


def _age(view: View, status: EndpointStatus) -> tuple[str, str]:
    return fmt.age(data_age(view, status)), "bad" if dimmed(view, status) else "text"


def _crossover_age(view: View, status: EndpointStatus) -> tuple[str, str]:
    crossover = status.crossover
    if crossover is None:
        return fmt.UNKNOWN, "dim"
    return fmt.age(crossover.age_s) + ("!" if crossover.expired else ""), "warn" if crossover.expired else "text"


def _crossover(view: View, status: EndpointStatus) -> tuple[str, str]:
    crossover = status.crossover
    return crossover_text(view, status), "dim" if crossover is None or crossover.expired else "text"


def _headroom(view: View, status: EndpointStatus) -> tuple[str, str]:
    role = "dim" if dimmed(view, status) or status.headroom is None else sign(view, status).role
    return fmt.ratio(status.headroom), "bad" if role == "alarm" else role


MIN_NAME = 6
STATE_WIDTH = 15
"""The longest sign: `✕ not an engine`."""
LONGEST_AGE = "9m59s"
NAME = Column("endpoint", "endpoint", 12, 99, lambda v, s: (s.name, "strong"), right=False, sort="name")
COLUMNS: tuple[Column, ...] = (
    NAME,
    Column("pool", "pool", 12, 1, lambda v, s: (s.pool, "label"), right=False),
    Column("state", "state", STATE_WIDTH, 99, _state, right=False),
    Column("concurrency", "conc", 6, 99, _number(lambda v, s: fmt.concurrency(s.concurrency)), sort="concurrency"),
    Column("crossover", "crossover", 13, 99, _crossover),
    Column("headroom", "headrm", 7, 99, _headroom, sort="headroom"),
    Column(
        "speedup",
        "speed",
        6,
        6,
        _number(lambda v, s: fmt.ratio(s.speedup_now.ratio if s.speedup_now else None)),
        sort="speedup",
    ),
    Column("band", "[low–high]", 11, 2, _number(lambda v, s: _band(s))),
    Column("arm", "arm, K", 7, 5, _number(lambda v, s: arm_text(s)), right=False),
    Column("acceptance", "accept", 6, 3, _number(lambda v, s: fmt.number(s.acceptance_length, 2))),
    Column("crossover_age", "swept", 6, 4, _crossover_age),
    Column("age", "data", 5, 99, _age, sort="age"),
)


def _band(status: EndpointStatus) -> str:
    point = status.speedup_now
    return fmt.UNKNOWN if point is None else f"{point.low:.2f}–{point.high:.2f}"


def chosen(width: int, view: View) -> tuple[tuple[Column, int], ...]:
    """The columns that fit into `width` cells with their widths; what is left over goes to names, then to pools."""
    longest = max((len(crossover_text(view, status)) for status in view.rows), default=0)
    kept = [replace(c, width=max(c.width, longest)) if c.id == "crossover" else c for c in COLUMNS]
    while _total(kept) > width and any(column.keep < 99 for column in kept):
        kept.remove(min(kept, key=lambda column: column.keep))
    widths = {column.id: column.width for column in kept}
    spare = width - _total(kept)
    if spare < 0:
        widths["endpoint"] = max(MIN_NAME, widths["endpoint"] + spare)
    texts = {"endpoint": [s.name for s in view.rows], "pool": [s.pool for s in view.rows]}
    texts["arm"] = [arm_text(s) for s in view.rows]
    for column_id, cells in texts.items():
        if column_id in widths and spare > 0:
            wanted = max((len(text) for text in cells), default=0)
            more = min(spare, max(0, wanted - widths[column_id]))
            widths[column_id] += more
            spare -= more
    for column_id, least, cells in (
        ("state", "state", [_steady(sign(view, s).text) for s in view.rows]),
        ("arm", "arm, K", texts["arm"]),
    ):
        if column_id in widths:
            # Words that are short today lend their blanks to a name that would be cut.
            lent = max(0, widths[column_id] - max(map(len, (least, *cells))))
            missing = max((len(text) for text in texts["endpoint"]), default=0) - widths["endpoint"]
            lent = min(lent, max(0, missing))
            widths[column_id] -= lent
            widths["endpoint"] += lent
    return tuple((column, widths[column.id]) for column in kept)


def _steady(text: str) -> str:
    """A sign at its widest, so that columns stand still while an age or a count of cells grows."""
    text = re.sub(r" \d+[smhd]\w*$", f" {LONGEST_AGE}", text)
    return re.sub(r" \d+/(\d+)$", r" \1/\1", text)


def _total(columns: list[Column]) -> int:
    return 1 + sum(column.width + 1 for column in columns)


def heading(column: Column, width: int, view: View) -> Span:
    """The head of one column, marked with an arrow where rows are sorted by it."""
    is_sorted = bool(column.sort) and column.sort == view.sort
    text = f"{'▾' if view.reverse else '▴'}{column.head}" if is_sorted else column.head
    action = f"app.sort_by('{column.sort}')" if column.sort else ""
    return Span(pad(text, width, right=column.right), "sorted" if is_sorted else "head", action)


def body(column: Column, width: int, view: View, status: EndpointStatus) -> Span:
    """One cell; names give way in the middle, numbers never."""
    text, role = column.cell(view, status)
    if not column.right and column.id in ("endpoint", "pool"):
        text = middle(text, width)
    return Span(pad(text, width, right=column.right), role)
