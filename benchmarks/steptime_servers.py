"""Servers in virtual time whose step times are drawn at random, also in forms that the fitted formula does not have.

Nothing here knows how the fit works; noise is added to cells afterwards, as sweeps have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from probes.sim.engine import OUTPUT_LOG_SD, Engine
from probes.sim.model import H200, StepModel
from probes.sim.request import Request
from probes.sim.spec import SimSpec
from probes.sim.truth import ClosedLoop
from probes.steptime.values import Mix
from probes.values import Cell, Latency

CELL_NOISE = 0.01
RUN_NOISE = 0.015
SPREAD = 0.35
"""1 sd of the logarithm of each constant around the H200's."""
REQUEST_STEPS = 20_000
WARM_SHARE = 0.25
GRAPH_TOKENS = 512
"""Captured graphs end here in vLLM."""


@dataclass(frozen=True, slots=True)
class InsideRoofline(StepModel):
    """Prompt tokens share the roofline with verified ones: at low load they hide behind the weights."""

    def step_s(self, batch: float, k: int, prefill_tokens: float) -> float:
        plain = self.base_s + self.draft_s * k + self.request_s * batch
        work_s = self.token_s * batch * (k + 1) + self.prefill_s * prefill_tokens
        return plain + float((self.memory_s**self.corner + work_s**self.corner) ** (1 / self.corner))


@dataclass(frozen=True, slots=True)
class Graphs(StepModel):
    """Batches are padded to captured sizes, and run 8% slower beyond the largest one."""

    def step_s(self, batch: float, k: int, prefill_tokens: float) -> float:
        tokens = batch * (k + 1)
        size = 8 if tokens <= 256 else 16
        padded = math.ceil(tokens / size) * size / (k + 1)
        seconds = StepModel.step_s(self, padded, k, prefill_tokens)
        return seconds * (1.08 if tokens > GRAPH_TOKENS else 1.0)


@dataclass(frozen=True, slots=True)
class DraftWork(StepModel):
    """Each draft pass costs with the batch, and every accepted token costs on its way out."""

    def step_s(self, batch: float, k: int, prefill_tokens: float) -> float:
        return StepModel.step_s(self, batch, k, prefill_tokens) + 0.15 * self.token_s * batch * k


FORMS: dict[str, type[StepModel]] = {
    "as fitted": StepModel,
    "prefill in the roofline": InsideRoofline,
    "padded graphs": Graphs,
    "drafts cost with the batch": DraftWork,
}


@dataclass(frozen=True, slots=True)
class Server:
    """One server and the requests it was swept with."""

    model: StepModel
    acceptance: tuple[float, ...]
    mix: Mix
    context_share: float
    """Share of what a request costs each step that grows with its context; the rest is the same for any request."""

    def with_mix(self, prompt: float, output: float) -> Server:
        """The same server under requests so many times as long; the engine knows no context, so the constant moves."""
        mix = Mix(float(round(prompt * self.mix.prompt_tokens)), output * self.mix.output_tokens)
        longer = (mix.prompt_tokens + mix.output_tokens / 2) / (self.mix.prompt_tokens + self.mix.output_tokens / 2)
        request_s = self.model.request_s * (1 + self.context_share * (longer - 1))
        return replace(self, mix=mix, model=replace(self.model, request_s=request_s))


def draw(form: str, rng: np.random.Generator) -> Server:
    """A server of that form: constants around the H200's, acceptance falling by position, a mix of usual lengths."""
    values = {
        f.name: getattr(H200, f.name) * math.exp(rng.normal(0, 0.15 if f.name == "corner" else SPREAD))
        for f in fields(H200)
    }
    first, fall = rng.uniform(0.6, 0.85), rng.uniform(0.6, 0.8)
    mix = Mix(float(round(math.exp(rng.uniform(math.log(60), math.log(600))))), float(rng.choice([96, 160, 256])))
    return Server(FORMS[form](**values), tuple(first * fall**i for i in range(5)), mix, rng.uniform(0.1, 0.9))


def scaled(acceptance: Sequence[float], factor: float) -> tuple[float, ...]:
    """Poorer or richer drafts: each further position loses as much again."""
    return tuple(min(0.97, rate * factor ** (1 + i / 2)) for i, rate in enumerate(acceptance))


@lru_cache(maxsize=512)
def measure(server: Server, k: int, clients: int, seed: int) -> tuple[float, float]:
    """(Output tok/s, steps per second) of one engine with so many requests in the system, noise free."""
    spec = SimSpec(
        k=k,
        seed=seed,
        acceptance=server.acceptance[:k],
        start_noise=0.0,
        step_noise=0.0,
        prefix_caching=False,
        mean_output_tokens=server.mix.output_tokens,
        kv_tokens=10_000_000,
        max_num_seqs=1024,
    )
    engine = Engine(spec, model=server.model, stretch=1.0)
    lengths = even_lengths(server.mix.output_tokens, seed)
    prompt = round(server.mix.prompt_tokens)
    loop = ClosedLoop(engine, clients, lambda now_s: Request(prompt, 4096 - prompt, lengths(), now_s))
    per_request = server.mix.output_tokens / (1 + sum(server.acceptance[:k]))
    total = max(REQUEST_STEPS, int(5 * clients * per_request))
    warm, done, start_s, start_tokens, start_steps = int(total * WARM_SHARE), 0, 0.0, 0, 0.0
    while done < total:
        before = done
        done += max(1, len(loop.step()))
        if before < warm <= done:
            start_s, start_tokens = loop.now_s, engine.counters.generation_tokens
            start_steps = engine.counters.iteration_tokens.count
    seconds = loop.now_s - start_s
    steps = engine.counters.iteration_tokens.count - start_steps
    return (engine.counters.generation_tokens - start_tokens) / seconds, steps / seconds


def even_lengths(mean_tokens: float, seed: int) -> Callable[[], int]:
    """Log-normal answer lengths, as the simulator's natural stops."""
    rng = np.random.default_rng(seed)
    mu = math.log(mean_tokens) - OUTPUT_LOG_SD**2 / 2
    return lambda: max(1, round(float(np.exp(rng.normal(mu, OUTPUT_LOG_SD)))))


def sweep(
    server: Server, ks: Sequence[int], ladder: Sequence[int], repeats: int, like: Cell, rng: np.random.Generator
) -> list[Cell]:
    """Cells of one sweep of the arms `off`, `k1`, ...; one measurement per rung, repeats differ by noise alone."""
    cells = []
    for k in ks:
        run = rng.normal(0, RUN_NOISE)
        for clients in ladder:
            tok_s, steps_s = measure(server, k, clients, int(rng.integers(2**31)))
            for repeat in range(repeats):
                speed = math.exp(run + rng.normal(0, CELL_NOISE))
                cells.append(_cell(like, server, k, clients, repeat, tok_s * speed, steps_s * speed, len(cells)))
    return cells


def _cell(
    like: Cell, server: Server, k: int, clients: int, repeat: int, tok_s: float, steps_s: float, order: int
) -> Cell:
    window_s = like.window_s or 1.0
    accepted = sum(server.acceptance[:k])
    drafts = window_s * tok_s / (1 + accepted)
    nothing = Latency(None, None)
    return replace(
        like,
        arm=f"k{k}" if k else "off",
        rung=clients,
        repeat=repeat,
        order=order,
        concurrency=float(clients),
        output_tok_s=tok_s,
        prompt_tokens_mean=server.mix.prompt_tokens,
        output_tokens_mean=server.mix.output_tokens,
        prefix_hit_ratio=None,
        drafts=drafts if k else None,
        draft_tokens=k * drafts if k else None,
        accepted_tokens=accepted * drafts if k else None,
        k=k or None,
        engine_count=1,
        steps=window_s * steps_s,
        ttft=nothing,
        tpot=nothing,
        e2e=nothing,
    )
