"""The true curve and crossing of simulated arms, so that tests know what a sweep should find; virtual time, noise off.

Closed loop: a request that ends is replaced at once, as the clients of a sweep do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import exp, log
from random import Random
from statistics import NormalDist

import numpy as np

from probes.sim.engine import OUTPUT_LOG_SD, Engine, Output
from probes.sim.model import PROMPT_TOKENS
from probes.sim.request import Request
from probes.sim.spec import SimSpec

REQUEST_STEPS = 60_000
"""Request-steps per point: leaves about 0.3% of sampling error in the throughput."""
FINE_STEPS = 1000
STRATA = 64
WARM_SHARE = 0.25
GENERATIONS = 6
"""At least so many requests per client; the warm-up covers the first ones, which start in step."""


class ClosedLoop:
    """Clients that replace each ended request, in virtual time.

    They start evenly over `spread_s`. A replacement comes `turnaround_s` after the end. As over a socket, it misses the
    step that begins at that end.
    """

    def __init__(
        self,
        engine: Engine,
        clients: int,
        make: Callable[[float], Request | None],
        *,
        turnaround_s: float = 0.0,
        spread_s: float = 0.0,
    ) -> None:
        self._engine = engine
        self._make = make
        self._turnaround_s = turnaround_s
        self._due = deque(spread_s * client / clients for client in range(clients))
        self.now_s = 0.0

    def step(self) -> list[Output]:
        """Run one engine step. Raises ValueError where the KV cache holds none of the requests."""
        end_s = None if self._engine.idle else self._engine.begin_step(self.now_s)
        if end_s is None:
            if self._engine.idle and self._due:
                self.now_s = max(self.now_s, self._due[0])
            self._arrive(self.now_s)
            end_s = self._engine.begin_step(self.now_s)
        if end_s is None:
            raise ValueError("the engine cannot run any of its requests: too few KV blocks")
        # Those who come during this step are there for the next one; a tie with its end comes too late.
        self._arrive(end_s, strictly=True)
        self.now_s = end_s
        outputs = self._engine.end_step(end_s)
        ended = sum(output.finish_reason is not None for output in outputs)
        self._due.extend([end_s + self._turnaround_s] * ended)
        return outputs

    def _arrive(self, until_s: float, *, strictly: bool = False) -> None:
        while self._due and (self._due[0] < until_s or (self._due[0] == until_s and not strictly)):
            request = self._make(self._due.popleft())
            if request is not None:
                self._engine.add(request)


def _even_lengths(mean_tokens: float) -> Iterator[int]:
    """Natural lengths without luck: each round takes every 64th part of the distribution once, in another order."""
    mu = log(mean_tokens) - OUTPUT_LOG_SD**2 / 2
    lengths = NormalDist(mu, OUTPUT_LOG_SD)
    rng = Random(0)
    while True:
        shares = [(index + rng.random()) / STRATA for index in range(STRATA)]
        rng.shuffle(shares)
        yield from (max(1, round(exp(lengths.inv_cdf(share)))) for share in shares)


def throughput_tok_s(
    spec: SimSpec,
    concurrency: int,
    *,
    prompt_tokens: int = PROMPT_TOKENS,
    max_tokens: int = 4096,
    request_steps: int = REQUEST_STEPS,
) -> float:
    """Output tok/s of all engines with `concurrency` requests in the system of each, `time_scale` included."""
    engine = Engine(replace(spec, start_noise=0.0, step_noise=0.0))
    cap = min(max_tokens, spec.context_limit - prompt_tokens)
    lengths = _even_lengths(spec.mean_output_tokens)
    loop = ClosedLoop(engine, concurrency, lambda now_s: Request(prompt_tokens, cap, next(lengths), now_s))
    per_request = spec.mean_output_tokens / (1.0 + sum(spec.acceptance[: spec.k]))
    total = max(request_steps, int(GENERATIONS * concurrency * per_request))
    warm = int(total * WARM_SHARE)
    done = 0
    start_s, start_tokens = 0.0, 0
    while done < total:
        before = done
        done += max(1, len(loop.step()))
        if before < warm <= done:
            start_s, start_tokens = loop.now_s, engine.counters.generation_tokens
    return spec.engines * (engine.counters.generation_tokens - start_tokens) / (loop.now_s - start_s)


def true_curve(
    spec_off: SimSpec,
    spec_on: SimSpec,
    concurrencies: Sequence[int],
    *,
    prompt_tokens: int = PROMPT_TOKENS,
    max_tokens: int = 4096,
    request_steps: int = REQUEST_STEPS,
) -> list[tuple[int, float, float, float]]:
    """(concurrency per engine, baseline tok/s, arm tok/s, speedup) at each concurrency."""
    points = []
    for concurrency in concurrencies:
        off, on = (
            throughput_tok_s(
                spec, concurrency, prompt_tokens=prompt_tokens, max_tokens=max_tokens, request_steps=request_steps
            )
            for spec in (spec_off, spec_on)
        )
        points.append((concurrency, off, on, on / off))
    return points


def true_crossover(
    spec_off: SimSpec,
    spec_on: SimSpec,
    *,
    prompt_tokens: int = PROMPT_TOKENS,
    max_tokens: int = 4096,
    request_steps: int = REQUEST_STEPS,
) -> float | None:
    """Requests per engine above which the arm is slower; None where it wins at every load the server admits.

    Brackets the crossing on a doubling ladder, then smooths log speedup by a parabola in log concurrency around it,
    because the curve bends there: steep below, flat above.
    """

    def speedup(concurrency: int) -> float:
        point = true_curve(
            spec_off,
            spec_on,
            [concurrency],
            prompt_tokens=prompt_tokens,
            max_tokens=max_tokens,
            request_steps=request_steps,
        )
        return point[0][3]

    low, high = 1, 1
    while speedup(high) >= 1.0:
        if high >= spec_off.max_num_seqs:
            return None
        low, high = high, min(2 * high, spec_off.max_num_seqs)
    if high == 1:
        return 1.0
    ladder = sorted({max(1, round(low * (high / low) ** (step / 6))) for step in range(-2, 9)})
    x = np.log(ladder)
    curve = np.polynomial.Polynomial.fit(x, np.log([speedup(concurrency) for concurrency in ladder]), 2)
    fine = np.linspace(x[0], x[-1], FINE_STEPS)
    slower = np.flatnonzero(curve(fine) < 0.0)
    return exp(float(fine[slower[0]])) if len(slower) else float(high)
