"""Hand-made snapshots, one for each situation that a person on call must be able to read off the screens.

Nothing is random and nothing asks a clock: `NOW` is the instant of every scene.
"""

from __future__ import annotations

from dataclasses import replace

from monitor.values import (
    AlertEvent,
    AlertPhase,
    AlertState,
    Delivery,
    EndpointStatus,
    LiveVerdict,
    Snapshot,
    SweepRecord,
)
from probes.answer_values import BandPoint, Verdict
from probes.values import State
from tests.support.scene_drift import drifted
from tests.support.scene_parts import crossover, endpoint, engine, history, silent, snapshot
from tests.support.scene_sweeps import DAY, HOUR, NOW, measured_sweep, running_sweep, sweep_cells

TIE = "inside the crossover's interval: a tie within what the sweep could tell"


def healthy() -> Snapshot:
    """Three replicas below their crossover."""
    return snapshot(
        endpoint("chat-a", 11.2),
        endpoint("chat-b", 13.8, acceptance_length=2.38, age_s=1.0),
        endpoint("chat-c", 4.1, acceptance_length=2.52, age_s=4.0),
    )


def firing_event() -> AlertEvent:
    """chat-a began to lose twelve minutes before NOW and fired two minutes later."""
    return AlertEvent(
        alert_id="a1",
        endpoint="chat-a",
        pool="chat-70b",
        rule="above_crossover",
        kind="firing",
        at_s=NOW - 600,
        started_at_s=NOW - 720,
        title="chat-a (pool chat-70b): speculation is costing about 10% (11% more time per token) at 37.2 concurrent; "
        "crossover 24 [21, 28]",
        text=(
            "Speculation (k3) costs 10% on chat-a since 03:00 UTC: 37.2 requests in the system, crossover 24 [21-28].\n"
            "Take load off chat-a, or switch speculation off there until the load falls below 21."
        ),
        facts={"concurrency": 37.2, "crossover": 24.0},
    )


def firing() -> Snapshot:
    """chat-a fires, chat-b is inside, chat-c below; one delivery done, one retried, one given up."""
    event = firing_event()
    before = replace(
        event,
        alert_id="a0",
        endpoint="chat-b",
        kind="resolved",
        at_s=NOW - 2 * DAY,
        title="chat-b (pool chat-70b): resolved after 26 min: the slowdown has stayed under 1% for 5 min",
        text="chat-b lost up to 8% for 26 minutes.",
    )
    first = replace(
        before,
        kind="firing",
        at_s=NOW - 2 * DAY - 1560,
        title="chat-b (pool chat-70b): speculation is costing about 8% at 33.0 concurrent",
    )
    return snapshot(
        endpoint("chat-a", 37.2),
        endpoint("chat-b", 24.6, acceptance_length=2.38, verdict_reason=TIE),
        endpoint("chat-c", 6.3, acceptance_length=2.52),
        history={
            "chat-a": history(37.2, rising=True, swept=True),
            "chat-b": history(24.6),
            "chat-c": history(6.3),
        },
        alerts=(
            AlertState("chat-a", "above_crossover", AlertPhase.FIRING, NOW - 720, NOW - 600, None, "a1", NOW, None),
            AlertState("chat-c", "above_crossover", evaluated_at_s=NOW),
        ),
        events=(event, before, first),
        deliveries=(
            Delivery(9, event, "oncall", NOW - 600, 1, NOW - 600, NOW - 598, None, ""),
            Delivery(8, event, "slack-ml", NOW - 600, 3, NOW + 40, None, None, "503 from the webhook"),
            Delivery(7, event, "old-hook", NOW - 600, 1, NOW - 600, None, NOW - 599, "404: the webhook is gone"),
        ),
    )


def pending() -> Snapshot:
    """Above for 45 seconds: not yet an alert."""
    return replace(
        healthy(),
        endpoints=(endpoint("chat-a", 31.0), endpoint("chat-b", 9.0)),
        alerts=(AlertState("chat-a", "above_crossover", AlertPhase.PENDING, NOW - 45, None, None, None, NOW, None),),
    )


def broken() -> Snapshot:
    """Every named state beside one good endpoint."""
    url = "http://10.0.0.7:8000/metrics"
    return snapshot(
        endpoint("chat-a", 11.2),
        silent("chat-stale", State.STALE, "newest scrape is 45 s old", 45.0),
        silent("chat-down", State.DOWN, f"{url} could not be reached: connection refused", 380.0),
        silent("chat-key", State.UNAUTHORIZED, f"{url} answered 401: the page wants a key", None, version=None),
        silent("gateway", State.NOT_AN_ENGINE, f"{url} answered 404: no metrics page here", None, engine_kind=None),
        silent("chat-empty", State.EMPTY, "the page is empty", None),
        silent("chat-asleep", State.SLEEPING, "the engine sleeps (level 1)", 12.0),
    )


def undecided() -> Snapshot:
    """Every verdict other than a crossing, no sweep at all, an expired crossover, and above with speculation off."""
    wide = tuple(BandPoint(x, 1.2, 1.1, 1.3) for x in (1.0, 8.0, 64.0))
    none: dict[str, object] = {"value": None, "low": None, "high": None}

    def judged(name: str, verdict: LiveVerdict, why: str, **changes: object) -> EndpointStatus:
        return endpoint(name, 12.0, **{"headroom": None, "verdict": verdict, "verdict_reason": why, **changes})

    unknown = LiveVerdict.UNKNOWN
    return snapshot(
        judged(
            "always",
            LiveVerdict.BELOW,
            "k3 was faster at every concurrency measured",
            crossover=crossover(verdict=Verdict.ALWAYS_FASTER, band=wide, **none),
        ),
        judged(
            "never",
            LiveVerdict.ABOVE,
            "k3 was not faster at any concurrency measured",
            crossover=crossover(verdict=Verdict.NEVER_FASTER, **none),
            speedup_now=BandPoint(12.0, 0.88, 0.85, 0.91),
            loss_pct=12.0,
        ),
        judged(
            "unclear",
            unknown,
            "by the sweep it is unclear whether k3 is faster or slower",
            crossover=crossover(verdict=Verdict.UNCLEAR, **none),
        ),
        judged(
            "few-cells",
            unknown,
            "too little is known of k3 by the sweep for a verdict",
            crossover=crossover(verdict=Verdict.INSUFFICIENT, band=(), **none),
            speedup_now=None,
        ),
        judged(
            "expired",
            unknown,
            "the crossover is 20.0 d old and has expired; sweep again",
            crossover=crossover(age_s=20 * DAY, expired=True),
            speedup_now=None,
        ),
        judged(
            "open-edge", LiveVerdict.INSIDE, "inside the crossover's interval: a tie", crossover=crossover(high=None)
        ),
        judged(
            "new",
            unknown,
            "no sweep has measured this pool yet",
            pool="new",
            crossover=None,
            speedup_now=None,
            live_arm=None,
            live_arm_reason="no sweep has measured this pool yet",
        ),
        endpoint(
            "spec-off",
            40.0,
            live_arm="off",
            drafting=False,
            speculation_configured=False,
            k=None,
            effective_k=None,
            acceptance_length=None,
            acceptance_rate=None,
            speedup_now=None,
            loss_pct=None,
            alerting=False,
            alerting_reason="speculation is off here, so it cannot be costing anything",
        ),
    )


def multi_engine() -> Snapshot:
    """Four data-parallel engines, one of them over while their mean is not."""
    loads = (9.5, 31.4, 8.8, 12.1)
    engines = tuple(engine(str(index), load) for index, load in enumerate(loads))
    return snapshot(
        endpoint("chat-dp4", 31.4, engines=engines, busiest_engine="1", output_tok_s=sum(60 * x**0.75 for x in loads)),
        endpoint("chat-with-a-very-long-name-eu-west-1b", 7.0, pool="summaries-long-context-pool"),
    )


def sweeping() -> Snapshot:
    """A sweep of chat-70b is half done; its endpoint is not judged."""
    busy = endpoint(
        "chat-a",
        16.0,
        sweep_id=42,
        verdict=LiveVerdict.UNKNOWN,
        verdict_reason="sweep 42 is loading this endpoint; its traffic is not compared",
    )
    half = tuple(cell for cell in sweep_cells() if cell.order < 29)
    return snapshot(
        busy,
        endpoint("chat-b", 9.0),
        sweeps=(running_sweep(), measured_sweep()),
        cells={42: half, 41: sweep_cells()},
        history={"chat-a": history(16.0, swept=True), "chat-b": history(9.0)},
    )


def refused() -> Snapshot:
    """The only sweep so far was refused by the gate."""
    sweep: SweepRecord = replace(
        measured_sweep(),
        id=43,
        outcome="refused",
        reason="the gate refused: 6.2 requests in the system on chat-a, 1 allowed; outside the window 01:00-05:00 UTC",
        result=None,
        started_at_s=NOW - HOUR,
        ended_at_s=NOW - HOUR,
    )
    return snapshot(
        endpoint("chat-a", 11.2, crossover=None, headroom=None, speedup_now=None), sweeps=(sweep,), cells={}
    )


def empty() -> Snapshot:
    """A new database and a config without endpoints."""
    return snapshot(sweeps=(), cells={}, next_sweep_at_s={}, history={})


def never_swept() -> Snapshot:
    """Endpoints, but no sweep yet."""
    unswept = endpoint(
        "chat-a",
        11.2,
        crossover=None,
        headroom=None,
        speedup_now=None,
        loss_pct=None,
        verdict=LiveVerdict.UNKNOWN,
        verdict_reason="no sweep has measured this pool yet",
        alerting_reason="no sweep has measured this pool yet",
    )
    return snapshot(unswept, sweeps=(), cells={})


def daemon_gone() -> Snapshot:
    """The daemon died three minutes ago while chat-a fired."""
    gone = firing()
    reason = "newest scrape is 170 s old"
    old = tuple(silent(s.name, State.STALE, reason, 170.0) for s in gone.endpoints)
    return replace(gone, endpoints=old, mode="daemon_gone", daemon="pid 4121 on gpu-7")


def local() -> Snapshot:
    """No daemon: the viewer scrapes for itself."""
    return replace(healthy(), mode="local", daemon="", next_sweep_at_s={})


def sweeps_paused() -> Snapshot:
    """Sweeps are paused for three hours."""
    return replace(healthy(), paused_until_s=NOW + 3 * HOUR, pause_reason="driver update on gpu-7")


SCENES = {
    "healthy": healthy,
    "firing": firing,
    "pending": pending,
    "broken": broken,
    "undecided": undecided,
    "multi_engine": multi_engine,
    "sweeping": sweeping,
    "refused": refused,
    "empty": empty,
    "never_swept": never_swept,
    "daemon_gone": daemon_gone,
    "local": local,
    "sweeps_paused": sweeps_paused,
    "drifted": drifted,
}
