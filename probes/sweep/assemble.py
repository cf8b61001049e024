"""Turns the evidence of one cell into its numbers; pure. Whether they count is `judge.py`'s business."""

from __future__ import annotations

from dataclasses import dataclass, replace

from probes.engines.sglang import accepted
from probes.load.records import Ending, RequestRecord
from probes.sweep import judge
from probes.sweep.evidence import Evidence
from probes.sweep.steady import cut_ramp
from probes.sweep.totals import (
    accepted_per_pos,
    finished_between,
    kv_max,
    live_counter,
    moved,
    total,
    verify_calls_between,
)
from probes.sweep.window import (
    Span,
    client_tokens_in,
    e2e_s,
    ended_in,
    in_flight_mean,
    in_system_mean,
    latency,
    mean,
    tpot_s,
    ttft_s,
)
from probes.values import Cell, EngineKind, EngineReading, Reading


def assemble(evidence: Evidence) -> Cell:
    """The finished cell, with its reasons; its window begins where the rates are steady."""
    evidence = cut_ramp(evidence)
    cell = _numbers(evidence)
    void, notes = judge.judge(cell, evidence)
    return replace(cell, void=void, notes=notes)


@dataclass(frozen=True, slots=True)
class _Whole:
    """Server counters from idle to idle (from edge to edge where an idle reading is missing)."""

    preemptions: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_per_pos: tuple[float, ...] = ()
    prefix_hit_ratio: float | None = None
    server_tokens: float | None = None
    foreign: float | None = None
    foreign_prompt_tokens: float | None = None


def _whole(evidence: Evidence, client_tokens: int | None) -> _Whole:
    idle = evidence.before is not None and evidence.after is not None
    a, b = (evidence.before, evidence.after) if idle else (evidence.start, evidence.end)
    if a is None or b is None:
        return _Whole()
    queries, hits = moved(a, b, lambda e: e.prefix_queries), moved(a, b, lambda e: e.prefix_hits)
    done = finished_between(a, b)
    # Every request of ours may have reached the engine, also those that failed, were cut off or were sent twice.
    ours = len(evidence.records) + sum(record.retried for record in evidence.records)
    foreign = max(0.0, done - ours) if idle and done is not None else None
    drafting = _drafting(evidence, a, b, client_tokens if evidence.is_clean(foreign) else None)
    return _Whole(
        preemptions=moved(a, b, lambda e: e.preemptions),
        drafts=drafting.drafts,
        draft_tokens=drafting.draft_tokens,
        accepted_tokens=drafting.accepted_tokens,
        accepted_per_pos=accepted_per_pos(a, b, drafting.drafts),
        prefix_hit_ratio=hits / queries if hits is not None and queries else None,
        server_tokens=moved(a, b, lambda e: e.generation_tokens) if idle else None,
        foreign=foreign,
        foreign_prompt_tokens=_foreign_prompt_tokens(evidence.records, moved(a, b, lambda e: e.prompt_tokens))
        if idle
        else None,
    )


@dataclass(frozen=True, slots=True)
class _Drafting:
    """Steps of drafting requests, each request's counted by itself, and their tokens."""

    drafts: float | None
    draft_tokens: float | None
    accepted_tokens: float | None


def _drafting(evidence: Evidence, a: Reading, b: Reading, usage: int | None) -> _Drafting:
    """By vLLM's counters; by SGLang's count of verify calls and `usage`, the tokens of the very requests it is of."""
    drafts = moved(a, b, lambda e: e.drafts)
    if not evidence.is_sglang or drafts is not None:
        return _Drafting(drafts, moved(a, b, lambda e: e.draft_tokens), moved(a, b, lambda e: e.accepted_tokens))
    # The calls of a request are added when it finishes.
    calls = verify_calls_between(a, b) if finished_between(a, b) else None
    shown = {reading.k for reading in evidence.readings if reading.k is not None}
    one_k = next(iter(shown)) if len(shown) == 1 else None if shown else _identified_k(evidence)
    return _Drafting(
        drafts=calls,
        draft_tokens=None if calls is None or one_k is None else calls * one_k,
        accepted_tokens=None if not calls or usage is None else accepted(usage, len(evidence.records), calls),
    )


def _identified_k(evidence: Evidence) -> int | None:
    """What the server says besides its page, which SGLang's does not show before the first decode report."""
    identity = evidence.identity or (evidence.seen.identity if evidence.seen else None)
    return identity.k if identity else None


def _foreign_prompt_tokens(records: tuple[RequestRecord, ...], read: float | None) -> float | None:
    """Prompt tokens that the server read beyond ours. A request whose usage never came may have been the longest."""
    known = [record.prompt_tokens for record in records if record.prompt_tokens is not None]
    if read is None or not known:
        return None
    unknown = len(records) - len(known) + sum(record.retried for record in records)
    return max(0.0, read - sum(known) - unknown * max(known))


def _server_tok_s(evidence: Evidence, window: Span | None) -> float | None:
    if window is None or evidence.start is None or evidence.end is None:
        return None
    if not (live_counter(evidence.start) and live_counter(evidence.end)):
        return None
    tokens = moved(evidence.start, evidence.end, lambda e: e.generation_tokens)
    return None if tokens is None else tokens / window.length_s


def _steps(evidence: Evidence) -> float | None:
    """Engine steps between the edges: vLLM observes each in its histogram of tokens per step."""
    if evidence.start is None or evidence.end is None:
        return None
    steps = moved(evidence.start, evidence.end, lambda e: _count(e, "iteration_tokens"))
    return steps if steps is not None and steps > 0 else None


def _output_gap_ms(evidence: Evidence) -> float | None:
    """Mean gap between two outputs of a request, in the window. SGLang observes it per token, not per step."""
    start, end = evidence.start, evidence.end
    if start is None or end is None or end.engine_kind is not EngineKind.VLLM:
        return None
    seconds, gaps = moved(start, end, lambda e: _total(e, "itl_s")), moved(start, end, lambda e: _count(e, "itl_s"))
    return 1000 * seconds / gaps if seconds is not None and gaps is not None and seconds > 0 and gaps > 0 else None


def _count(engine: EngineReading, name: str) -> float | None:
    histogram = engine.histograms.get(name)
    return None if histogram is None else histogram.count


def _total(engine: EngineReading, name: str) -> float | None:
    histogram = engine.histograms.get(name)
    return None if histogram is None else histogram.total


def _usage_scale(evidence: Evidence, whole: _Whole, client_tokens: int | None) -> float:
    """Tokens that users got per token that the server counted, over the whole cell; 1 where the counter is exact.

    SGLang's decode counter leaves out each answer's first token and counts what speculation made past its end, so it
    would flatter drafting arms by a percent or two. Usage is exact. What an answer's ends add is the same for short
    ones, and the window's answers are the uncut ones.
    """
    if not evidence.is_sglang or not evidence.is_clean(whole.foreign):
        return 1.0
    if not client_tokens or not whole.server_tokens:
        return 1.0
    ends = (whole.server_tokens - client_tokens) / len(evidence.records)
    length = mean([r.output_tokens for r in evidence.uncut if r.output_tokens is not None])
    return 1.0 if length is None or length + ends <= 0 else length / (length + ends)


def _client_tokens(records: tuple[RequestRecord, ...]) -> int | None:
    known = [r.output_tokens for r in records if r.output_tokens is not None]
    missing = any(r.ending is Ending.OK and r.output_tokens is None for r in records)
    return None if missing else sum(known)


def _numbers(evidence: Evidence) -> Cell:
    window, records, engines = evidence.window, evidence.records, evidence.engine_count
    answered = [r for r in records if r.ending is Ending.OK]
    uncut = [r for r in evidence.uncut if r.ending is Ending.OK]
    ended = ended_in(uncut, window) if window else []
    client_tokens = _client_tokens(records)
    whole = _whole(evidence, client_tokens)
    server_tok_s = _server_tok_s(evidence, window)
    scale = _usage_scale(evidence, whole, client_tokens)
    client_tok_s = None
    if window and client_tokens is not None:
        client_tok_s = client_tokens_in(records, window) / window.length_s
    return Cell(
        arm=evidence.slot.arm,
        rung=evidence.slot.rung,
        repeat=evidence.slot.repeat,
        order=evidence.slot.order,
        started_at_s=evidence.started_at_s,
        window_s=window.length_s if window else None,
        concurrency=in_system_mean(records, window) / engines if window and engines else None,
        output_tok_s=client_tok_s if server_tok_s is None else scale * server_tok_s,
        server_tok_s=server_tok_s,
        client_tok_s=client_tok_s,
        requests=len(answered),
        errors=sum(r.ending is Ending.ERROR for r in records),
        capped_share=mean([float(r.finish_reason == "length") for r in uncut]),
        ttft=latency([ttft_s(r) for r in ended]),
        tpot=latency([tpot_s(r) for r in ended]),
        e2e=latency([e2e_s(r) for r in ended]),
        prompt_tokens_mean=mean([r.prompt_tokens for r in answered if r.prompt_tokens is not None]),
        output_tokens_mean=mean([r.output_tokens for r in uncut if r.output_tokens is not None]),
        running_mean=_gauge_mean(evidence.samples, engines, "running"),
        waiting_mean=_gauge_mean(evidence.samples, engines, "waiting"),
        kv_usage_max=max((kv for r in evidence.samples if (kv := kv_max(r)) is not None), default=None),
        preemptions=whole.preemptions,
        drafts=whole.drafts,
        draft_tokens=whole.draft_tokens,
        accepted_tokens=whole.accepted_tokens,
        accepted_per_pos=whole.accepted_per_pos,
        prefix_hit_ratio=whole.prefix_hit_ratio,
        client_tokens=client_tokens,
        server_tokens=whole.server_tokens,
        foreign_requests=whole.foreign,
        loop_lag_p99_ms=evidence.health.lag_p99_ms,
        client_cpu_share=evidence.health.cpu_share,
        in_flight_mean=in_flight_mean(records, window) if window else None,
        k=next((r.k for r in reversed(evidence.readings) if r.k is not None), _identified_k(evidence)),
        engine_count=engines,
        dispatch_p99_ms=evidence.health.dispatch_p99_ms,
        client_workers=evidence.workers,
        retried=sum(r.retried for r in records),
        ramp_cut_s=evidence.ramp_cut_s,
        foreign_prompt_tokens=whole.foreign_prompt_tokens,
        steps=_steps(evidence),
        output_gap_ms=_output_gap_ms(evidence),
    )


def _gauge_mean(samples: tuple[Reading, ...], engines: int | None, gauge: str) -> float | None:
    values = [total(r, (lambda e: e.running) if gauge == "running" else (lambda e: e.waiting)) for r in samples]
    found = mean([value for value in values if value is not None])
    return None if found is None or not engines else found / engines
