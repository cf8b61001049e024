"""What is expected of the step-time model before any cell speaks, so that terms which cells cannot tell stay honest.

Wide where a sweep tells, narrow only where physics does; scale-free, so that it holds for any server.
"""

from __future__ import annotations

from math import log

import numpy as np

from probes.steptime.shape import NAMES, Floats

_EXPECTED: tuple[tuple[str, str | None, float, float], ...] = (
    # Parameter, of which other it is a share (None: of the fastest step), that share, sd of its logarithm.
    ("memory_s", None, 0.9, 0.5),
    ("token_s", "memory_s", 1 / 200, 1.5),
    ("corner", None, 2.5, 0.5),
    ("draft_s", "memory_s", 0.08, 1.0),
    ("draft_token_s", "token_s", 0.1, 0.7),
    ("request_s", "token_s", 0.2, 1.0),
    ("context_token_s", "token_s", 1e-3, 1.0),
    ("emitted_s", "token_s", 0.2, 1.0),
    ("prompt_token_s", "token_s", 0.7, 0.6),
    ("prompt_extra_s", "token_s", 0.7, 0.8),
    ("entry_steps", None, 1.9, 0.2),
)
"""A token's arithmetic hides behind the weights up to about 200 tokens (accelerators of 2020-2025 do 150 to 300
operations per byte). A draft head is a twelfth of the model in bytes and a twentieth in arithmetic (EAGLE-3 for 8B: one
layer and its output matrix); as much again is work on the logits of each verified position. A prompt token goes through
the same matrices as a verified one, plus attention, outside the captured graph: 1.4 of its price (fitted to an H200:
1.5), of which half may hide behind the weights, or may not. A token of context is read, not computed: 128 KiB against
16 GFLOP for 8B with grouped heads. A request that comes in answer to another's end just misses the next step and waits
for a whole one before its prefill; one that comes at any time waits for half."""


def prior(fastest_step_s: float) -> tuple[Floats, Floats]:
    """Rows and right-hand sides of the prior, in sd: `rows @ log_values` is expected to be near `right`."""
    rows = np.zeros((len(_EXPECTED), len(NAMES)))
    right = np.zeros(len(_EXPECTED))
    for number, (name, of, share, sd) in enumerate(_EXPECTED):
        rows[number, NAMES.index(name)] = 1 / sd
        right[number] = log(share) / sd
        if of is not None:
            rows[number, NAMES.index(of)] = -1 / sd
        elif name.endswith("_s"):
            right[number] += log(fastest_step_s) / sd
    return rows, right
