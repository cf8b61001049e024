"""Feeds readings that a daemon took from real servers through status and alert rule, to see what it would say today.

`replay(FIXTURE)` gives the events by phase; `looks(readings_in(FIXTURE))` gives every look (`look.status` says why),
for instance the ones at 158 concurrent: `[one.status for one in looks(...) if one.phase == "climb"]`.

`FIXTURE` has a line for each scrape, oldest first: its `phase`, and its `reading` as monitor.store.codec writes one.
A router sent the endpoint's traffic to one server after another, so a page may be another server's than the last. One
alert state lives through all phases, as in the daemon; a look is taken at each scrape. The answer compared with is
the sweep that the daemon had, made anew from its cells; `earlier` is one of the same pool that was in its store too.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from monitor.alerts.rule import RuleSettings, evaluate
from monitor.live_mix import MIX_SPAN_S, NEWEST_SPAN_S, newest_mix
from monitor.now_values import LiveMix
from monitor.service.refit import refitted
from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.store.codec import from_text
from monitor.store.db import open_store
from monitor.store.sweeps import add_cell
from monitor.values import AlertEvent, AlertState, EndpointStatus, StoredCrossover, StoredReading
from probes.answer_values import Axis, Crossover
from probes.crossover import completed, estimate
from probes.crossover.cells import cells_to_points
from probes.imports.sweep_file import Sweep, read_sweep
from probes.scrape.rates import restarted
from probes.values import Reading, State
from tests.support.stored_sweeps import begun, measured

H200 = Path(__file__).parents[1] / "data" / "h200"
FIXTURE = H200 / "alert-readings.jsonl.gz"
SWEEP = H200 / "streaming" / "static-178.json"
PHASES = ("climb", "switch", "rate", "poor")
SGLANG_FIXTURE = H200 / "alert-readings-sglang.jsonl.gz"
SGLANG_SWEEP = H200 / "streaming" / "sglang.json"
LIKE_FIXTURE = H200 / "alert-readings-2.jsonl.gz"
LIKE_SWEEP = H200 / "streaming" / "static-like.json"
MIX_FIXTURE = H200 / "mix-readings.jsonl.gz"
MIX_SWEEP = H200 / "streaming" / "mix-1284.json"
"""Made after LIKE_SWEEP in the same pool."""

LIVE = LiveSettings(live_window_s=30.0, stale_after_s=10.0, max_age_s=14 * 86400.0, tolerated_loss_pct=3.0)
"""What the daemon was set to, the defaults but for the shorter window."""
RULE = RuleSettings(for_s=15.0, keep_firing_for_s=30.0, tolerated_loss_pct=3.0, clear_loss_pct=1.0)


@dataclass(frozen=True, slots=True)
class Look:
    """One evaluation: what the status was, and what the rule had to tell."""

    phase: str
    at_s: float
    status: EndpointStatus
    event: AlertEvent | None


def replay(fixture: Path, sweep: Path = SWEEP) -> dict[str, list[AlertEvent]]:
    """The events of each phase, oldest first; a phase without one has an empty list."""
    return by_phase(looks(readings_in(fixture), sweep=sweep))


def by_phase(seen: Iterable[Look]) -> dict[str, list[AlertEvent]]:
    """The same of looks that were taken already."""
    told: dict[str, list[AlertEvent]] = {}
    for look in seen:
        told.setdefault(look.phase, []).extend([look.event] if look.event is not None else [])
    return told


def readings_in(fixture: Path) -> list[tuple[str, Reading]]:
    """Phase and reading, oldest first."""
    with gzip.open(fixture, "rt", encoding="utf-8") as lines:
        bodies = [json.loads(line) for line in lines]
    return [(body["phase"], from_text(Reading, json.dumps(body["reading"]))) for body in bodies]


def looks(
    readings: Sequence[tuple[str, Reading]],
    live: LiveSettings = LIVE,
    rule: RuleSettings = RULE,
    sweep: Path = SWEEP,
    earlier: Path | None = None,
) -> Iterator[Look]:
    """A look at every scrape, with no more than what was known by then."""
    crossover, state = answer(sweep, earlier), AlertState("prod", "above_crossover")
    seen: list[StoredReading] = []
    for phase, reading in readings:
        seen.append(StoredReading(reading, sweep_id=None))
        now_s = reading.at_s
        status = endpoint_status(
            EndpointInputs(
                name="prod",
                pool="prod",
                declared_live_arm=crossover.live_arm,
                readings=[one for one in seen if one.reading.at_s >= now_s - live.live_window_s],
                identity=None,
                fingerprint=crossover.fingerprint,
                crossover=crossover,
                mix=_mix(seen, now_s),
            ),
            live,
            now_s,
        )
        state, event = evaluate(state, status, rule, now_s, crossover)
        yield Look(phase, now_s, status, event)


@cache
def answer(sweep: Path = SWEEP, earlier: Path | None = None) -> StoredCrossover:
    """A sweep's answer as a daemon has it stored."""
    swept = swept_in(sweep)
    found = completed(_estimate(swept), swept.cells, swept.arm_k)
    if earlier is not None:
        found = _with_earlier(found, swept, swept_in(earlier))
    return StoredCrossover(
        sweep_id=swept.origin.sweep_id,
        pool="prod",
        fingerprint=swept.origin.fingerprint,
        measured_at_s=swept.origin.ended_at_s,
        result=found,
        arm_k=dict(swept.arm_k),
        live_arm=swept.origin.live_arm,
    )


def swept_in(sweep: Path) -> Sweep:
    """A sweep as its file has it."""
    return read_sweep(sweep, json.loads(sweep.read_text()))


def _estimate(swept: Sweep) -> Crossover:
    return estimate(cells_to_points(swept.cells), baseline=swept.baseline, axis=Axis.CONCURRENCY_PER_ENGINE)


def _with_earlier(found: Crossover, swept: Sweep, earlier: Sweep) -> Crossover:
    """The answer of a sweep that ended where another was stored."""
    with TemporaryDirectory() as folder, open_store(Path(folder) / "s.db") as store:
        sweep_id = begun(store, earlier.origin.started_at_s, pool="prod")
        with store.write():
            for cell in earlier.cells:
                add_cell(store, sweep_id, cell)
        origin = earlier.origin
        measured(store, sweep_id, origin.ended_at_s, _estimate(earlier), earlier.arm_k, fingerprint=origin.fingerprint)
        return refitted(store, "prod", swept.origin.fingerprint, found, swept.cells)


def _mix(seen: Sequence[StoredReading], now_s: float) -> LiveMix | None:
    """The mix of the server that answers now, since it last took over."""
    own: list[Reading] = []
    for one in reversed(seen):
        page = one.reading
        if page.at_s < now_s - MIX_SPAN_S or (own and restarted(page, own[-1])):
            break
        if page.state is State.OK:
            own.append(page)
    if len(own) < 2:
        return None
    lately = next(page for page in reversed(own) if page.at_s >= own[0].at_s - NEWEST_SPAN_S)
    return newest_mix(own[-1], lately, own[0])
