"""Pure: how many requests an engine holds, from its gauges and from what its latency histograms say the gauges miss.

A scheduler's gauges come with the result of a step, so a request shows only once its prompt was read, and those that
wait in front of the scheduler never do. On an H200 the polled mean of vLLM read 2 to 5% low (up to 32% with a full
front end), that of a CPU, where prompts take long, 27%. What a sweep measures is the whole (by Little's law), so a
live load that is read low would be held against the wrong place of its curve.
"""

from __future__ import annotations

from probes.values import EngineRates

STEADY_SHARE = 1 / 8
"""Of the interval, for the mean time to first token: with longer ones, what was answered in it is of another load."""


def in_system(running: float, waiting: float, rates: EngineRates | None) -> float | None:
    """Mean requests of one engine over an interval, from the means of its polled gauges over it.

    Little's law on the latency of the requests that ended is exact where load is steady, and far off where a few
    requests live for longer than the interval. So it counts only between two bounds that do not depend on them: no
    fewer than the gauges show, no more than are running and before their first token (seconds, not minutes).
    None where the page does not tell, or only of another interval: then there are the gauges alone.
    """
    if rates is None or rates.in_system is None or rates.unanswered is None or rates.ttft_mean_s is None:
        return None
    if rates.ttft_mean_s > STEADY_SHARE * rates.dt_s:
        return None
    return min(max(running + waiting, rates.in_system), running + max(waiting, rates.unanswered))
