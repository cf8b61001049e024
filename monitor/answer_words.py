"""The few words that a terminal and a screen share about a sweep's answer; imports nothing that computes."""

from __future__ import annotations

from collections.abc import Iterable

METRICS = {"tpot_p50": "TPOT p50", "tpot_p99": "TPOT p99", "ttft_p50": "TTFT p50", "ttft_p99": "TTFT p99"}
"""Keys of `Crossover.latency` as people write them: time per output token and time to the first one."""
SAID = {"crosses", "always_faster"}
"""Reasons that say no more than the verdict's own sentence."""


def joined(sentences: Iterable[str]) -> str:
    """Whole sentences as parts of one; each keeps no full stop of its own."""
    return "; ".join(text.rstrip(".") for text in sentences)
