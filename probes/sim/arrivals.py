"""Requests that arrive whatever the answers do, in virtual time: the other kind of load than a sweep's closed loop.

Two engines given the same arrivals show what changing the arm does to production; no sockets, no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from random import Random

from probes.sim.engine import OUTPUT_LOG_SD, Engine
from probes.sim.model import PROMPT_TOKENS
from probes.sim.request import Request

WARM_SHARE = 0.1
"""First part of the arrivals that is not counted: the server starts empty."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request to come."""

    at_s: float
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Served:
    """Time means over the counted part."""

    concurrency: float
    """Requests in the system."""
    running: float
    tok_s: float
    token_s: float
    """Time in the system per output token, over the requests that arrived in the counted part and ended."""
    waiting_share: float
    """Share of the time in which somebody waited to be scheduled."""


def poisson(rate_per_s: float, count: int, mean_tokens: float, seed: int = 0) -> list[Arrival]:
    """Arrivals at random with natural output lengths, log-normal as the simulator's own."""
    rng = Random(f"arrivals/{seed}")
    mu = log(mean_tokens) - OUTPUT_LOG_SD**2 / 2
    at_s, made = 0.0, []
    for _ in range(count):
        at_s += rng.expovariate(rate_per_s)
        made.append(Arrival(at_s, max(1, round(exp(rng.gauss(mu, OUTPUT_LOG_SD))))))
    return made


def serve(engine: Engine, arrivals: Sequence[Arrival], *, prompt_tokens: int = PROMPT_TOKENS) -> Served:
    """Run one engine until the last arrival. Raises ValueError where the KV cache cannot hold a request."""
    first_s, last_s = arrivals[int(len(arrivals) * WARM_SHARE)].at_s, arrivals[-1].at_s
    now_s, index = 0.0, 0
    in_system_s = running_s = waiting_s = 0.0
    tokens = ended_tokens = 0
    ended_s = 0.0
    while now_s < last_s:
        if engine.idle:
            now_s = max(now_s, arrivals[index].at_s)
        # Those who come at the very start of a step are in it, those who come during it in the next.
        while index < len(arrivals) and arrivals[index].at_s <= now_s:
            engine.add(_request(engine, arrivals[index], prompt_tokens))
            index += 1
        end_s = engine.begin_step(now_s)
        if end_s is None:
            raise ValueError("the engine cannot run any of its requests: too few KV blocks")
        inside_s = max(0.0, min(end_s, last_s) - max(now_s, first_s))
        running_s += len(engine.running) * inside_s
        in_system_s += (len(engine.running) + len(engine.waiting)) * inside_s
        waiting_s += inside_s if engine.waiting else 0.0
        late = index
        while late < len(arrivals) and arrivals[late].at_s < end_s:
            in_system_s += max(0.0, min(end_s, last_s) - max(arrivals[late].at_s, first_s))
            late += 1
        outputs = engine.end_step(end_s)
        now_s = end_s
        if first_s <= now_s <= last_s:
            tokens += sum(output.tokens for output in outputs)
        for output in outputs:
            if output.finish_reason is not None and output.request.arrival_s >= first_s:
                ended_s += now_s - output.request.arrival_s
                ended_tokens += output.request.generated
    counted_s = last_s - first_s
    return Served(
        concurrency=in_system_s / counted_s,
        running=running_s / counted_s,
        tok_s=tokens / counted_s,
        token_s=ended_s / ended_tokens if ended_tokens else float("inf"),
        waiting_share=waiting_s / counted_s,
    )


def _request(engine: Engine, arrival: Arrival, prompt_tokens: int) -> Request:
    cap = engine.spec.context_limit - prompt_tokens
    return Request(prompt_tokens, cap, arrival.output_tokens, arrival.at_s)
