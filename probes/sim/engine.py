"""A continuous-batching engine in virtual time: the caller passes every instant; no clock, no sockets, no threads.

The scheduler follows vLLM V1: running requests first, then the waiting queue, one token budget for both, chunked
prefill, and preemption of the newest request when the KV blocks run out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from math import log
from random import Random
from typing import NamedTuple

from probes.sim.counters import Counters
from probes.sim.model import H200, StepModel
from probes.sim.noise import Noise
from probes.sim.request import PrefixCache, Request
from probes.sim.spec import BLOCK_TOKENS, SimSpec

OUTPUT_LOG_SD = 0.5
"""Natural output lengths are log-normal around the mean."""
MIN_BUDGET = 64
"""Prompt tokens that a step can always take: on a stretched axis the budget must not starve prefill, as it never does
at these batches on the real one."""

SPEED_MIN = 0.05
"""A server that drifts down never stops."""


class Output(NamedTuple):
    """What one request got in one step."""

    request: Request
    tokens: int
    finish_reason: str | None


class Engine:
    """One scheduler. `begin_step` and `end_step` alternate; requests come and go at any time between or inside them."""

    def __init__(
        self, spec: SimSpec, *, index: int = 0, start: int = 0, model: StepModel = H200, stretch: float | None = None
    ) -> None:
        self.spec = spec
        self._model = model
        self.counters = Counters(spec.k, spec.max_model_len)
        self.running: list[Request] = []
        self.waiting: deque[Request] = deque()
        self.shown_running = 0
        """What the page shows, as vLLM's scheduler reports it: at a step's end, after the finished have left."""
        self.shown_waiting = 0
        """Those whom that step left waiting; who came while it ran is not in the scheduler's queue yet."""
        self.drafting = True
        """False: speculation stays configured but no step drafts (a fault for tests)."""
        self.reserved_blocks = 0
        """KV blocks held by nobody (a fault for tests)."""
        self.gauge_factor = 1.0
        """What the page makes of the two counts above (a fault for tests)."""
        self.slow = 1.0
        self.drift_per_s = 0.0
        self.drifts_from_s = 0.0
        """Slower by a factor, and faster by a share each second from an instant on (faults for tests)."""
        self._rng = Random(f"{spec.seed}/{start}/{index}/{spec.k}")
        self.noise = Noise(spec, self._rng)
        self._prefix_cache = PrefixCache(spec.kv_blocks)
        self._used_blocks = 0
        self._decoding: list[Request] = []
        self._prefilling: list[tuple[Request, int]] = []
        self._step_k = 0
        self._last_end_s = 0.0
        self._stretch = spec.stretch if stretch is None else stretch
        self._budget = max(MIN_BUDGET, int(spec.token_budget / max(1.0, self._stretch * spec.prompt_cost)))
        # Sorted upwards, so that one bisection of a uniform number counts the accepted positions.
        self._rates = [sorted(spec.acceptance[:k]) for k in range(spec.k + 1)]

    @property
    def kv_usage(self) -> float:
        """Share of the KV blocks in use, 0..1."""
        return min(1.0, (self._used_blocks + self.reserved_blocks) / self.spec.kv_blocks)

    @property
    def idle(self) -> bool:
        """True where there is nothing to do."""
        return not self.running and not self.waiting

    def natural_stop(self) -> int:
        """Output length at which a request would stop by itself."""
        mu = log(self.spec.mean_output_tokens) - OUTPUT_LOG_SD**2 / 2
        return max(1, round(self._rng.lognormvariate(mu, OUTPUT_LOG_SD)))

    def add(self, request: Request) -> None:
        """Queue a request; the next step can take it."""
        self.waiting.append(request)

    def abort(self, request: Request, now_s: float) -> None:
        """The client went away. A request that already ended is left alone."""
        if request.done:
            return
        if request in self.running:
            self.running.remove(request)
        elif request in self.waiting:
            self.waiting.remove(request)
        self._finish(request, "abort", now_s)
        if self.idle:
            self.shown_running = self.shown_waiting = 0

    def begin_step(self, now_s: float) -> float | None:
        """Schedule a step and return its end; None where nothing can run (idle, or no KV for anything that waits)."""
        self._decoding.clear()
        self._prefilling.clear()
        self._step_k = self.spec.k_at(len(self.running)) if self.drafting else 0
        budget = self._schedule_running(self._budget)
        if budget is not None:
            self._admit(max(budget, MIN_BUDGET), now_s)
        self.shown_waiting = len(self.waiting)
        if not self._decoding and not self._prefilling:
            self.shown_running = len(self.running)
            return None
        stretch = self._stretch
        seconds = self._model.step_s(
            len(self._decoding) * stretch,
            self._step_k,
            sum(chunk for _, chunk in self._prefilling) * stretch * self.spec.prompt_cost,
        )
        speed = max(SPEED_MIN, 1.0 + self.drift_per_s * (now_s - self.drifts_from_s)) / self.slow
        scale = self.spec.time_scale * (self.spec.schedule_cost if self.spec.schedule else 1.0)
        end_s = now_s + seconds * self.noise.factor(now_s) * scale / speed
        self.noise.busy_until(end_s)
        return end_s

    def end_step(self, now_s: float) -> list[Output]:
        """Finish the step that was begun: sample, count, release. Aborted requests are skipped."""
        outputs: list[Output] = []
        prompt_tokens = 0
        for request, chunk in self._prefilling:
            if request.done:
                continue
            prompt_tokens += chunk
            request.computed += chunk
            if request.computed >= request.target:
                self._prefilled(request, now_s)
                self._emit(request, 1, now_s, outputs)
        self._decode(now_s, outputs)
        emitted = sum(output.tokens for output in outputs)
        self.counters.generation_tokens += emitted
        self.counters.iteration_tokens.observe(prompt_tokens + emitted)
        self._last_end_s = now_s
        self.shown_running = len(self.running)
        return outputs

    def _schedule_running(self, budget: int) -> int | None:
        """Take what already runs; the budget left, or None where a request had to be preempted."""
        preempted = False
        running = self.running
        lookahead = self._step_k
        index = 0
        while index < len(running):
            request = running[index]
            missing = request.target - request.computed
            chunk = min(missing, max(budget, MIN_BUDGET)) if missing else 1 + lookahead
            tokens = request.computed + chunk if missing else request.prompt_tokens + request.generated + lookahead
            while not self._reserve(request, tokens):
                preempted = True
                victim = running.pop()
                self._preempt(victim)
                if victim is request:
                    return None
            budget -= chunk
            if missing:
                self._prefilling.append((request, chunk))
            else:
                self._decoding.append(request)
            index += 1
        return None if preempted else budget

    def _admit(self, budget: int, now_s: float) -> None:
        while self.waiting and budget > 0 and len(self.running) < self.spec.max_num_seqs:
            request = self.waiting[0]
            cached = 0
            if self.spec.prefix_caching:
                cached = self._prefix_cache.match(request.prefixes, request.prompt_tokens)
            chunk = min(request.target - cached, budget)
            if not self._reserve(request, cached + chunk):
                return
            self.waiting.popleft()
            self.running.append(request)
            request.computed = cached
            if request.scheduled_s < 0:
                request.scheduled_s = now_s
                request.cached_tokens = cached
                if self.spec.prefix_caching:
                    self.counters.prefix_queries += request.prompt_tokens
                    self.counters.prefix_hits += cached
            self._prefilling.append((request, chunk))
            budget -= chunk

    def _reserve(self, request: Request, tokens: int) -> bool:
        need = -(-tokens // BLOCK_TOKENS) - request.blocks
        if need <= 0:
            return True
        if self._used_blocks + self.reserved_blocks + need > self.spec.kv_blocks:
            return False
        self._used_blocks += need
        request.blocks += need
        return True

    def _release(self, request: Request) -> None:
        self._used_blocks -= request.blocks
        request.blocks = 0

    def _preempt(self, request: Request) -> None:
        self._release(request)
        request.computed = 0
        request.target = request.prompt_tokens + request.generated
        request.preemptions += 1
        self.counters.preemptions += 1
        self.waiting.appendleft(request)

    def _prefilled(self, request: Request, now_s: float) -> None:
        counters = self.counters
        if request.first_s < 0:
            request.first_s = now_s
            counters.ttft_s.observe(now_s - request.arrival_s)
            counters.prompt_tokens += request.prompt_tokens
            counters.cached_prompt_tokens += request.cached_tokens
        else:
            counters.inter_token_s.observe(now_s - request.last_s)
        if self.spec.prefix_caching:
            self._prefix_cache.add(request.prefixes)

    def _decode(self, now_s: float, outputs: list[Output]) -> None:
        k = self._step_k
        counters = self.counters
        per_pos = [0] * (k + 1)
        last_end_s = self._last_end_s
        drafts = steady = 0
        uniform = self._rng.random
        rates = self._rates[k]
        for request in self._decoding:
            if request.done:
                continue
            accepted = k - bisect_right(rates, uniform()) if k else 0
            drafts += 1
            per_pos[accepted] += 1
            if request.last_s == last_end_s:
                steady += 1
            else:
                counters.inter_token_s.observe(now_s - request.last_s)
            self._emit(request, accepted + 1, now_s, outputs)
        if steady:
            counters.inter_token_s.observe(now_s - last_end_s, steady)
        if k and drafts:
            counters.drafts += drafts
            counters.draft_tokens += drafts * k
            reached = 0
            for position in range(k, 0, -1):
                reached += per_pos[position]
                counters.accepted_per_pos[position - 1] += reached
                counters.accepted_tokens += reached

    def _emit(self, request: Request, tokens: int, now_s: float, outputs: list[Output]) -> None:
        generated = request.generated + tokens
        if generated < request.stop_at:
            request.generated = generated
            request.target = request.computed = request.prompt_tokens + generated
            request.last_s = now_s
            outputs.append(Output(request, tokens, None))
            return
        tokens = request.stop_at - request.generated
        request.generated = request.stop_at
        request.last_s = now_s
        reason = "length" if request.stop_at >= request.max_tokens else "stop"
        self.running.remove(request)
        self._finish(request, reason, now_s)
        outputs.append(Output(request, tokens, reason))

    def _finish(self, request: Request, reason: str, now_s: float) -> None:
        self._release(request)
        request.done = True
        counters = self.counters
        counters.finished[reason] += 1
        counters.e2e_s.observe(now_s - request.arrival_s)
        counters.request_prompt_tokens.observe(request.prompt_tokens)
        counters.request_generation_tokens.observe(request.generated)
        counters.request_max_generation_tokens.observe(request.generated)
        counters.request_max_tokens.observe(request.max_tokens)
        counters.request_computed_tokens.observe(request.prompt_tokens - request.cached_tokens)
        counters.params_n.observe(1)
        counters.request_preemptions.observe(request.preemptions)
        scheduled_s = request.scheduled_s if request.scheduled_s >= 0 else now_s
        first_s = request.first_s if request.first_s >= 0 else now_s
        counters.queue_s.observe(scheduled_s - request.arrival_s)
        counters.inference_s.observe(now_s - scheduled_s)
        counters.prefill_s.observe(first_s - scheduled_s)
        counters.decode_s.observe(now_s - first_s)
        if request.generated > 1:
            counters.time_per_output_token_s.observe((now_s - first_s) / (request.generated - 1))
