"""Which crossover live traffic is compared with, the sweep's or that of now: one answer for all rooms."""

from __future__ import annotations

from dataclasses import replace

from monitor.now_values import AsOfNow
from monitor.values import CrossoverNow, EndpointStatus


def compared(crossover: CrossoverNow | None, now: AsOfNow | None) -> CrossoverNow | None:
    """The sweep's crossover, moved to now where that decides; its age stays the sweep's."""
    if crossover is None or now is None or not now.decides:
        return crossover
    return replace(crossover, verdict=now.verdict, value=now.value, low=now.low, high=now.high, band=now.band)


def compared_in(status: EndpointStatus) -> CrossoverNow | None:
    """The crossover that an endpoint's verdict goes by."""
    return compared(status.crossover, status.as_of_now)


def withdrawn(now: AsOfNow | None) -> bool:
    """Whether nothing can be compared because no sweep speaks for the traffic of now."""
    return now is not None and now.decides and not now.band


def seen_faster(now: AsOfNow | None) -> bool:
    """Whether the live output itself shows the live arm ahead of the baseline, by its whole band."""
    return now is not None and now.observed is not None and now.observed.low > 1.0
