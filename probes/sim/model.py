"""How long one engine step takes, so that the simulator crosses where a real GPU does; pure, no clock, no noise.

Fitted by `benchmarks/fit_sim.py` to 70 cells measured on one H200 with vLLM 0.26.0 (Llama-3.1-8B shape, EAGLE-3 head,
178 prompt and 256 output tokens, closed loop, arms off, k1, k3 and k5 at 1 to 256 clients). The table of errors per arm
and rung is in `docs/simulator.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

ACCEPTANCE = (0.72, 0.52, 0.38, 0.28, 0.20)
"""Unconditional acceptance by position of the fitted cells: the share of drafts that pass up to and with it."""

OUTPUT_TOKENS = 256
PROMPT_TOKENS = 178


@dataclass(frozen=True, slots=True)
class StepModel:
    """A roofline with soft corner: reading the weights or computing the tokens, whichever is longer, plus what adds up.

    `step_s = base + draft * K + (memory^p + (token * T)^p)^(1/p) + request * B
    + prefill_base [P > 0] + prefill * P` with T = B (K + 1) verified tokens. All times in seconds.
    """

    base_s: float
    draft_s: float
    """Per draft position: the draft head runs once for each."""
    memory_s: float
    """Weights and activations through memory, whatever the batch."""
    token_s: float
    """Compute per verified token."""
    corner: float
    """How sharp the roofline's corner is (p)."""
    request_s: float
    """Per request in the batch: its KV cache, sampling and output handling."""
    prefill_base_s: float
    """Extra cost of a step that holds any prompt tokens: it runs outside the full CUDA graph."""
    prefill_s: float
    """Per prompt token."""

    def step_s(self, batch: float, k: int, prefill_tokens: float) -> float:
        """Seconds of one step that verifies `k` drafts for each of `batch` requests and computes `prefill_tokens`."""
        seconds = self.base_s + self.draft_s * k + self.request_s * batch
        if prefill_tokens:
            seconds += self.prefill_base_s + self.prefill_s * prefill_tokens
        compute_s = self.token_s * batch * (k + 1)
        return seconds + float((self.memory_s**self.corner + compute_s**self.corner) ** (1.0 / self.corner))


H200 = StepModel(
    base_s=1.593e-4,
    draft_s=5.074e-4,
    memory_s=4.585e-3,
    token_s=2.429e-5,
    corner=2.530,
    request_s=9.539e-6,
    prefill_base_s=1.2e-3,
    prefill_s=3.744e-5,
)
