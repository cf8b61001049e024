"""The alert on readings of real servers whose load climbed through the crossover and fell: it must not flap."""

from __future__ import annotations

from functools import cache

import pytest

from monitor.commands.once_text import status_line
from monitor.observed import with_output
from monitor.values import AlertEvent, EndpointStatus
from tests.support.alert_replay import FIXTURE, PHASES, SGLANG_FIXTURE, SGLANG_SWEEP, looks, readings_in, replay


@cache
def told() -> dict[str, list[AlertEvent]]:
    return replay(FIXTURE)


def test_every_phase_of_the_run_is_replayed() -> None:
    assert tuple(told()) == PHASES
    times = [reading.at_s for _, reading in readings_in(FIXTURE)]
    assert times == sorted(times)


@pytest.mark.parametrize("phase", PHASES)
def test_no_phase_fires_or_resolves_more_than_once(phase: str) -> None:
    kinds = [event.kind for event in told()[phase]]
    assert kinds.count("firing") <= 1
    assert kinds.count("resolved") <= 1


def test_a_resolution_is_of_the_alert_that_fired_last() -> None:
    events = [event for phase in PHASES for event in told()[phase]]
    for at, event in enumerate(events):
        assert event.kind == ("firing" if at % 2 == 0 else "resolved")
        assert at % 2 == 0 or event.alert_id == events[at - 1].alert_id


@cache
def seen(phase: str) -> list[EndpointStatus]:
    return [look.status for look in looks(readings_in(FIXTURE)) if look.phase == phase]


def at_load(phase: str, low: float, high: float) -> list[EndpointStatus]:
    return [status for status in seen(phase) if status.concurrency is not None and low < status.concurrency < high]


def test_a_loss_that_the_sweep_had_found_and_the_server_does_not_show_wakes_nobody() -> None:
    """The sweep's K=3 made 11,840 tok/s at 160; this one 14,100 of 161, and the baseline 14,150 under the same load."""
    full = [s for s in at_load("climb", 157.0, 163.0) if s.as_of_now is not None and s.as_of_now.observed is not None]
    assert len(full) > 5
    for status in full:
        assert status.speedup_now is not None
        assert status.speedup_now.high < 0.97, "the sweep's band alone would fire"
        assert not status.alerting
        assert "not sure enough for an alert" in status.alerting_reason
        assert "no alert: the live output is 1.0" in status_line(status), "nor is nobody told why"
    assert not told()["climb"]


def test_poor_acceptance_is_judged_by_the_crossover_as_of_now_and_a_load_that_has_left_wakes_nobody() -> None:
    """128 clients for 16 s were 22% slower than off; once that had lasted for_s the load was 40, and faster."""
    full = at_load("poor", 110.0, 130.0)
    assert full
    assert all(s.as_of_now is not None and s.as_of_now.value is not None and s.as_of_now.value < 50 for s in full)
    assert all(s.alerting for s in full)
    assert not told()["poor"]


def test_sglang_fires_once_while_its_load_stands_above() -> None:
    (event,) = replay(SGLANG_FIXTURE, SGLANG_SWEEP)["sglang"]
    assert event.kind == "firing"
    assert event.title.startswith("prod: speculation is costing about 32%")
    assert "crossover 40.9 [35.8, 48.4]" in event.title


MEASURED_BY_SWITCHING = 12_795 / 14_151
"""K=3 over off, tok/s of 161 clients that wait for their answers; seconds before and after the switch."""


def test_what_was_said_of_closed_loop_output_was_near_the_switched_arm_and_with_the_live_output_held_it() -> None:
    """Swept on another machine of the same kind, whose own repeats do not know how two machines differ."""
    status = at_load("switch", 159.0, 163.0)[-1]
    assert status.speedup_now is not None
    assert status.speedup_now.ratio == pytest.approx(MEASURED_BY_SWITCHING, rel=0.05)
    both = with_output(status.speedup_now, status.as_of_now)
    assert both.low < MEASURED_BY_SWITCHING < both.high
    assert status.alerting


TRUE_LOADS = (("climb", 16.0), ("climb", 161.0), ("poor", 80.0))
"""Clients in a closed loop, by the load's own count."""


@pytest.mark.parametrize(("phase", "clients"), TRUE_LOADS)
def test_the_load_is_read_within_two_percent(phase: str, clients: float) -> None:
    """The gauges alone read 15.2, 157.9 and 78.2 of them, as far as a window holds one load."""
    steady = [s for s in at_load(phase, 0.9 * clients, 1.1 * clients) if s.engines[0].unseen]
    nearest = sorted(abs((s.concurrency or 0.0) / clients - 1) for s in steady)
    assert len(nearest) > 3
    assert nearest[len(nearest) // 2] < 0.02


def test_what_was_said_of_the_same_arrivals_held_the_switched_arm() -> None:
    """89.0 requests were in the system of off, each token taking 1.41 times as long, where K=3 had held 62.0."""
    reading = min(seen("rate"), key=lambda s: abs((s.concurrency or 0.0) - 61.9) if s.live_arm == "k3" else 1e9)
    assert reading.cost is not None
    (off,) = [arm for arm in reading.cost.at_same_rate if arm.arm == "off"]
    assert off.concurrency is not None
    assert off.time_per_token is not None
    assert (off.concurrency.low or 0.0) < 89.0 < (off.concurrency.high or 0.0)
    assert (off.time_per_token.low or 0.0) < 1.41 < (off.time_per_token.high or 0.0)
