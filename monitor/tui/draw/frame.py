"""What surrounds every screen: the header line, banners, the tabs and the footer.

The header says how far to trust the rest: who watches, whether sweeps are paused, how old the snapshot is, what fires.
"""

from __future__ import annotations

from rich.cells import cell_len

from monitor.tui import format as fmt
from monitor.tui.actions import TABS, Action, offered
from monitor.tui.draw.helptext import no_sweep
from monitor.tui.lines import BLANK, Line, Span, fit, line, paragraph, spread, wrap
from monitor.tui.view import View, firing_id
from monitor.values import AlertPhase, Intent

NARROW = 60
"""Under this width the fleet is a plain list and the frame keeps only what fits."""

ALWAYS = ("help", "quit_view")
"""Keys that a narrow footer keeps."""
BECAME = {
    "refused": "was refused",
    "aborted": "was aborted",
    "arm_mismatch": "found an arm that is not what it claims",
    "not_restored": "left its server NOT RESTORED",
}
"""How a sweep ended without an answer, where the outcome's own word is no sentence."""


def newest_data_s(view: View) -> float | None:
    """When the newest reading of any endpoint was taken."""
    ages = [status.age_s for status in view.snapshot.endpoints if status.age_s is not None]
    return view.snapshot.at_s - min(ages) if ages else None


def header(view: View, width: int) -> Line:
    """Mode on the left, alerts and the snapshot's clock on the right; the pause between them where it fits."""
    snapshot = view.snapshot
    firing = sum(alert.phase is AlertPhase.FIRING for alert in snapshot.alerts)
    pending = sum(alert.phase is AlertPhase.PENDING for alert in snapshot.alerts)
    if snapshot.unrestored:
        alerts = Span(" ✕ NOT RESTORED ", "alarm")
    elif not view.watched:
        # Nobody evaluates: what the store holds is how it was when the daemon went.
        gone = "dim" if snapshot.mode == "local" else "bad"
        alerts = Span(f" ▲ {firing} fired, alerts off ", "alarm") if firing else Span("alerts off", gone)
    elif firing:
        alerts = Span(f" ▲ {firing} firing ", "alarm")
    elif pending:
        alerts = Span(f"△ {pending} pending", "warn")
    else:
        alerts = Span("no alerts", "good")
    right = [alerts, Span("  "), Span(fmt.clock(snapshot.at_s), "label"), Span(" "), _age(view)]
    left = [mode(view)]
    paused = pause_text(view, short=True)
    room = width - sum(cell_len(span.text) for span in (*left, *right)) - 4
    if paused and cell_len(paused) <= room:
        left += [Span("  "), Span(paused, "warn")]
    return spread(left, right, width)


def _age(view: View) -> Span:
    """How old what is shown is: the snapshot's own age, or its data's where nobody takes new ones."""
    newest = newest_data_s(view) if view.snapshot.mode == "daemon_gone" else None
    if newest is not None:
        return Span(f"data {fmt.age(view.snapshot.at_s - newest + view.lag_s)} old", "bad")
    return Span(f"{fmt.age(view.lag_s)} old", "bad" if view.stale else "dim")


def mode(view: View) -> Span:
    """Who watches."""
    snapshot = view.snapshot
    if snapshot.mode == "daemon":
        return Span(f"● daemon {snapshot.daemon}".rstrip(), "label")
    if snapshot.mode == "local":
        return Span("○ local mode: no alerts, no scheduled sweeps", "warn")
    newest = newest_data_s(view)
    since = "" if newest is None else f" since {fmt.minute(newest, snapshot.at_s)}"
    return Span(f"✕ DAEMON GONE{since}", "bad")


def pause_text(view: View, *, short: bool) -> str:
    """Until when sweeps are paused, and why."""
    snapshot = view.snapshot
    if snapshot.paused_until_s is None:
        return ""
    until = fmt.minute(snapshot.paused_until_s, snapshot.at_s)
    if short:
        return f"sweeps paused to {until}"
    left = fmt.age(snapshot.paused_until_s - snapshot.at_s)
    reason = f": {snapshot.pause_reason}" if snapshot.pause_reason else ""
    return f"Sweeps paused until {until} ({left} left){reason}"


def banners(view: View, width: int) -> list[Line]:
    """Rows under the header for what must not be overlooked; none in good times."""
    rows = []
    loud = [
        f"NOT RESTORED: {one.endpoint} does not run {one.live_arm or 'its live arm'} after a sweep"
        + (f": {one.reason}" if one.reason else "")
        for one in view.snapshot.unrestored
    ]
    if view.failure:
        rows.append(f"NO NEW DATA: {view.failure} (trying again every second; shown: {fmt.clock(view.snapshot.at_s)})")
    if view.snapshot.mode == "daemon_gone":
        rows.append("DAEMON GONE: nobody scrapes, alerts or sweeps. Start it again: specwatch serve")
    if view.held_s is not None:
        rows.append(f"VIEW PAUSED {fmt.age(view.held_s)}, {view.held} newer snapshots: watching goes on, p shows now")
    noted = paragraph(view.snapshot.note, width, role="note", indent=" ", limit=2)
    bars = [bar for text in loud for bar in _loud(text, width, watched=view.watched)]
    bars += [fit(line(Span(f" {text}".ljust(width), "banner")), width) for text in rows]
    paused = pause_text(view, short=False)
    bars += [fit(line(Span(f" {paused}", "warn")), width)] if paused else []
    bars += noted
    return [*bars, *(row for text in unswept(view) for row in paragraph(text, width, role="warn", indent=" ", limit=3))]


def unswept(view: View) -> list[str]:
    """What became of sweeps that somebody has just asked for, where they gave no answer; of each pool the newest."""
    newest: dict[str, Intent] = {}
    for intent in view.snapshot.asked:
        newest.setdefault(intent.subject, intent)
    told = []
    for pool, intent in newest.items():
        sweep = next((s for s in view.snapshot.sweeps if s.plan.get("intent") == intent.id), None)
        later = any(
            s.pool == pool and s != sweep and s.started_at_s > intent.created_at_s for s in view.snapshot.sweeps
        )
        if later or (sweep is not None and sweep.outcome in ("measured", "running")):
            continue
        why = intent.result.partition(": ")[2] or "the daemon's log says why"
        became = f"{BECAME.get(sweep.outcome, sweep.outcome)}: {sweep.reason}" if sweep else f"was not begun: {why}"
        ago = fmt.age(view.snapshot.at_s - intent.created_at_s)
        told.append(f"Sweep of {pool}, asked for by {intent.who} {ago} ago, {became}")
    return told


def _loud(text: str, width: int, *, watched: bool) -> list[Line]:
    """The one banner that is never cut short: what is wrong, then what to do."""
    until = (
        "it is tried again and told every hour until then" if watched else "no daemon tries it again or tells anybody"
    )
    todo = f"`specwatch stop` puts it back and says what hinders; {until}."
    rows = wrap(text, width - 2, limit=3) + wrap(todo, width - 2, limit=2)
    return [line(Span(f" {row}".ljust(width), "alarm")) for row in rows]


def tabs(view: View, width: int) -> Line:
    """The screens and their number keys, and on the right how the fleet is sorted and filtered."""
    spans: list[Span] = []
    for index, name in enumerate(TABS, start=1):
        role = "tab_on" if name == view.tab else "tab"
        count = len(view.active_alerts) if name == "alerts" else 0
        text = f" {index} {name}{f' ({count})' if count else ''} "
        spans += [Span(text, role, f"app.show_{name}")]
    right: list[Span] = []
    if view.tab == "fleet" and width >= NARROW:
        if view.pattern:
            right += [Span(f"/{view.pattern}/ {len(view.rows)} of {len(view.snapshot.endpoints)}  ", "warn")]
        right += [Span(f"by {view.sort}{' reversed' if view.reverse else ''}", "dim")]
    elif view.readonly:
        right += [Span("read-only", "dim")]
    return spread(spans, right, width)


def footer(view: View, width: int) -> Line:
    """At most seven keys of this screen; the rest is in the help."""
    spans: list[Span] = []
    idle = {"abort_sweep" if view.running_sweep is None else "sweep_now"}
    if no_sweep(view):
        idle |= {"sweep_now"}
    if firing_id(view) is None:
        idle |= {"ack"}
    if len(view.sweeps) < 2:
        idle |= {"older_sweep", "newer_sweep"}
    ours = offered(view.tab, readonly=view.readonly)
    named = [action for action in ours if view.tab in action.footer and action.id not in idle][:7]
    used = 0
    left = sum(_footer_cells(action) for action in named if action.id in ALWAYS)
    for action in named:
        need = _footer_cells(action)
        if action.id in ALWAYS:
            left -= need
        if used + need + left > width:
            continue
        spans += [Span(" "), Span(action.shown, "key"), Span(f" {action.title.lower()}  ", "label")]
        used += need
    return line(*spans)


def _footer_cells(action: Action) -> int:
    return len(action.shown) + len(action.title) + 4


def waiting(failure: str, width: int) -> list[Line]:
    """Before the first snapshot."""
    if failure:
        return [
            BLANK,
            fit(line(Span(f" Nothing to show yet: {failure}", "bad")), width),
            line(" Trying again every second."),
        ]
    return [BLANK, line(Span(" Waiting for the first snapshot …", "dim"))]
