"""Whether a sweep's cap cuts answers as long as live ones, and what to set instead; pure.

Shorter answers are another load: the crossover that they give is not production's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probes.sweep.plan import LoadSpec

WORTH_SAYING = 0.10
"""A mean that is cut by more than this is another mix of requests; so much moves a crossover as of now."""
ROUND_TO = 64
"""What is proposed is a multiple of this."""
MOST = 65_536
"""No `max_tokens` of a config may be higher."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Live answers under a sweep's cap, in tokens."""

    live_mean: float
    mean: float
    """Of the same answers, none longer than the cap."""
    share: float
    """Of the answers, that are longer than the cap."""
    enough: int
    """A cap that cuts next to none, or the highest there is."""


def cut_answers(load: LoadSpec) -> Cut | None:
    """What the cap does to live lengths; None where it changes little or live lengths are not known."""
    if load.shape is None:
        return None
    answers = load.shape.output_tokens
    live_mean = sum(answers) / len(answers)
    mean = sum(min(tokens, load.max_tokens) for tokens in answers) / len(answers)
    if mean >= (1 - WORTH_SAYING) * live_mean:
        return None
    share = sum(tokens > load.max_tokens for tokens in answers) / len(answers)
    return Cut(live_mean, mean, share, min(MOST, ROUND_TO * math.ceil(max(answers) / ROUND_TO)))


def cut_words(cut: Cut, max_tokens: int) -> str:
    """What is wrong and what to set."""
    remedy = f"set max_tokens = {cut.enough} or more" if cut.enough < MOST else f"max_tokens may be {MOST} at most"
    return (
        f"max_tokens = {max_tokens} cuts {cut.share:.0%} of answers as long as live ones: the sweep's mean answer has "
        f"{cut.mean:.0f} tokens, the live one {cut.live_mean:.0f}; {remedy}"
    )
