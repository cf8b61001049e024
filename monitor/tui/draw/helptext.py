"""The help screen and the words of the confirm dialogs, made from the action table and from what sweeps did before."""

from __future__ import annotations

from collections.abc import Mapping

from monitor.tui import format as fmt
from monitor.tui.actions import offered
from monitor.tui.lines import BLANK, Line, Span, line, pad, paragraph
from monitor.tui.view import View

GLYPHS = (
    ("▲", "above its crossover: FIRING, pending or above (no alert rule applies), and since when"),
    ("◆", "inside the crossover's interval: neither paying nor losing for sure"),
    ("●", "below: not above the crossover: speculation pays at this load, or is no worse as far as measured"),
    ("?", "unknown: no or an unclear or expired crossover; the reason stands beneath the table"),
    ("◌ ✕ ○", "stale; down, unauthorized, not an engine; empty page, sleeping, above but off"),
    ("»", "a sweep loads it: not judged until it settled"),
    ("~", "before a crossover: as of now, because acceptance or requests are no longer the sweep's"),
    ("░", "the crossover's interval in charts; dotted curves are sweep load"),
)
WORDS = (
    ("conc", "concurrency: requests in the system per engine, mean of the live window, busiest engine"),
    ("headrm", "headroom: the crossover's lower edge over concurrency; under 1.00× is inside the interval, or over it"),
    ("speed", "output tok/s of the live arm over the baseline's at this concurrency, with its band"),
    ("swept", "age of the crossover; ! means expired: shown, not alerted on"),
    ("data", "age of the newest good reading"),
)

NAMED = 3
"""Servers that a question names."""


def help_lines(view: View, width: int) -> list[Line]:
    """Every key that works on this screen, then what the glyphs and columns mean."""
    rows = [line(Span(f" Keys on the {view.tab} screen", "strong"))]
    for action in offered(view.tab, readonly=view.readonly):
        rows += _entry(action.shown, f"{action.title}: {action.help}", width)
    if view.readonly:
        rows += paragraph(
            "Read-only: actions that ask the daemon for something are hidden.", width, role="warn", indent=" "
        )
    rows += [BLANK, line(Span(" Signs", "strong"))]
    for glyph, text in GLYPHS:
        rows += _entry(glyph, text, width)
    rows += [BLANK, line(Span(" Columns", "strong"))]
    for word, text in WORDS:
        rows += _entry(word, text, width)
    return rows


def _entry(key: str, text: str, width: int) -> list[Line]:
    rows = paragraph(text, max(20, width - 10))
    return [line(Span(pad(f" {key}" if index == 0 else "", 9), "key"), *row.spans) for index, row in enumerate(rows)]


def no_sweep(view: View) -> str:
    """Why asking for a sweep of the selected pool would come to nothing; empty where it can be asked for."""
    running = view.running_sweep
    if view.never_swept:
        return f"{view.pool} has no [endpoint.probe], so it is never swept: config.toml shows how to add one."
    if not view.watched:
        return f"No daemon runs that could start it: `specwatch sweep {view.pool}` in another terminal does."
    return f"Sweep {running.id} of {view.pool} is running already: X aborts it, 3 shows it." if running else ""


def sweep_question(view: View) -> tuple[str, ...]:
    """What a sweep will do to production, as far as the last one tells."""
    pool = view.pool
    servers = _named([status.name for status in view.snapshot.endpoints if status.pool == pool]) or pool
    ran = (s for s in view.snapshot.sweeps if s.pool == pool and s.outcome == "measured" and s.trigger != "import")
    last = next(ran, None)
    size = _size(last.plan) if last is not None else ""
    restarts = last is not None and bool(last.plan.get("restarts"))
    took = (
        f"Sweep {last.id} took {fmt.age(last.ended_at_s - last.started_at_s)}{size}; this one goes by today's config."
        if last is not None and last.ended_at_s is not None
        else f"How long and how much is not known here: `specwatch sweep {pool} --plan` says."
    )
    return (
        f"Run a sweep of {pool} now?",
        f"It sends closed-loop load, up to the top of the ladder, to every arm of {pool}. {took}",
        *(("It restarts the server into each arm and back: nobody is served meanwhile.",) if restarts else ()),
        f"Real users of these servers ({servers}) share them with that load and will see higher latency.",
        "The gate still applies: it refuses outside the window or with live load, and the sweep stops by itself when "
        f"foreign traffic arrives. {pool} is not judged and raises no alert meanwhile.",
    )


def _named(names: list[str]) -> str:
    """A few of many names, and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:NAMED])} and {more} more"


def _size(plan: Mapping[str, object]) -> str:
    ladder = plan.get("ladder")
    rungs = [rung for rung in ladder if isinstance(rung, int)] if isinstance(ladder, list | tuple) else []
    return f" and went up to {max(rungs)} requests at a time" if rungs else ""


def abort_question(view: View) -> tuple[str, ...]:
    """What an abort does."""
    sweep = view.running_sweep
    progress = sweep.progress if sweep is not None else None
    restarts = sweep is not None and bool(sweep.plan.get("restarts"))
    done = f" ({progress.done_cells} of {progress.total_cells} cells done)" if progress is not None else ""
    return (
        f"Abort the sweep of {view.pool}?",
        f"Its load stops within seconds{done}. It gives no new crossover; the next sweep goes on with its cells.",
        *(("Its server is put back to the live arm, which takes as long as that takes to start.",) if restarts else ()),
        "The crossover of before stays in force until it expires.",
    )
