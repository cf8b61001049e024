"""How far to stretch the fitted batch axis so that k3 crosses the baseline where a test wants it; pure, no simulation.

A mean-field closed loop: every quantity of a step is replaced by its mean. Within a few percent of the simulated
crossing (`truth.true_crossover`), which is what tests compare with.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, sqrt

from probes.sim.model import ACCEPTANCE, H200, PROMPT_TOKENS, StepModel

REFERENCE_K = 3
LEAST, MOST = 1e-4, 1e4
MISSED_STEPS = 2.0
"""Steps of a request's life without decoding: its prefill, and the step that was running when it came."""


def mean_tok_s(
    k: int,
    concurrency: float,
    stretch: float,
    output_tokens: float,
    *,
    prompt_cost: float = 1.0,
    acceptance: tuple[float, ...] = ACCEPTANCE,
    model: StepModel = H200,
) -> float:
    """Output tok/s of one engine with so many requests in the system, each weighing `stretch` requests of the model."""
    per_step = 1.0 + sum(acceptance[:k])
    # Of the last verify step half of what could be accepted lies beyond the end, on average.
    decode_steps = max(0.0, output_tokens - 1.0 + (per_step - 1.0) / 2.0) / per_step
    life_steps = decode_steps + MISSED_STEPS
    arrivals = concurrency / life_steps
    batch = concurrency * decode_steps / life_steps
    mixed = 1.0 - exp(-arrivals)
    prefill_tokens = arrivals * PROMPT_TOKENS * stretch * prompt_cost
    plain_s = model.step_s(batch * stretch, k, 0.0)
    step_s = plain_s + mixed * model.prefill_base_s + model.prefill_s * prefill_tokens
    return arrivals * output_tokens / step_s


@lru_cache(maxsize=64)
def stretch_for(
    crossover: float,
    output_tokens: float,
    prompt_cost: float = 1.0,
    acceptance: tuple[float, ...] = ACCEPTANCE,
) -> float:
    """The stretch at which k3 crosses the baseline at `crossover` requests in the system of one engine."""
    low, high = LEAST, MOST
    while high / low > 1.0001:
        middle = sqrt(low * high)
        on, off = (
            mean_tok_s(k, crossover, middle, output_tokens, prompt_cost=prompt_cost, acceptance=acceptance)
            for k in (REFERENCE_K, 0)
        )
        low, high = (middle, high) if on > off else (low, middle)
    return sqrt(low * high)
