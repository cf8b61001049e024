"""Pure reduction of two pages to what finished requests looked like between them; no clock, no I/O.

Where a page does not tell both lengths there is no mix: a guessed one would move curves that were measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from monitor.now_values import LiveMix
from probes.crossover.noise import Z_BAND
from probes.scrape.quantiles import gained
from probes.scrape.rates import restarted
from probes.steptime.values import Mix
from probes.values import EngineReading, Histogram, Reading

MIX_SPAN_S = 900.0
"""How far back the mix looks: long enough for the lengths of slow traffic, short enough to follow the hour."""
NEWEST_SPAN_S = 120.0
"""The newest part of it, which is taken alone once it shows another mix: a change is followed within as much."""
MIN_REQUESTS = 20
"""Fewer finished requests say next to nothing: the 90% interval of their mean length is wider than a factor of 1.4."""
LIFETIMES = 10
"""Requests that a server must have finished since its start for each one that is in it now. Before, the short answers
have ended and the long ones have not: of a hundred that begin together the first twenty to end are the shortest."""
LENGTH_SPREAD = 1.0
"""Standard deviation of lengths over their mean, as chat traffic has it (log-normal with sigma 0.8), and the least that
is believed: the longest requests, which make it, may not have come yet."""
SAME_MIX = 0.10
"""Means closer than this are one mix; sweeps, which take their lengths from live traffic, use the same share."""


def live_mix(before: Reading, after: Reading) -> LiveMix | None:
    """Mean lengths of what finished between two pages of one server start, all engines together.

    None below MIN_REQUESTS, across a restart, soon after a start (LIFETIMES), and where the page lacks a length or its
    prefix cache's counters.
    """
    if after.at_s <= before.at_s or restarted(before, after):
        return None
    pairs = list(_pairs(before, after))
    outputs, prompts = _gained(pairs, "generation_tokens"), _gained(pairs, "prompt_tokens")
    if outputs is None or prompts is None or min(outputs.count, prompts.count) < MIN_REQUESTS:
        return None
    if _just_started(after):
        return None
    computed = _computed(pairs, prompts)
    if computed is None or outputs.total <= 0:
        return None
    mix = Mix(prompt_tokens=computed, output_tokens=outputs.total / outputs.count)
    spread = max(LENGTH_SPREAD, length_spread(outputs), length_spread(prompts))
    return LiveMix(mix, requests=outputs.count, span_s=after.at_s - before.at_s, spread=spread)


def newest_mix(before: Reading, lately: Reading, after: Reading) -> LiveMix | None:
    """The mix since `before`, or since the later `lately` where that alone differs clearly.

    Clearly: by more than both 90% intervals, and by what may be missing in the few minutes because the longest have not
    ended yet. Steady traffic is taken for changed at about one look in a hundred.
    """
    whole, newest = live_mix(before, after), live_mix(lately, after)
    if whole is None or newest is None:
        return whole
    apart = max(SAME_MIX, mix_noise(whole) + mix_noise(newest) + _unended(newest.requests, after))
    return newest if mix_distance(newest.mix, whole.mix) > apart else whole


def _unended(ended: float, page: Reading) -> float:
    """How far (natural log) a mean length may read low where a burst began with the minutes: who is still inside would
    have ended with them, and is twice as long as the others where lengths spread by LENGTH_SPREAD."""
    share = inside(page) / ended
    return -math.log(1.0 - share) if share < 1.0 else math.inf


def mix_noise(mix: LiveMix) -> float:
    """Half width of the 90% interval of the live mean lengths, as a difference of logarithms."""
    return Z_BAND * mix.spread / math.sqrt(mix.requests)


def length_spread(lengths: Histogram) -> float:
    """Standard deviation over mean of what a histogram holds, a bucket's requests taken as spread evenly over it.

    Buckets are coarse, so the lengths are scaled to the mean that the page's sum gives; what lies beyond the last edge
    is taken to lie at it. 0 where nothing tells.
    """
    mean = square = lower = below = 0.0
    for edge, counted in zip(lengths.edges, lengths.counts, strict=True):
        upper = lower if math.isinf(edge) else max(edge, 0.0)
        mean += (counted - below) * (lower + upper) / 2
        square += (counted - below) * (lower * lower + lower * upper + upper * upper) / 3
        lower, below = upper, counted
    if below <= 0 or mean <= 0:
        return 0.0
    return math.sqrt(max(0.0, square * below / mean**2 - 1.0))


def mix_moved(now: LiveMix, measured: Mix) -> bool:
    """Whether live lengths differ from the measured ones by more than their own noise and SAME_MIX."""
    return mix_distance(now.mix, measured) > max(SAME_MIX, mix_noise(now))


def mix_distance(one: Mix, two: Mix) -> float:
    """How far two mixes lie apart: the larger difference of logarithms, of prompts or of answers."""
    prompts, outputs = (one.prompt_tokens, two.prompt_tokens), (one.output_tokens, two.output_tokens)
    # One token more: a mix whose prompts all come from the cache has no logarithm.
    return max(abs(math.log((a + 1.0) / (b + 1.0))) for a, b in (prompts, outputs))


def _pairs(before: Reading, after: Reading) -> Iterator[tuple[EngineReading, EngineReading]]:
    earlier = {engine.engine: engine for engine in before.engines}
    for engine in after.engines:
        if engine.engine in earlier:
            yield earlier[engine.engine], engine


def _just_started(page: Reading) -> bool:
    finished = sum(e.histograms["generation_tokens"].count for e in page.engines if "generation_tokens" in e.histograms)
    return finished < LIFETIMES * inside(page)


def inside(page: Reading) -> float:
    """Requests in the system when the page was written, all engines together."""
    return sum((e.running or 0.0) + (e.waiting or 0.0) for e in page.engines)


def _gained(pairs: list[tuple[EngineReading, EngineReading]], name: str) -> Histogram | None:
    """What was observed, over all engines; None where one of them does not tell."""
    gains = [
        gained(old.histograms[name], new.histograms[name])
        if name in old.histograms and name in new.histograms
        else None
        for old, new in pairs
    ]
    known = [gain for gain in gains if gain is not None]
    if not known or len(known) < len(gains):
        return None
    edges = known[0].edges
    alike = all(gain.edges == edges for gain in known)
    counts = tuple(map(sum, zip(*(gain.counts for gain in known), strict=True))) if alike else ()
    return Histogram(edges if alike else (), counts, sum(g.total for g in known), sum(g.count for g in known))


def _computed(pairs: list[tuple[EngineReading, EngineReading]], prompts: Histogram) -> float | None:
    """Mean prompt tokens that were computed: from their own histogram, else the prompts less the cache's share."""
    own = _gained(pairs, "computed_prompt_tokens")
    if own is not None and own.count > 0:
        return own.total / own.count
    queries = hits = 0.0
    for old, new in pairs:
        if None in (old.prefix_queries, new.prefix_queries, old.prefix_hits, new.prefix_hits):
            return None
        queries += (new.prefix_queries or 0.0) - (old.prefix_queries or 0.0)
        hits += (new.prefix_hits or 0.0) - (old.prefix_hits or 0.0)
    share = min(1.0, max(0.0, hits / queries)) if queries > 0 else 0.0
    return prompts.total / prompts.count * (1.0 - share)
