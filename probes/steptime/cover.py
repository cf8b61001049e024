"""Which prompt and output lengths the sweeps behind a step-time model have covered; pure geometry, no judgement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import hypot, log

from probes.steptime.values import Mix

COVERED = log(1.25)
"""Mixes closer than this (25% in prompt or output tokens) are one mix."""
NO_PROMPT = 1.0
"""Tokens: a prompt that the prefix cache holds whole still computes its last one."""


def distance(mixes: Sequence[Mix], mix: Mix) -> float:
    """How far `mix` is from what was swept, in natural logs of tokens; 0 within COVERED of a mix or between two."""
    here = _place(mix)
    places = [_place(one) for one in mixes]
    nearest = min([hypot(here[0] - x, here[1] - y) for x, y in places], default=float("inf"))
    for one, two in combinations(places, 2):
        nearest = min(nearest, _to_segment(here, one, two))
    return max(0.0, nearest - COVERED)


def nearest_mix(mixes: Sequence[Mix], mix: Mix) -> Mix | None:
    """The swept mix that is closest to `mix`; None where none was swept."""
    here = _place(mix)
    return min(mixes, key=lambda one: hypot(here[0] - _place(one)[0], here[1] - _place(one)[1]), default=None)


def _place(mix: Mix) -> tuple[float, float]:
    return log(max(NO_PROMPT, mix.prompt_tokens)), log(max(1.0, mix.output_tokens))


def _to_segment(here: tuple[float, float], one: tuple[float, float], two: tuple[float, float]) -> float:
    along = (two[0] - one[0], two[1] - one[1])
    length = hypot(*along)
    if not length:
        return hypot(here[0] - one[0], here[1] - one[1])
    share = ((here[0] - one[0]) * along[0] + (here[1] - one[1]) * along[1]) / length**2
    share = min(1.0, max(0.0, share))
    return hypot(here[0] - one[0] - share * along[0], here[1] - one[1] - share * along[1])
