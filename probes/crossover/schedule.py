"""The dynamic schedule that the best arms imply, in the words of vLLM and SGLang; a hypothesis, never a recommendation.

Built from the best static arm per level such a schedule has run slower than no speculation at all, so none counts as
measured before that very configuration has been an arm of a sweep.
"""

from __future__ import annotations

from collections.abc import Mapping

from probes.values import Crossover, Schedule


def schedule_of(found: Crossover, arm_k: Mapping[str, int | None], engines: int | None) -> Schedule | None:
    """None where no schedule can be named: no K known, or several engines, where vLLM drops one silently."""
    return None
