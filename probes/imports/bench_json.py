"""Reads what `vllm bench serve` and `sglang.bench_serving` save for one run; throughput from usage counts only.

Their inter-token latencies count chunks, and one chunk carries several tokens under speculation: they are never read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from probes.engines.sglang import drafted
from probes.imports.arm_name import OFF, arm_of, arm_of_path, arm_of_settings, is_default_name, k_of_name
from probes.imports.littles_law import (
    kept_up,
    left_behind,
    possible,
    vllm_in_flight,
    vllm_in_flight_from_parts,
)
from probes.imports.rows import Drafting, ResultFileError, Row, above_zero, known, positive, whole
from probes.values import Latency

VLLM, SGLANG = "vllm bench serve", "sglang.bench_serving"
ENGINE_KEYS = ("data_parallel_size", "data-parallel-size", "dp_size")


def is_bench(record: Mapping[str, Any]) -> bool:
    """Whether this is one of the two tools' records, of a run that generated text."""
    return "output_throughput" in record and "benchmarks" not in record


def read_bench(path: Path, where: str, record: Mapping[str, Any]) -> tuple[Row | None, list[str]]:
    """The run, and notes for people; None where a run cannot be used though its file is fine."""
    sglang = "server_info" in record or "accept_length" in record or "tag" in record
    tok_s = positive(record["output_throughput"], path, where, "output_throughput")
    clients, rate = _load(path, where, record)
    duration_s, completed = above_zero(record.get("duration")), whole(record.get("completed"))
    in_flight = above_zero(record.get("concurrency")) if sglang else vllm_in_flight(record)
    notes: list[str] = []
    if not possible(in_flight, clients):
        notes.append(
            f"{path}: {where}: its latencies give {in_flight:.4g} requests in the system, more than its {clients:g} "
            "clients can send; they are not used."
        )
        in_flight = None
    if rate is not None:
        if in_flight is None:
            in_flight = vllm_in_flight_from_parts(record)
            notes += [f"{path}: {where}: concurrency by Little's law from mean TTFT and TPOT."] if in_flight else []
        if in_flight is None:
            text = f"{where}: it was paced by a request rate and holds no request latency, so its concurrency is not "
            raise ResultFileError(
                path, text + "known. Measure with --max-concurrency, or with e2el among --percentile-metrics."
            )
        if not kept_up(completed, duration_s, rate, in_flight):
            return None, [*notes, f"{path}: {where}: {left_behind(completed, duration_s, rate)}"]
    row = Row(
        path=path,
        where=where,
        arm=_arm(path, record),
        clients=clients,
        output_tok_s=tok_s,
        in_flight=in_flight,
        rate=rate,
        tool=SGLANG if sglang else VLLM,
        engines=_engines(record),
        k=_k(record),
        drafting=_drafting(record),
        drafted=_drafted(record),
        ended_at_s=_date(record.get("date")),
        duration_s=duration_s,
        completed=completed,
        failed=whole(record.get("failed")) or 0,
        prompt_tokens_mean=_each(record.get("total_input_tokens"), completed),
        output_tokens_mean=_each(record.get("total_output_tokens"), completed),
        ttft=_latency(record, "ttft_ms"),
        tpot=_latency(record, "tpot_ms"),
        e2e=_latency(record, "e2e_latency_ms" if sglang else "e2el_ms"),
        model=_text(_server(record).get("model_path") if sglang else record.get("model_id")),
        version=_text(_server(record).get("version")),
        made_up=dataset.startswith("random") if (dataset := _text(record.get("dataset_name"))) else None,
    )
    return row, notes


def _load(path: Path, where: str, record: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Closed-loop clients, or the finite request rate that paced the run: then a limit on top is no load of its own."""
    rate = above_zero(_number(record.get("request_rate")))
    if rate is not None:
        return None, rate
    if record.get("max_concurrency") is None:
        text = f"{where}: max_concurrency is not set: all requests were sent at once, so its concurrency only fell. "
        raise ResultFileError(path, text + "Run the benchmark with --max-concurrency.")
    return positive(record["max_concurrency"], path, where, "max_concurrency"), None


def _number(value: object) -> object:
    """A sweep's overrides are written over a record as its parameter file has them, numbers in quotes included."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _arm(path: Path, record: Mapping[str, Any]) -> str:
    arm = arm_of(path, record)
    drafting = _drafting(record)
    if is_default_name(path, record.get("backend")) and arm == arm_of_path(path):
        return OFF if drafting is None else f"k{round(drafting.k)}"
    return arm


def _drafting(record: Mapping[str, Any]) -> Drafting | None:
    """vLLM's counters over the run."""
    drafts, tokens = (above_zero(record.get(f"spec_decode_{key}")) for key in ("num_drafts", "draft_tokens"))
    accepted = known(record.get("spec_decode_accepted_tokens"))
    if drafts is None or tokens is None or accepted is None:
        return None
    per_pos = record.get("spec_decode_per_position_acceptance_rates")
    rates = tuple(rate for value in per_pos if (rate := known(value)) is not None) if isinstance(per_pos, list) else ()
    return Drafting(drafts, tokens, accepted, rates)


def _drafted(record: Mapping[str, Any]) -> bool | None:
    """vLLM writes its counters only where draft tokens moved; SGLang's acceptance is the server's since its start.

    The acceptance rate is in percent, so only whether it is above zero means the same everywhere.
    """
    if _drafting(record) is not None:
        return True
    drafts = known(record.get("spec_decode_num_drafts"))
    if drafts is not None:
        return drafts > 0
    rate = known(record.get("spec_decode_acceptance_rate"))
    if rate is not None:
        return rate > 0
    length = known(record.get("accept_length"))
    return None if length is None else length > 1


def _k(record: Mapping[str, Any]) -> int | None:
    """Draft tokens per step, as the server's own page will be read."""
    arm = arm_of_settings(record)
    if arm is None or arm == OFF:
        return None if arm is None else 0
    server = _server(record)
    verified = whole(server.get("speculative_num_draft_tokens"))
    if server:
        return drafted(verified) if verified else None
    return k_of_name(arm)


def _engines(record: Mapping[str, Any]) -> int | None:
    for source in (record, _server(record)):
        for key in ENGINE_KEYS:
            value = source.get(key)
            text = str(value) if value is not None and not isinstance(value, bool) else ""
            if text.isdecimal() and int(text) > 0:
                return int(text)
    return None


def _server(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """SGLang's `/server_info`; of a disaggregated one, its first decode server's."""
    info = record.get("server_info")
    if isinstance(info, dict) and isinstance(info.get("decode"), list) and info["decode"]:
        info = info["decode"][0]
    return info if isinstance(info, dict) else {}


def _latency(record: Mapping[str, Any], name: str) -> Latency:
    return Latency(above_zero(record.get(f"median_{name}")), above_zero(record.get(f"p99_{name}")))


def _each(total: object, count: int | None) -> float | None:
    tokens = above_zero(total)
    return tokens / count if tokens is not None and count else None


def _date(value: object) -> float | None:
    """vLLM writes local time without a zone; this machine's is assumed."""
    if not isinstance(value, str):
        return None
    try:
        return time.mktime(time.strptime(value, "%Y%m%d-%H%M%S"))
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
