"""The alert's life as tables: minute, what was seen, the phase expected after it, the event expected from it.

Seen: a speedup (band of 0.03 each way), or `-` no data, `off` speculation off, `idle` below the lowest rung.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.alerts.rule import Finding, RuleSettings, evaluate, judge, retire
from monitor.now_values import AsOfNow
from monitor.values import AlertEvent, AlertPhase, AlertState, EndpointStatus, EngineNow, LiveVerdict
from probes.answer_values import BandPoint, Verdict
from probes.values import State
from tests.support.records import a_status

SETTINGS = RuleSettings(
    for_s=120.0, keep_firing_for_s=300.0, tolerated_loss_pct=3.0, clear_loss_pct=1.0, gap_tolerance_s=90.0
)
NEW = AlertState("chat", "above_crossover")
BAD, TIE, GOOD = 0.88, 0.98, 1.05

Row = tuple[float, float | str, str, str | None]


def seen(what: float | str) -> EndpointStatus:
    """The status that one cell of a table stands for."""
    if isinstance(what, float):
        return a_status(what)
    if what == "off":
        return a_status(None, speculation_configured=False, drafting=False, k=None, live_arm="off", rule_applies=False)
    if what == "idle":
        return a_status(None, concurrency=0.4, verdict=LiveVerdict.BELOW, rule_applies=False)
    assert what == "-"
    return a_status(None, state=State.DOWN, reason="connection refused")


def play(rows: list[Row], state: AlertState = NEW, settings: RuleSettings = SETTINGS) -> list[AlertEvent]:
    """Walk one table, asserting every row; returns the events."""
    events = []
    for minute, what, phase, told in rows:
        state, event = evaluate(state, seen(what), settings, minute * 60.0)
        assert (minute, state.phase.value, event.kind if event else None) == (minute, phase, told)
        if event is not None:
            events.append(event)
    return events


TABLES: dict[str, list[Row]] = {
    "fires after for_s, leaves after keep_firing_for_s, each told once": [
        (0, GOOD, "inactive", None), (1, BAD, "pending", None), (2, BAD, "pending", None), (3, BAD, "firing", "firing"),
        (4, BAD, "firing", None), (5, GOOD, "firing", None), (6, GOOD, "firing", None), (7, GOOD, "firing", None),
        (8, GOOD, "firing", None), (9, GOOD, "firing", None), (10, GOOD, "inactive", "resolved"),
        (11, GOOD, "inactive", None),
    ],
    "a pending alert that clears tells nothing": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (1.9, GOOD, "inactive", None), (2, BAD, "pending", None),
        (3, BAD, "pending", None), (4, BAD, "firing", "firing"),
    ],
    "a band that reaches the threshold is no breach": [
        (0, 0.945, "inactive", None), (1, 0.945, "inactive", None), (5, TIE, "inactive", None),
    ],
    "flapping around the threshold never fires while the clock starts again each time": [
        (m, BAD if m % 2 == 0 else 0.95, "pending" if m % 2 == 0 else "inactive", None) for m in range(20)
    ],
    "flapping around the clear threshold keeps it firing": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, BAD, "firing", "firing"),
        *((m, GOOD if m % 4 else TIE, "firing", None) for m in range(3, 30)),
    ],
    "between the two thresholds it neither fires nor leaves": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, BAD, "firing", "firing"),
        *((m, TIE, "firing", None) for m in range(3, 60)),
    ],
    "no data fires nothing, resolves nothing, and a day of it leaves the alert standing": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, BAD, "firing", "firing"), (3, "-", "firing", None),
        (1440, "-", "firing", None), (1441, BAD, "firing", None), (1442, GOOD, "firing", None),
        *((m, GOOD, "firing", None) for m in range(1443, 1447)), (1447, GOOD, "inactive", "resolved"),
    ],
    "no data from the first look on": [
        (0, "-", "inactive", None), (1, "-", "inactive", None), (2, BAD, "pending", None),
    ],
    "a short gap is not counted towards for_s": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (1.5, "-", "pending", None), (2, "-", "pending", None),
        (2.4, BAD, "pending", None), (2.8, BAD, "pending", None), (2.9, BAD, "firing", "firing"),
    ],
    "a long gap starts the pending clock again": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, "-", "pending", None), (10, "-", "pending", None),
        (11, BAD, "pending", None), (12, BAD, "pending", None), (13, BAD, "firing", "firing"),
    ],
    "a daemon that was down too long starts the pending clock again": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (31, BAD, "pending", None), (32, BAD, "pending", None),
        (33, BAD, "firing", "firing"),
    ],
    "a daemon that was down briefly loses nothing": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2.4, BAD, "firing", "firing"),
    ],
    "a long gap starts the leaving clock again": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, BAD, "firing", "firing"), (3, GOOD, "firing", None),
        (4, GOOD, "firing", None), (5, "-", "firing", None), (9, GOOD, "firing", None),
        *((m, GOOD, "firing", None) for m in range(10, 14)), (14, GOOD, "inactive", "resolved"),
    ],
    "switched off while firing resolves at once": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, BAD, "firing", "firing"),
        (3, "off", "inactive", "resolved"), (4, "off", "inactive", None),
    ],
    "switched off while pending tells nothing": [(0, BAD, "pending", None), (1, "off", "inactive", None)],
    "an idle night resolves what fired by day": [
        (0, BAD, "pending", None), (1, BAD, "pending", None), (2, BAD, "firing", "firing"),
        *((m, "idle", "firing", None) for m in range(3, 8)), (8, "idle", "inactive", "resolved"),
    ],
    "a clock that goes back costs time, and nothing else": [
        (100, BAD, "pending", None), (101, BAD, "pending", None), (40, BAD, "pending", None),
        (41, BAD, "pending", None), (42, BAD, "firing", "firing"), (10, BAD, "firing", None),
        (11, GOOD, "firing", None), (5, GOOD, "firing", None),
        *((m, GOOD, "firing", None) for m in range(6, 10)), (10, GOOD, "inactive", "resolved"),
    ],
    "a clock that goes back during a gap": [
        (100, BAD, "pending", None), (101, "-", "pending", None), (50, "-", "pending", None),
        (51, BAD, "pending", None), (52, BAD, "pending", None), (53, BAD, "firing", "firing"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_table(name: str) -> None:
    play(TABLES[name])


def test_no_delay_fires_and_leaves_at_once() -> None:
    at_once = replace(SETTINGS, for_s=0.0, keep_firing_for_s=0.0)
    play([(0, BAD, "firing", "firing"), (1, GOOD, "inactive", "resolved")], settings=at_once)


def test_both_events_have_one_id_and_the_next_alert_another() -> None:
    table = TABLES["fires after for_s, leaves after keep_firing_for_s, each told once"]
    later: list[Row] = [(minute + 60, what, phase, told) for minute, what, phase, told in table]
    first, end, second, second_end = play(table + later)
    assert first.alert_id == end.alert_id
    assert second.alert_id == second_end.alert_id != first.alert_id
    assert (first.started_at_s, first.at_s) == (60.0, 180.0)
    assert (end.started_at_s, end.at_s) == (60.0, 600.0)


def test_a_transition_decided_again_because_it_could_not_be_saved_keeps_its_id() -> None:
    pending, _ = evaluate(NEW, seen(BAD), SETTINGS, 0.0)
    pending, _ = evaluate(pending, seen(BAD), SETTINGS, 60.0)
    _, once = evaluate(pending, seen(BAD), SETTINGS, 120.0)
    _, again = evaluate(pending, seen(BAD), SETTINGS, 125.0)
    assert once is not None
    assert again is not None
    assert once.alert_id == again.alert_id


def test_no_data_is_remembered_from_its_start_and_forgotten_with_the_next_look() -> None:
    state, _ = evaluate(NEW, seen("-"), SETTINGS, 60.0)
    state, _ = evaluate(state, seen("-"), SETTINGS, 120.0)
    assert (state.no_data_since_s, state.evaluated_at_s) == (60.0, None)
    state, _ = evaluate(state, seen(GOOD), SETTINGS, 180.0)
    assert (state.no_data_since_s, state.evaluated_at_s) == (None, 180.0)


@pytest.mark.parametrize(
    ("status", "finding"),
    [
        (a_status(0.88), Finding.BREACH),
        (a_status(0.88, state=State.STALE), Finding.NO_DATA),
        (a_status(0.88, sweep_id=4), Finding.NO_DATA),
        (a_status(0.88, rule_applies=False, alerting=False), Finding.NO_DATA),
        (a_status(None), Finding.NO_DATA),
        (a_status(None, rule_applies=True, verdict=LiveVerdict.BELOW, concurrency=0.0), Finding.CLEAR),
        (a_status(None, verdict=LiveVerdict.ABOVE), Finding.NO_DATA),
        (a_status(0.88, speculation_configured=None), Finding.BREACH),
        (a_status(None, speculation_configured=False, sweep_id=4), Finding.NO_DATA),
        (a_status(None, speculation_configured=False), Finding.OFF),
        (a_status(0.939), Finding.BREACH),
        (a_status(0.9401), Finding.BETWEEN),
        (a_status(0.99), Finding.BETWEEN),
        (a_status(0.9901), Finding.CLEAR),
    ],
)
def test_what_one_look_says(status: EndpointStatus, finding: Finding) -> None:
    assert judge(status, SETTINGS) is finding


def observed(ratio: float, low: float, high: float) -> AsOfNow:
    point = BandPoint(48.0, ratio, low, high)
    return AsOfNow("k3", Verdict.CROSSES, 24.0, 21.0, 28.0, (), 2.6, 2.6, None, None, None, point)


@pytest.mark.parametrize(
    ("now", "finding"),
    [
        (observed(1.11, 1.01, 1.3), Finding.CLEAR),
        (observed(1.09, 0.99, 1.3), Finding.BETWEEN),
        (observed(0.90, 0.78, 1.0), Finding.BREACH),
        (observed(0.50, 0.40, 0.6), Finding.BREACH),
    ],
    ids=["ahead for sure", "too far ahead for the band", "as the band says", "behind even the band"],
)
def test_a_breach_is_borne_out_by_what_the_server_makes(now: AsOfNow, finding: Finding) -> None:
    assert judge(a_status(0.88, as_of_now=now), SETTINGS) is finding


def test_an_output_behind_the_band_makes_no_breach_of_a_band_that_is_none() -> None:
    assert judge(a_status(0.96, as_of_now=observed(0.5, 0.4, 0.6)), SETTINGS) is Finding.BETWEEN


def test_a_firing_alert_ends_once_the_servers_own_output_has_spoken_against_it_for_long_enough() -> None:
    """Else what would not raise an alert would keep one up for as long as the load stays."""
    ahead = BandPoint(48.0, 1.2, 1.05, 1.4)
    now = AsOfNow("k3", Verdict.CROSSES, 24.0, 21.0, 28.0, (), 2.6, 2.6, None, None, None, ahead)
    state, told = firing(), None
    for minute in range(2, 8):
        assert told is None
        state, told = evaluate(state, a_status(0.88, as_of_now=now), SETTINGS, minute * 60.0)
    assert told is not None
    assert told.kind == "resolved"
    assert "1.20x [1.05, 1.40] of what the baseline would make at 48.0 concurrent" in told.text
    assert "sweep again" in told.text
    assert "slowdown" not in told.text


def firing() -> AlertState:
    state, event = evaluate(NEW, seen(BAD), replace(SETTINGS, for_s=0.0), 60.0)
    assert event is not None
    return state


def test_an_alert_that_the_weighed_output_ends_says_so_and_not_that_the_band_came_back() -> None:
    """Its lower edge is under 1, so that it takes both to say that nothing is lost."""
    back = a_status(0.96, width=0.09, as_of_now=observed(1.05, 0.99, 1.12))
    state, told = firing(), None
    for minute in range(2, 8):
        assert told is None
        state, told = evaluate(state, back, SETTINGS, minute * 60.0)
    assert told is not None
    assert "1.05x [0.99, 1.12] of what the baseline would make" in told.text
    assert "slowdown has stayed under" not in told.text


def test_a_load_that_has_just_left_does_not_fire_for_its_mean() -> None:
    """The mean of a minute still holds it; the newest look does not."""
    left = a_status(0.88, engines=(EngineNow("0", 6.0, 0.0, 0.1, 48.0, 4200.0),))
    state, _ = evaluate(NEW, seen(BAD), SETTINGS, 0.0)
    state, _ = evaluate(state, seen(BAD), SETTINGS, 60.0)
    state, event = evaluate(state, left, SETTINGS, SETTINGS.for_s)
    assert event is None
    assert state.phase is AlertPhase.PENDING
    _, event = evaluate(state, seen(BAD), SETTINGS, SETTINGS.for_s + 5.0)
    assert event is not None
    assert event.kind == "firing"


@pytest.mark.parametrize(("unseen", "fires"), [(24.0, True), (0.0, False), (None, False)])
def test_the_newest_look_is_of_gauges_that_miss_as_much_as_those_of_the_mean(unseen: float | None, fires: bool) -> None:
    """Twenty on the page are forty where the page shows half of what is there."""
    newest = a_status(0.88, engines=(EngineNow("0", 20.0, 0.0, 0.1, 48.0, 4200.0, unseen),))
    state, _ = evaluate(NEW, newest, SETTINGS, 0.0)
    state, _ = evaluate(state, newest, SETTINGS, 60.0)
    assert (evaluate(state, newest, SETTINGS, SETTINGS.for_s)[1] is not None) is fires


def test_alerts_switched_off_take_a_firing_one_down_with_that_reason() -> None:
    off = replace(SETTINGS, enabled=False)
    state, event = evaluate(firing(), seen(BAD), off, 120.0)
    assert event is not None
    assert (state.phase, event.kind) == (AlertPhase.INACTIVE, "resolved")
    assert "alerts are switched off in the config" in event.title
    assert evaluate(state, seen(BAD), off, 180.0)[1] is None


def test_an_endpoint_that_left_the_config_takes_its_alert_along() -> None:
    before = firing()
    state, event = retire(before, "chat-70b", "the endpoint is not in the config any more", 120.0)
    assert event is not None
    assert event.alert_id == before.alert_id
    assert state.phase is AlertPhase.INACTIVE
    assert retire(NEW, "chat-70b", "gone", 120.0) == (NEW, None)
