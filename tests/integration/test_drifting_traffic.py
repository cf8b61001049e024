"""Production traffic that drifts away from the sweep's: the crossover follows it to the truth, and so do alerts.

Virtual time from the simulated engine to the alert; the truth is the simulator's own, measured at the new traffic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.now_values import AsOfNow
from monitor.store.db import Store, open_store
from monitor.values import EndpointStatus, LiveVerdict
from probes.answer_values import ArmVerdict
from probes.crossover import speedup_at
from probes.sim.truth import true_crossover, true_curve
from tests.support.configs import sound
from tests.support.drifting_server import OFF, ON, Production

POOR = (0.55, 0.33, 0.20, 0.10, 0.05)
MIN = 60.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def production(tmp_path: Path, store: Store, clients: int) -> Production:
    return Production(sound(tmp_path).config, store, clients)


def as_verdict(now: AsOfNow) -> ArmVerdict:
    return ArmVerdict(now.for_arm, now.verdict, now.value, now.low, now.high, now.band, None, ())


def holds(status: EndpointStatus, crossing: float) -> bool:
    now = status.as_of_now
    assert now is not None
    assert now.low is not None
    assert now.high is not None
    return now.low <= crossing <= now.high


def test_acceptance_falls_and_the_alert_follows_the_crossover_as_of_now(tmp_path: Path, store: Store) -> None:
    chat = production(tmp_path, store, 21)
    before = chat.run(5 * MIN)
    assert before.as_of_now is not None
    assert not before.as_of_now.decides
    assert before.verdict is not LiveVerdict.ABOVE
    assert chat.events() == []

    chat.drift(acceptance=POOR)
    after = chat.run(6 * MIN)
    crossing = true_crossover(OFF, replace(ON, acceptance=POOR), request_steps=20_000)
    assert crossing is not None
    assert after.as_of_now is not None
    assert after.as_of_now.decides
    assert after.as_of_now.value == pytest.approx(crossing, rel=0.10)
    assert holds(after, crossing)
    assert not holds(before, crossing), "the sweep's own interval is elsewhere"
    assert after.verdict is LiveVerdict.ABOVE
    (fired,) = chat.events()
    assert fired.kind == "firing"
    assert re.search(r"acceptance 2\.\d\d now, 2.62 when swept", fired.text), fired.text
    assert fired.facts["as_of_now"] is True

    chat.drift(acceptance=ON.acceptance)
    back = chat.run(9 * MIN)
    assert back.as_of_now is not None
    assert not back.as_of_now.decides
    assert [event.kind for event in chat.events()] == ["firing", "resolved"]


def test_longer_prompts_widen_the_band_and_it_holds_the_true_speedup(tmp_path: Path, store: Store) -> None:
    chat = production(tmp_path, store, 12)
    swept = chat.run(MIN).as_of_now
    chat.drift(prompt_tokens=300)
    now = chat.run(18 * MIN).as_of_now
    assert swept is not None
    assert now is not None
    assert now.decides
    assert now.mix is not None
    assert now.mix.mix.prompt_tokens == pytest.approx(300.0, rel=0.02)
    for clients, _, _, speedup in true_curve(OFF, ON, (4, 12, 32), prompt_tokens=300, request_steps=20_000):
        point, before = (speedup_at(as_verdict(one), clients) for one in (now, swept))
        assert point is not None
        assert before is not None
        assert point.low <= speedup <= point.high
        assert point.high / point.low > before.high / before.low


def test_prompts_that_no_sweep_covers_are_not_judged_and_alert_nobody(tmp_path: Path, store: Store) -> None:
    chat = production(tmp_path, store, 40)
    chat.run(MIN)
    chat.drift(prompt_tokens=3000)
    seen = chat.run(20 * MIN)
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert "Sweep with requests like today's" in seen.verdict_reason
    assert not seen.rule_applies


def test_another_mix_is_followed_in_minutes_and_not_averaged_with_the_one_before(tmp_path: Path, store: Store) -> None:
    chat = production(tmp_path, store, 21)
    chat.run(6 * MIN)
    chat.drift(prompt_tokens=1400)
    seen = chat.run(3 * MIN)
    now = seen.as_of_now
    assert now is not None
    assert now.mix is not None
    assert now.mix.mix.prompt_tokens == pytest.approx(1400.0, rel=0.10)
    assert "Requests are 1" in seen.verdict_reason
    assert seen.speedup_now is None
