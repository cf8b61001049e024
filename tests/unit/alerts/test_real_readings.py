"""The alert on readings of real servers whose load climbed through the crossover and fell: it must not flap."""

from __future__ import annotations

from functools import cache

import pytest

from monitor.values import AlertEvent
from tests.support.alert_replay import FIXTURE, PHASES, readings_in, replay


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
