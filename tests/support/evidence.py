"""Builds one healthy cell's evidence in plain values, so that a test can break exactly one thing of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probes.load.health import ClientHealth
from probes.load.records import Ending, RequestRecord
from probes.sweep.evidence import Evidence
from probes.sweep.plan import ArmPlan, CellSlot
from probes.values import EngineKind, EngineReading, Reading, State, Target

CLIENTS = 4
TOKENS = 100
REQUEST_S = 1.0
RATE = CLIENTS * TOKENS / REQUEST_S


def reading(mono_s: float, engines: int = 1, **changes: Any) -> Reading:
    """A page of a server that emits RATE tokens a second from instant 0 to 20 and is idle outside."""
    busy = 0.0 < mono_s < 20.0
    emitted = RATE * min(20.0, max(0.0, mono_s))
    drafting = changes.pop("drafting", False)
    whole = EngineReading(
        "0",
        running=CLIENTS if busy else 0,
        waiting=0,
        kv_usage=0.2,
        generation_tokens=emitted,
        prompt_tokens=emitted,
        finished=emitted / TOKENS,
        preemptions=0,
        prefix_queries=emitted,
        prefix_hits=0,
        drafts=emitted / 2 if drafting else None,
        draft_tokens=emitted / 2 * 3 if drafting else None,
        accepted_tokens=emitted / 2 if drafting else None,
        accepted_per_pos=(emitted / 4, emitted / 8, emitted / 8) if drafting else (),
    )
    per_engine = [replace(_share(whole, engines), engine=str(number)) for number in range(engines)]
    return Reading(
        "t",
        1_000_000 + mono_s,
        mono_s,
        State.OK,
        engine_kind=changes.pop("kind", EngineKind.VLLM),
        engines=tuple(replace(engine, **changes) for engine in per_engine),
        speculation_configured=drafting,
        k=3 if drafting else None,
    )


def _share(whole: EngineReading, engines: int) -> EngineReading:
    names = ("running", "generation_tokens", "prompt_tokens", "finished", "prefix_queries")
    return replace(whole, **{name: getattr(whole, name) / engines for name in names})


def records() -> tuple[RequestRecord, ...]:
    """CLIENTS clients back to back from 0 to 20 s, their starts spread."""
    made: list[RequestRecord] = []
    for client in range(CLIENTS):
        for number in range(20):
            start_s = number * REQUEST_S
            made.append(
                RequestRecord(
                    index=len(made),
                    client=client,
                    launched_s=start_s,
                    sent_s=start_s,
                    first_s=start_s + 0.1,
                    last_s=start_s + REQUEST_S,
                    end_s=start_s + REQUEST_S,
                    ending=Ending.OK,
                    prompt_tokens=TOKENS,
                    output_tokens=TOKENS,
                    finish_reason="stop",
                )
            )
    return tuple(made)


def evidence(speculative: bool = False, engines: int = 1, **page: Any) -> Evidence:
    """A clean cell with a window from 3 to 15 s and 13 polls; `page` changes every reading."""
    page.setdefault("drafting", speculative)
    samples = tuple(reading(float(second), engines, **page) for second in range(3, 16))
    return Evidence(
        slot=CellSlot("k3" if speculative else "off", CLIENTS, 0, 0),
        arm=ArmPlan("k3" if speculative else "off", Target("t", "http://127.0.0.1:1"), speculative),
        started_at_s=1_000_000,
        before=reading(-1.0, engines, **page),
        start=samples[0],
        end=samples[-1],
        after=reading(21.0, engines, **page),
        was_idle=True,
        samples=samples,
        records=records(),
        health=ClientHealth(lag_p99_ms=1.0, cpu_share=0.1),
        cut_off=0,
    )


def with_pages(given: Evidence, **changes: Any) -> Evidence:
    """The same evidence with these engine fields changed on the polls inside the window only, edges included."""
    samples = tuple(
        replace(page, engines=tuple(replace(engine, **changes) for engine in page.engines)) for page in given.samples
    )
    return replace(given, samples=samples, start=samples[0], end=samples[-1])


def with_prompts(tokens: int) -> Evidence:
    """Our prompts as short as this, by their usage."""
    given = evidence()
    return replace(given, records=tuple(replace(r, prompt_tokens=tokens) for r in given.records))


def with_tokens(count: int | None) -> Evidence:
    given = evidence()
    return replace(given, records=tuple(replace(r, output_tokens=count) for r in given.records))
