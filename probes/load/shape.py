"""How long prompts and answers of real traffic are, so that the load can be made alike; pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LengthShape:
    """Lengths at evenly spaced quantiles, rising, in tokens; every arm gets the same ones."""

    prompt_tokens: tuple[float, ...]
    output_tokens: tuple[float, ...]
    requests: float
    """Finished requests of real traffic that the quantiles rest on."""
