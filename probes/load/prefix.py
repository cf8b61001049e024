"""Decides how much of each prompt is shared with the cell's other requests, so that the prefix cache hits as it does
for users; pure.

Only whole blocks of tokens can hit. What one request gets too few or too many of, the next ones make up for.
"""

from __future__ import annotations

BLOCK_TOKENS = 16
"""vLLM's default; SGLang shares single tokens, for which this is merely a coarser step."""
MOST = 0.95
"""Of a prompt; something of every prompt must be its own."""


class SharedBlocks:
    """Hands out shared blocks request by request so that their sum stays next to `target` of all prompt tokens."""

    def __init__(self, target: float) -> None:
        self._target = min(max(target, 0.0), MOST)
        self._owed = 0.0

    def whole_tokens(self, own_tokens: float) -> float:
        """How long a prompt gets that keeps `own_tokens` to itself, and the half block that cannot hit."""
        return (own_tokens + BLOCK_TOKENS / 2) / (1.0 - self._target) if self._target else own_tokens

    def next(self, prompt_tokens: float, most_tokens: float) -> int:
        """Blocks that the next prompt of `prompt_tokens` shares; they and half a block fit into `most_tokens`."""
        self._owed += self._target * prompt_tokens
        fit = (most_tokens - BLOCK_TOKENS / 2) // BLOCK_TOKENS
        blocks = int(max(0.0, min(round(self._owed / BLOCK_TOKENS), fit)))
        self._owed -= blocks * BLOCK_TOKENS
        # A debt that cannot be paid (prompts too short to share a block) must not pile up on a later long prompt.
        self._owed = min(self._owed, self._target * prompt_tokens + BLOCK_TOKENS)
        return blocks


def shared_tokens(blocks: int) -> float:
    """Tokens of shared text for so many hits: half a block more, so that a small miscount loses no block."""
    return (blocks + 0.5) * BLOCK_TOKENS if blocks else 0.0
