"""Which crossover live traffic is compared with, the sweep's or that of now: one answer for all rooms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from monitor.now_values import AsOfNow
from monitor.values import CrossoverNow, EndpointStatus, StoredCrossover
from probes.answer_values import ArmVerdict


def compared(crossover: CrossoverNow | None, now: AsOfNow | None) -> CrossoverNow | None:
    """The sweep's crossover, moved to now where that decides; its age stays the sweep's."""
    if crossover is None or now is None or not now.decides:
        return crossover
    return replace(crossover, verdict=now.verdict, value=now.value, low=now.low, high=now.high, band=now.band)


def compared_in(status: EndpointStatus) -> CrossoverNow | None:
    """The crossover that an endpoint's verdict goes by."""
    return compared(status.crossover, status.as_of_now)


def moved_in(status: EndpointStatus) -> bool:
    """Whether an endpoint's verdict goes by the crossover as of now."""
    return status.as_of_now is not None and status.as_of_now.decides


def arms_compared(stored: StoredCrossover, now: AsOfNow | None) -> Mapping[str, ArmVerdict]:
    """Every speculative arm's answer of the kind that the verdict goes by; as of now some may be left out."""
    return now.arms if now is not None and now.decides else stored.result.arms


def withdrawn(now: AsOfNow | None) -> bool:
    """Whether nothing can be compared because no sweep speaks for the traffic of now."""
    return now is not None and now.decides and not now.band


def seen_faster(now: AsOfNow | None) -> bool:
    """Whether the live output itself shows the live arm ahead of the baseline, by its whole band."""
    return now is not None and now.observed is not None and now.observed.low > 1.0
