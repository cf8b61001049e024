"""The alert on readings of a real server that lost, and whose arm was then really switched: said and measured."""

from __future__ import annotations

from functools import cache

import pytest

from monitor.values import AlertEvent
from tests.support.alert_replay import LIKE_FIXTURE, LIKE_SWEEP, RULE, Look, by_phase, looks, readings_in

MEASURED_BY_SWITCHING = 10_350 / 13_400
"""K=3 with poor acceptance over off, tok/s of 124 clients that wait for their answers, before and after the switch."""
MEASURED_AT_16 = 3_927 / 3_095
"""The same of 16 clients, over what the sweep found of off."""
LOAD_ROSE_S = 1796080405.27
LOW, HIGH, SWITCHED = "p16", "p124", "off124"


@cache
def seen() -> tuple[Look, ...]:
    return tuple(looks(readings_in(LIKE_FIXTURE), sweep=LIKE_SWEEP))


def events() -> dict[str, list[AlertEvent]]:
    return by_phase(seen())


def fired() -> AlertEvent:
    (event,) = events()[HIGH]
    return event


def test_the_sweep_itself_had_found_no_crossing_up_to_160() -> None:
    crossover = seen()[-1].status.crossover
    assert crossover is not None
    assert crossover.value is None
    assert crossover.low is not None
    assert crossover.low > 124


def test_it_fires_once_and_within_a_minute_of_the_load() -> None:
    assert not events()[LOW]
    event = fired()
    assert event.kind == "firing"
    assert LOAD_ROSE_S < event.started_at_s <= event.at_s - RULE.for_s
    assert event.at_s - LOAD_ROSE_S < 60


def test_what_it_claims_holds_what_switching_measured() -> None:
    facts = fired().facts
    low, said, high = (facts[name] for name in ("speedup_low", "speedup", "speedup_high"))
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < MEASURED_BY_SWITCHING < high
    assert said == pytest.approx(MEASURED_BY_SWITCHING, rel=0.05)
    assert facts["as_of_now"] is True
    assert facts["best_arm"] == "off"


def test_it_resolves_once_when_the_arm_is_switched_off() -> None:
    (event,) = events()[SWITCHED]
    assert event.kind == "resolved"
    assert event.alert_id == fired().alert_id
    assert event.facts["resolved_because"] == "speculation is off now"
    first_page_s = next(look.at_s for look in seen() if look.phase == SWITCHED)
    assert event.at_s - first_page_s < 4


def test_the_output_of_the_server_bears_it_out() -> None:
    full = [look.status.as_of_now for look in seen() if (look.status.concurrency or 0.0) > 122]
    observed = [now.observed for now in full if now is not None and now.observed is not None]
    assert len(observed) > 20
    for one in observed:
        assert one.low < MEASURED_BY_SWITCHING < one.high
        assert one.ratio == pytest.approx(MEASURED_BY_SWITCHING, rel=0.03)


def test_the_same_server_is_said_to_pay_while_its_load_is_small() -> None:
    small = [look.status.speedup_now for look in seen() if look.phase == LOW]
    known = [speedup for speedup in small if speedup is not None]
    assert len(known) > 4
    for speedup in known:
        assert speedup.low < MEASURED_AT_16 < speedup.high
        assert speedup.ratio == pytest.approx(MEASURED_AT_16, rel=0.03)


@pytest.mark.parametrize(("phase", "clients", "within"), [(LOW, 16.0, 0.02), (HIGH, 124.0, 0.01)])
def test_the_load_is_read_as_it_is(phase: str, clients: float, within: float) -> None:
    """The gauges alone read 124 1.5% low."""
    read = [look.status.concurrency or 0.0 for look in seen() if look.phase == phase]
    steady = sorted(abs(one / clients - 1) for one in read if 0.95 * clients < one < 1.05 * clients)
    assert len(steady) > 4
    assert steady[len(steady) // 2] < within
