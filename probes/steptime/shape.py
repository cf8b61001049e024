"""The step-time formula and what it says of output over concurrency; pure arithmetic on arrays, nothing is fitted here.

One engine step that verifies K drafts for each of b requests takes

    (memory^p + (token b (K+1) + prompt_token q)^p)^(1/p)     weights through memory, or arithmetic, whichever is longer
    + draft K + draft_token K b                               the draft head: each pass, and its tokens
    + (request + context_token c) b                           sampling, attention over c tokens of context
    + emitted b a                                             handling of the tokens that were accepted
    + prompt_extra q                                          prefill that nothing hides

with `a` tokens emitted per step and request, P computed prompt tokens and O output tokens per request, c = P + O/2,
and q prompt tokens in this step. An answer takes D = (O - 1 + (a - 1)/2) / a decode steps: the first token comes from
prefill, and of the last step's tokens half of those beyond the first lie past the answer's end. As many requests come
as end: n = b / D in each step, with q = n P on average. Where n is small most steps hold no prompt at all, so the
corner is taken over steps without one and over those, 1 - e^-n of all, that hold P n / (1 - e^-n).

A request is in the system for D + entry steps: those before its first token are the rest of the step that runs when it
comes, and the one of its prefill. So of x requests in the system b = x D / (D + entry) decode, and output is
x O / (step (D + entry)) by Little's law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NAMES = (
    "memory_s",
    "token_s",
    "corner",
    "draft_s",
    "draft_token_s",
    "request_s",
    "context_token_s",
    "emitted_s",
    "prompt_token_s",
    "prompt_extra_s",
    "entry_steps",
)
"""Order of the parameters wherever they stand as a vector; `corner` is a bare exponent."""


@dataclass(frozen=True, slots=True)
class Load:
    """What an engine is asked to do; arrays of one length, or single numbers that stand for all."""

    concurrency: Floats
    """Requests in the system."""
    k: Floats
    acceptance_length: Floats
    prompt_tokens: Floats
    output_tokens: Floats


def output_tok_s(log_values: Floats, load: Load) -> Floats:
    """Output tok/s of one engine; `log_values` are the natural logs of the parameters in the order of `NAMES`."""
    return np.asarray(load.concurrency * load.output_tokens / (step_s(log_values, load) * life_steps(log_values, load)))


def step_s(log_values: Floats, load: Load) -> Floats:
    """Seconds of one step."""
    memory, token, corner, draft, draft_token, request, context_token, emitted, prompt_token, prompt_extra, _ = np.exp(
        log_values
    )
    k, a = load.k, load.acceptance_length
    arrivals = load.concurrency / life_steps(log_values, load)
    batch = arrivals * decode_steps(a, load.output_tokens)
    work = token * batch * (k + 1)
    mixed = -np.expm1(-arrivals)
    plain = (memory**corner + work**corner) ** (1 / corner)
    full = (memory**corner + (work + prompt_token * load.prompt_tokens * arrivals / mixed) ** corner) ** (1 / corner)
    roofline = (1 - mixed) * plain + mixed * full
    context = load.prompt_tokens + load.output_tokens / 2
    per_request = draft_token * k + request + context_token * context + emitted * a
    prefill = prompt_extra * load.prompt_tokens * arrivals
    return np.asarray(roofline + draft * k + per_request * batch + prefill, dtype=np.float64)


def life_steps(log_values: Floats, load: Load) -> Floats:
    """Steps that a request is in the system for."""
    return np.asarray(decode_steps(load.acceptance_length, load.output_tokens) + np.exp(log_values[-1]))


def decode_steps(acceptance_length: Floats, output_tokens: Floats) -> Floats:
    """Verify steps per answer; at least a part of one, so that answers of one token stay finite."""
    steps = (output_tokens - 1 + (acceptance_length - 1) / 2) / acceptance_length
    return np.maximum(steps, 0.25)
