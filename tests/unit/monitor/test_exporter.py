"""Our own metrics page: what is known has a sample with its bounds, what is not known has none."""

from __future__ import annotations

from monitor.exporter import Exporter
from monitor.now_values import AsOfNow, LiveMix
from monitor.values import EndpointStatus
from probes.answer_values import BandPoint, Verdict
from probes.steptime.values import Mix
from tests.support.records import a_status

WHO = {"endpoint": "chat", "pool": "chat-70b"}
K3 = {**WHO, "arm": "k3"}
NOW = AsOfNow(
    for_arm="k3",
    verdict=Verdict.CROSSES,
    value=15.0,
    low=13.0,
    high=None,
    band=(),
    acceptance_length=2.1,
    acceptance_measured=2.6,
    break_even=BandPoint(48.0, 2.75, 2.61, 2.9),
    mix=LiveMix(Mix(191.0, 249.0), 812.0, 895.0),
    mix_measured=Mix(178.0, 256.0),
    observed=BandPoint(48.0, 0.9, 0.77, 1.02),
    decides=True,
)


def exporter(status: EndpointStatus) -> Exporter:
    page = Exporter()
    page.update([status], {}, [], 1000.0)
    return page


def test_the_crossover_as_of_now_is_shown_beside_the_swept_one() -> None:
    value = exporter(a_status(0.88, as_of_now=NOW)).registry.get_sample_value
    assert value("specwatch_crossover_concurrency", {**K3, "bound": "value"}) == 24.0
    assert value("specwatch_crossover_now_concurrency", {**K3, "bound": "value"}) == 15.0
    assert value("specwatch_crossover_now_concurrency", {**K3, "bound": "low"}) == 13.0
    assert value("specwatch_crossover_now_concurrency", {**K3, "bound": "high"}) is None, "an open edge has no sample"
    assert value("specwatch_as_of_now_decides", WHO) == 1.0
    assert value("specwatch_break_even_acceptance_tokens", {**K3, "bound": "low"}) == 2.61
    assert value("specwatch_acceptance_swept_tokens", K3) == 2.6
    assert value("specwatch_mix_tokens", {**WHO, "kind": "prompt"}) == 191.0
    assert value("specwatch_mix_tokens", {**WHO, "kind": "output"}) == 249.0
    assert value("specwatch_observed_speedup_ratio", {**WHO, "bound": "high"}) == 1.02


def test_without_anything_to_say_of_now_there_are_no_samples() -> None:
    value = exporter(a_status(0.88)).registry.get_sample_value
    assert value("specwatch_as_of_now_decides", WHO) is None
    assert value("specwatch_crossover_now_concurrency", {**K3, "bound": "value"}) is None
    assert value("specwatch_speedup_ratio", {**WHO, "bound": "low"}) == 0.85
