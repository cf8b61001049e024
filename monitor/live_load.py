"""Pure: how many requests an engine holds, from its gauges and from what its latency histograms say the gauges miss.

A scheduler's gauges come with the result of a step, so a request shows only once its first step has ended, and those
that wait in front of the scheduler never do. On an H200 the polled mean of vLLM read 2 to 5% low (up to 32% with a full
front end), that of a CPU, where prompts take long, 27%. What a sweep measures is the whole (by Little's law), so a
live load that is read low would be held against the wrong place of its curve.
"""

from __future__ import annotations

from dataclasses import dataclass

from probes.values import EngineRates

FULL_SHARE, NO_SHARE = 1 / 8, 1 / 4
"""Mean latency over the interval: up to the first Little's law counts in full, from the second on not at all, in
between less and less (a cut would make the load jump). Requests that began or end outside the interval make the law
wrong by about sqrt(2 N / 3) latencies, and the longer answers take, the less of them is missing in the gauges."""


@dataclass(frozen=True, slots=True)
class Held:
    """Mean requests of one engine over an interval."""

    value: float
    most: float
    """No more than this: all that run, and all that have no token yet."""


def in_system(running: float, waiting: float, rates: EngineRates | None) -> Held | None:
    """What one engine held over an interval, from the means of its polled gauges over it.

    Little's law on the latency of the requests that ended is exact where load is steady, and far off where a few
    requests live for longer than the interval. So it counts only between two bounds that do not depend on them: no
    fewer than the gauges show, no more than are running and before their first token (seconds, not minutes). The
    second counts those twice whose prompt takes several steps, so that only the law tells where between the truth is.
    None where the page does not tell, or only of another interval: then there are the gauges alone.
    """
    if rates is None or rates.in_system is None or rates.unanswered is None or rates.latency_mean_s is None:
        return None
    share = (NO_SHARE - rates.latency_mean_s / rates.dt_s) / (NO_SHARE - FULL_SHARE)
    if share <= 0:
        return None
    shown, most = running + waiting, running + max(waiting, rates.unanswered)
    return Held(shown + min(1.0, share) * (min(max(shown, rates.in_system), most) - shown), most)
