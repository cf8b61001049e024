"""What one simulated server is, in one frozen value that tests and demo share; no behaviour beyond checks."""

from __future__ import annotations

from dataclasses import dataclass

from probes.sim.model import ACCEPTANCE, OUTPUT_TOKENS
from probes.sim.stretch import stretch_for

BLOCK_TOKENS = 16
DRAFT_KV_SHARE = 0.90
"""KV blocks a drafting server has left of the baseline's (6454 of 7168 on the H200): the draft head takes memory."""
UNREACHABLE = 16.0
"""`crossover=None` puts the crossing this many times beyond `max_num_seqs`."""


@dataclass(frozen=True, slots=True)
class SimSpec:
    """One simulated server. Raises ValueError in words where values contradict each other."""

    k: int = 0
    """Draft tokens per step; 0 is a server without speculation."""
    crossover: float | None = 24.0
    """Requests in the system of one engine at which k3 crosses the baseline, with the fitted acceptance and 178 prompt
    tokens; None: speculation wins at any load the server admits."""
    time_scale: float = 1.0
    """Stretches every step, so that Python keeps up with a chunk per request and step."""
    seed: int = 0
    """Of start bias, noise, acceptance and output lengths. Another seed is another start of the server."""
    start_noise: float = 1.0
    """1 is as measured: each start is off by about 1% (baseline) or 2% (drafting); repeats cannot see it."""
    step_noise: float = 1.0
    """1 is as measured: 0.5% between repeats for the baseline up to 2.5% for k5, and 3% from step to step."""
    acceptance: tuple[float, ...] = ACCEPTANCE
    """Unconditional, by position; at least `k` long and never rising."""
    max_num_seqs: int = 256
    kv_tokens: int = 114_688
    """KV cache of the baseline; a drafting server has 10% less."""
    mean_output_tokens: float = OUTPUT_TOKENS
    """Mean of the natural stop; requests are also capped by their `max_tokens`."""
    engines: int = 1
    """Data-parallel engines behind the one address."""
    model_name: str = "sim-8b"
    version: str = "0.26.0"
    max_model_len: int = 4096
    token_budget: int = 8192
    """Tokens per step on the unstretched batch axis; chunks long prompts."""
    prefix_caching: bool = True
    crossover_at: tuple[float, ...] = ACCEPTANCE
    """The acceptance at which `crossover` holds; a server that accepts less crosses earlier."""
    prompt_cost: float = 1.0
    """Scales what a prompt token costs. Answers much shorter than the fitted 256 tokens need prompts cheaper in
    proportion, or the server does little but prefill and no arm differs from another."""
    schedule: tuple[tuple[int, int, int], ...] = ()
    """Draft tokens by running requests, in rows of first, last, K as vLLM's `num_speculative_tokens_per_batch_size`
    takes them; the last K goes on above. Empty: always `k`."""
    schedule_cost: float = 1.0
    """Stretches every step of a server with a schedule: vLLM 0.26 gives up its full CUDA graphs for one."""

    def __post_init__(self) -> None:
        if self.k < 0 or self.k > len(self.acceptance):
            raise ValueError(f"k={self.k} needs {self.k} acceptance rates, there are {len(self.acceptance)}")
        if any(not 0.0 <= rate <= 1.0 for rate in self.acceptance):
            raise ValueError(f"acceptance rates lie between 0 and 1, not {self.acceptance}")
        if any(later > earlier for earlier, later in zip(self.acceptance, self.acceptance[1:], strict=False)):
            raise ValueError(f"acceptance by position is unconditional and never rises, not {self.acceptance}")
        if self.crossover is not None and self.crossover <= 0:
            raise ValueError(f"crossover={self.crossover} must be above 0, or None for a server where speculation wins")
        if (
            self.prompt_cost < 0
            or self.time_scale <= 0
            or self.mean_output_tokens < 1
            or self.engines < 1
            or self.max_num_seqs < 1
        ):
            raise ValueError(
                "time_scale, mean_output_tokens, engines and max_num_seqs must be positive, prompt_cost at least 0"
            )
        if self.schedule and max(k for _, _, k in self.schedule) > self.k:
            raise ValueError(f"the schedule {self.schedule} drafts more than k={self.k}")
        if self.kv_blocks < 2 + self.k:
            raise ValueError(f"kv_tokens={self.kv_tokens} does not hold one request")

    @property
    def arm(self) -> str:
        """The usual name of this configuration: `off`, `k3`."""
        return f"k{self.k}" if self.k else "off"

    def k_at(self, running: int) -> int:
        """Draft tokens per step with so many running requests."""
        rows = [k for first, _, k in self.schedule if first <= max(1, running)]
        return rows[-1] if rows else self.k

    @property
    def stretch(self) -> float:
        """How many requests of the fitted model one request here weighs."""
        crossover = UNREACHABLE * self.max_num_seqs if self.crossover is None else self.crossover
        return stretch_for(crossover, self.mean_output_tokens, self.prompt_cost, self.crossover_at)

    @property
    def kv_blocks(self) -> int:
        """KV blocks of one engine."""
        return int(self.kv_tokens * (DRAFT_KV_SHARE if self.k else 1.0)) // BLOCK_TOKENS

    @property
    def context_limit(self) -> int:
        """Longest prompt plus output that the server accepts."""
        return min(self.max_model_len, (self.kv_blocks - 1) * BLOCK_TOKENS - self.k - 1)
