"""One request inside the simulated engine, and the cache of prompt prefixes; state only, no scheduling."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence

from probes.sim.spec import BLOCK_TOKENS

CHARS_PER_TOKEN = 4


class Request:
    """What the engine knows of one request. `sink` belongs to the caller and is never looked at."""

    __slots__ = (
        "arrival_s",
        "blocks",
        "cached_tokens",
        "computed",
        "done",
        "first_s",
        "generated",
        "last_s",
        "max_tokens",
        "preemptions",
        "prefixes",
        "prompt_tokens",
        "scheduled_s",
        "sink",
        "stop_at",
        "target",
    )

    def __init__(
        self,
        prompt_tokens: int,
        max_tokens: int,
        stop_at: int,
        arrival_s: float,
        *,
        prefixes: Sequence[int] = (),
        sink: object = None,
    ) -> None:
        self.prompt_tokens = prompt_tokens
        self.max_tokens = max_tokens
        self.stop_at = min(stop_at, max_tokens)
        self.arrival_s = arrival_s
        self.prefixes = prefixes
        self.sink = sink
        self.target = prompt_tokens
        """Tokens to compute before the next token can be sampled; grows when a preempted request starts over."""
        self.computed = 0
        self.generated = 0
        self.blocks = 0
        self.cached_tokens = 0
        self.preemptions = 0
        self.scheduled_s = -1.0
        self.first_s = -1.0
        self.last_s = -1.0
        self.done = False


def prefix_hashes(prompt: str | Sequence[int]) -> list[int]:
    """One hash per full block of the prompt, each over everything before it."""
    step = BLOCK_TOKENS * (CHARS_PER_TOKEN if isinstance(prompt, str) else 1)
    hashes: list[int] = []
    above = 0
    for start in range(0, len(prompt) - step + 1, step):
        piece = prompt[start : start + step]
        key: Hashable = piece if isinstance(piece, str) else tuple(piece)
        above = hash((above, key))
        hashes.append(above)
    return hashes


class PrefixCache:
    """Least recently used blocks fall out first; as in vLLM a cached block that nobody uses counts as free KV."""

    def __init__(self, blocks: int) -> None:
        self._capacity = blocks
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def match(self, prefixes: Sequence[int], prompt_tokens: int) -> int:
        """Tokens of a prompt that are cached; never all of them, since the last token must be computed."""
        hits = 0
        for key in prefixes:
            if key not in self._blocks:
                break
            self._blocks.move_to_end(key)
            hits += 1
        return min(hits, (prompt_tokens - 1) // BLOCK_TOKENS) * BLOCK_TOKENS

    def add(self, prefixes: Sequence[int]) -> None:
        """Remember a computed prompt."""
        for key in prefixes:
            self._blocks[key] = None
            self._blocks.move_to_end(key)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
