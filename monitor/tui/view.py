"""What one viewer looks at: the snapshot shown, the tab, the selection, order and filter; and the moves between them.

Pure values and functions. Nothing here reaches the feed, and the snapshot is never changed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property

from monitor.compared import compared_in
from monitor.values import AlertEvent, AlertPhase, AlertState, EndpointStatus, LiveVerdict, Snapshot, SweepRecord
from probes.values import State

SORT_KEYS = ("headroom", "name", "concurrency", "speedup", "age")
_WITHOUT_HEADROOM = {LiveVerdict.ABOVE: 0.0, LiveVerdict.INSIDE: 1.0, LiveVerdict.BELOW: math.inf}
"""Where a judged endpoint stands when its interval has no lower edge (never faster, always faster)."""
NOT_RESTORED = "not_restored"
"""The one rule that is not about an endpoint's load."""
LAG_SHOWN_S = 5.0
"""A snapshot older than this is no longer `now`: its age is added to every age and its rows are dimmed."""


@dataclass(frozen=True)
class View:
    """Everything that a draw function needs; a new one for each change."""

    snapshot: Snapshot
    tab: str = "fleet"
    endpoint: str = ""
    alert: str = ""
    older: int | None = None
    """The sweep to show in the newest one's place."""
    sort: str = "headroom"
    reverse: bool = False
    pattern: str = ""
    lag_s: float = 0.0
    """How much older than the wall clock the snapshot is, where that is more than a poll or two."""
    readonly: bool = False
    held: int = 0
    """Newer snapshots that arrived while the view is paused."""
    held_s: float | None = None
    """How far the newest held snapshot is ahead; None where the view is live."""
    failure: str = ""
    """Why the feed gave no snapshot; empty while it works."""

    @cached_property
    def rows(self) -> tuple[EndpointStatus, ...]:
        """Endpoints that pass the filter, in the chosen order."""
        return ordered(self)

    @property
    def status(self) -> EndpointStatus | None:
        """The selected endpoint; the first row where the selected one is gone."""
        by_name = {status.name: status for status in self.snapshot.endpoints}
        return by_name.get(self.endpoint) or (self.rows[0] if self.rows else None)

    @property
    def pool(self) -> str:
        """The selected endpoint's pool; where no endpoint is known, the newest sweep's."""
        if self.status is not None:
            return self.status.pool
        return self.snapshot.sweeps[0].pool if self.snapshot.sweeps else ""

    @property
    def sweeps(self) -> tuple[SweepRecord, ...]:
        """The selected pool's sweeps that sent load, newest first; a refusal only where there is nothing else."""
        ours = tuple(sweep for sweep in self.snapshot.sweeps if sweep.pool == self.pool)
        return tuple(sweep for sweep in ours if sweep.outcome != "refused") or ours[:1]

    @property
    def sweep(self) -> SweepRecord | None:
        """The chosen one of them, else the newest."""
        chosen = (sweep for sweep in self.sweeps if sweep.id == self.older)
        return next(chosen, self.sweeps[0] if self.sweeps else None)

    @property
    def in_force(self) -> SweepRecord | None:
        """The sweep that the pool's verdicts go by; where none does, the one whose answer is newest."""
        ours = [self.status] if self.status is not None else []
        ours += [status for status in self.snapshot.endpoints if status.pool == self.pool]
        used = next((status.crossover.sweep_id for status in ours if status.crossover is not None), None)
        answers = [sweep for sweep in self.sweeps if sweep.result is not None]
        if used is not None:
            return next((sweep for sweep in answers if sweep.id == used), None)
        return max(answers, key=lambda sweep: (sweep.ended_at_s or 0.0, sweep.id), default=None)

    @property
    def running_sweep(self) -> SweepRecord | None:
        """The selected pool's sweep that runs now."""
        return self.sweep_running_on(self.pool)

    def sweep_running_on(self, pool: str) -> SweepRecord | None:
        """A pool's sweep that runs now; there is never more than one."""
        return next((s for s in self.snapshot.sweeps if s.pool == pool and s.outcome == "running"), None)

    def sweep_of(self, status: EndpointStatus) -> SweepRecord | None:
        """The sweep that loads this endpoint's server, which may be another pool's, or that is about to."""
        running = [s for s in self.snapshot.sweeps if s.id == status.sweep_id and s.outcome == "running"]
        return running[0] if running else self.sweep_running_on(status.pool)

    @property
    def never_swept(self) -> bool:
        """Nothing can sweep the selected pool."""
        return self.pool in self.snapshot.unprobed

    @property
    def watched(self) -> bool:
        """A daemon evaluates, sends and sweeps. Where none does, alerts are as the last one left them."""
        return self.snapshot.mode == "daemon"

    @property
    def stale(self) -> bool:
        """The shown snapshot is not now."""
        return self.lag_s > 0

    def alert_of(self, endpoint: str) -> AlertState | None:
        """The endpoint's firing or pending alert of its load, firing first; a server not put back is told apart.

        None in local mode: the viewer judges for itself there, and what an earlier daemon left does not follow it.
        """
        if self.snapshot.mode == "local":
            return None
        ours = [a for a in self.snapshot.alerts if a.endpoint == endpoint and a.rule != NOT_RESTORED]
        active = [a for a in ours if a.phase is not AlertPhase.INACTIVE]
        return min(active, key=lambda alert: alert.phase is not AlertPhase.FIRING, default=None)

    @property
    def active_alerts(self) -> tuple[AlertState, ...]:
        """Firing ones first, then pending, each oldest first."""
        active = [alert for alert in self.snapshot.alerts if alert.phase is not AlertPhase.INACTIVE]
        return tuple(sorted(active, key=lambda a: (a.phase is not AlertPhase.FIRING, since_s(a) or 0.0, a.endpoint)))

    @property
    def alert_items(self) -> tuple[str, ...]:
        """Keys of the alert screen's rows from top to bottom."""
        active = tuple(active_item(alert) for alert in self.active_alerts)
        return active + tuple(event_item(event) for event in self.snapshot.events)


def active_item(alert: AlertState) -> str:
    """Key of an active alert's row; an endpoint may have one of each rule."""
    return f"active:{alert.endpoint}" + (f":{alert.rule}" if alert.rule == NOT_RESTORED else "")


def event_item(event: AlertEvent) -> str:
    """Key of a history row; by identity, so that a new event above it does not move the selection."""
    return f"event:{event.alert_id}:{event.kind}"


def since_s(alert: AlertState) -> float | None:
    """When the condition first held."""
    return alert.pending_since_s if alert.pending_since_s is not None else alert.firing_since_s


def above_since_s(view: View, status: EndpointStatus) -> float | None:
    """Since when the endpoint is above: the alert's word, else the oldest of the newest unbroken samples above.

    None where neither says; a missing sample breaks the run, because nobody knows what it would have shown.
    """
    alert = view.alert_of(status.name)
    if alert is not None and since_s(alert) is not None:
        return since_s(alert)
    crossover = compared_in(status)
    edge = None if crossover is None else crossover.high if crossover.high is not None else crossover.value
    if edge is None:
        return None
    since = None
    for sample in reversed(view.snapshot.history.get(status.name, ())):
        if sample.concurrency is None or sample.concurrency <= edge:
            break
        since = sample.at_s
    return since


def matches(status: EndpointStatus, pattern: str) -> bool:
    """Regular expression over name, pool, state, verdict and arm, case ignored; a broken one is taken literally."""
    inverted = pattern.startswith("!")
    wanted = pattern[1:] if inverted else pattern
    if not wanted:
        return True
    text = " ".join((status.name, status.pool, status.state, status.verdict, status.live_arm or ""))
    try:
        found = re.search(wanted, text, re.IGNORECASE) is not None
    except re.error:
        found = wanted.lower() in text.lower()
    return found != inverted


def ordered(view: View) -> tuple[EndpointStatus, ...]:
    """Rows in order. Unknown values stay last in both directions; by headroom, firing comes first and down next."""
    rows = [status for status in view.snapshot.endpoints if matches(status, view.pattern)]
    if view.sort == "name":
        return tuple(sorted(rows, key=lambda status: status.name, reverse=view.reverse))

    def key(status: EndpointStatus) -> tuple[int, int, float, str]:
        value, worst_first = _sort_value(status, view.sort)
        alert = view.alert_of(status.name)
        if view.sort == "headroom" and alert is not None and alert.phase is AlertPhase.FIRING and not view.reverse:
            return (0, 0, value if value is not None else -math.inf, status.name)
        if value is None:
            return (2 if status.state is not State.OK else 3, 0, 0.0, status.name)
        place = _place(status) if view.sort == "headroom" else 0
        up = worst_first != view.reverse
        return (1, -place if view.reverse else place, value if up else -value, status.name)

    return tuple(sorted(rows, key=key))


def _sort_value(status: EndpointStatus, sort: str) -> tuple[float | None, bool]:
    """The value and whether small means worse."""
    if sort == "concurrency":
        return status.concurrency, False
    if sort == "speedup":
        return (None if status.speedup_now is None else status.speedup_now.ratio), True
    if sort == "age":
        return status.age_s, False
    if status.headroom is None and status.verdict in _WITHOUT_HEADROOM:
        return _WITHOUT_HEADROOM[status.verdict], True
    return status.headroom, True


def _place(status: EndpointStatus) -> int:
    """What being sorted by headroom goes by first: an interval's lower edge alone would put a tie above a loss."""
    if status.verdict is LiveVerdict.ABOVE:
        return 3 if above_but_off(status) else 0
    return 1 if status.verdict is LiveVerdict.INSIDE else 2


def above_but_off(status: EndpointStatus) -> bool:
    """The load is above, and speculation is known to be off as it should be: nothing is lost."""
    return status.verdict is LiveVerdict.ABOVE and status.live_arm is not None and status.drafting is False


def moved(view: View, step: int) -> View:
    """The selection `step` rows on (or to either end for a huge step); on the sweep screen by pool."""
    if view.tab == "alerts":
        return replace(view, alert=_next(view.alert_items, view.alert, step))
    if view.tab == "sweep":
        first_of_pool: dict[str, str] = {}
        for status in view.rows:
            first_of_pool.setdefault(status.pool, status.name)
        pool = _next(tuple(first_of_pool), view.pool, step)
        return view if pool == view.pool else replace(view, endpoint=first_of_pool.get(pool, view.endpoint))
    names = tuple(status.name for status in view.rows)
    current = view.status.name if view.status is not None else ""
    return replace(view, endpoint=_next(names, current, step))


def older(view: View, step: int) -> View:
    """The sweep `step` before the one shown; back at the newest it follows what comes."""
    ids = [sweep.id for sweep in view.sweeps]
    if view.sweep is None:
        return view
    to = min(max(ids.index(view.sweep.id) + step, 0), len(ids) - 1)
    return replace(view, older=ids[to] if to else None)


def _next(items: tuple[str, ...], current: str, step: int) -> str:
    if not items:
        return current
    index = items.index(current) if current in items else 0 if step <= 0 else -1
    return items[min(max(index + step, 0), len(items) - 1)]


def settled(view: View) -> View:
    """The selection made explicit and valid after a new snapshot, filter or order."""
    names = [status.name for status in view.rows]
    if view.endpoint not in names:
        view = replace(view, endpoint=names[0] if names else "")
    if view.older not in [sweep.id for sweep in view.sweeps]:
        view = replace(view, older=None)
    items = view.alert_items
    if view.alert not in items:
        view = replace(view, alert=items[0] if items else "")
    return view


def selected_event(view: View) -> AlertEvent | None:
    """The event of the selected history row; None on an active alert."""
    return next((event for event in view.snapshot.events if event_item(event) == view.alert), None)


def alert_endpoint(view: View) -> str:
    """The endpoint that the selected alert row speaks of."""
    event = selected_event(view)
    return event.endpoint if event is not None else view.alert.removeprefix("active:").partition(":")[0]


def firing_id(view: View) -> str | None:
    """The id of the firing alert that the selected row speaks of; None where it speaks of none."""
    if view.tab != "alerts":
        ours = [a for a in view.active_alerts if view.status is not None and a.endpoint == view.status.name]
        firing = [a for a in ours if a.phase is AlertPhase.FIRING]
        return min(firing, key=lambda a: a.rule == NOT_RESTORED).alert_id if firing else None
    name, event = alert_endpoint(view), selected_event(view)
    loud = view.alert.endswith(f":{NOT_RESTORED}") or (event is not None and event.rule == NOT_RESTORED)
    of_it = (a for a in view.active_alerts if a.endpoint == name and (a.rule == NOT_RESTORED) == loud)
    alert = next(of_it, None)
    if alert is None or alert.phase is not AlertPhase.FIRING or alert.alert_id is None:
        return None
    # A reminder's id begins with that of the alert it reminds of.
    return alert.alert_id if event is None or event.alert_id.partition(".")[0] == alert.alert_id else None
