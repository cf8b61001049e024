"""Whether a sweep's cap cuts answers as long as live ones, and what to set instead; pure.

Shorter answers are another load: the crossover that they give is not production's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitor.config.model import MAX_TOKENS_MOST
from probes.sweep.plan import LoadSpec

WORTH_SAYING = 0.10
"""A mean that is cut by more than this is another mix of requests; so much moves a crossover as of now."""
ROUND_TO = 64
"""What is proposed is a multiple of this."""


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
    live_mean, mean = load.shape.means[1], load.shape.cut_mean(load.max_tokens)
    if mean >= (1 - WORTH_SAYING) * live_mean:
        return None
    share = sum(tokens > load.max_tokens for tokens in answers) / len(answers)
    return Cut(live_mean, mean, share, min(MAX_TOKENS_MOST, ROUND_TO * math.ceil(max(answers) / ROUND_TO)))


def cut_words(cut: Cut, max_tokens: int) -> str:
    """What is wrong and what to set."""
    remedy = (
        f"set max_tokens = {cut.enough} or more"
        if cut.enough < MAX_TOKENS_MOST
        else f"max_tokens may be {MAX_TOKENS_MOST} at most"
    )
    return (
        f"max_tokens = {max_tokens} cuts {cut.share:.0%} of answers as long as live ones: the sweep's mean answer has "
        f"{cut.mean:.0f} tokens, the live one {cut.live_mean:.0f}; {remedy}"
    )
