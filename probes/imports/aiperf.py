"""Reads aiperf's profile_export_aiperf.json: one run; its latency per token counts, its latency per chunk does not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from probes.imports.arm_name import arm_of
from probes.imports.littles_law import by_mean, kept_up, left_behind, possible
from probes.imports.rows import Drafting, ResultFileError, Row, above_zero, known, positive, whole
from probes.values import Latency

AIPERF = "aiperf"


def is_aiperf(record: Mapping[str, Any]) -> bool:
    """Whether this is the summary of one run."""
    return isinstance(record.get("output_token_throughput"), dict)


def read_aiperf(path: Path, where: str, record: Mapping[str, Any]) -> tuple[Row | None, list[str]]:
    """The run, and notes for people; ResultFileError where it says too little."""
    tok_s = positive(_average(record, "output_token_throughput"), path, where, "output_token_throughput.avg")
    completed, duration_s = whole(_average(record, "request_count")), above_zero(_average(record, "benchmark_duration"))
    clients, rate = _load(record)
    in_flight = by_mean(completed, _average(record, "request_latency"), duration_s)
    in_flight = in_flight or above_zero(_average(record, "effective_concurrency"))
    notes = []
    if not possible(in_flight, clients):
        in_flight = None
        notes.append(
            f"{path}: {where}: its latencies give more requests in the system than clients; they are not used."
        )
    if clients is None and in_flight is None:
        raise ResultFileError(
            path, f"{where}: this aiperf run has neither a concurrency nor request latencies; its load is not known."
        )
    if rate is not None and not kept_up(completed, duration_s, rate, in_flight):
        return None, [*notes, f"{path}: {where}: {left_behind(completed, duration_s, rate)}"]
    if record.get("was_cancelled"):
        notes.append(f"{path}: {where}: the run was cancelled; what had finished counts.")
    drafting = _drafting(record)
    row = Row(
        path=path,
        where=where,
        arm=arm_of(path, {}),
        clients=clients,
        output_tok_s=tok_s,
        in_flight=in_flight,
        rate=rate,
        tool=AIPERF,
        drafting=drafting,
        drafted=None if drafting is None else True,
        ended_at_s=_time(record.get("end_time")),
        duration_s=duration_s,
        completed=completed,
        failed=whole(_average(record, "error_request_count")) or 0,
        prompt_tokens_mean=above_zero(_average(record, "input_sequence_length")),
        output_tokens_mean=above_zero(_average(record, "output_sequence_length")),
        ttft=_latency(record, "time_to_first_token"),
        tpot=_latency(record, "inter_token_latency"),
        e2e=_latency(record, "request_latency"),
        model=_model(record),
        made_up=_made_up(record),
    )
    return row, notes


def _load(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Closed-loop clients, or the rate of an open loop; from the profiling phase, or `loadgen` of older releases."""
    config = _mapping(record.get("input_config"))
    phases = [_mapping(phase) for phase in config.get("phases") or () if isinstance(phase, dict)]
    phase = next((p for p in reversed(phases) if p.get("kind", "profiling") == "profiling"), config.get("loadgen"))
    load = _mapping(phase)
    rate = above_zero(load.get("rate")) or above_zero(load.get("request_rate"))
    return (None, rate) if rate is not None else (above_zero(load.get("concurrency")), None)


def _drafting(record: Mapping[str, Any]) -> Drafting | None:
    """From the per-request counters that vLLM adds to answers where it is asked to."""
    drafts, tokens = above_zero(_total(record, "spec_decode_steps")), above_zero(_total(record, "draft_tokens"))
    accepted = known(_total(record, "accepted_draft_tokens"))
    return None if drafts is None or tokens is None or accepted is None else Drafting(drafts, tokens, accepted)


def _total(record: Mapping[str, Any], name: str) -> object:
    return _average(record, f"total_{name}")


def _model(record: Mapping[str, Any]) -> str | None:
    items = _mapping(_mapping(record.get("input_config")).get("models")).get("items")
    first = _mapping(items[0]).get("name") if isinstance(items, list) and items else None
    return first if isinstance(first, str) and first else None


def _made_up(record: Mapping[str, Any]) -> bool | None:
    sets = _mapping(record.get("input_config")).get("datasets")
    kinds = [str(_mapping(one).get("type")) for one in sets] if isinstance(sets, list) else []
    return "synthetic" in kinds if kinds else None


def _time(value: object) -> float | None:
    """ISO; without a zone it is this machine's."""
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except ValueError:
        return None


def _latency(record: Mapping[str, Any], name: str) -> Latency:
    found = _mapping(record.get(name))
    return Latency(above_zero(found.get("p50")), above_zero(found.get("p99")))


def _average(record: Mapping[str, Any], name: str) -> object:
    return _mapping(record.get(name)).get("avg")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
