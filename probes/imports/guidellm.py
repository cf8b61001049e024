"""Reads guidellm's benchmarks.json: one run per entry, its tokens from requests that finished.

Requests that were cut off at the end have no usage counts, so guidellm counts their chunks, several tokens each under
speculation. They were load all the same: they count as if they made tokens as fast as the finished ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes.imports.arm_name import arm_of
from probes.imports.littles_law import kept_up, left_behind
from probes.imports.rows import UNKNOWN, ResultFileError, Row, above_zero, known, positive, whole
from probes.values import Latency

GUIDELLM = "guidellm"
CLOSED = ("concurrent", "synchronous", "throughput")


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says of all its runs."""

    arm: str
    made_up: bool | None


def is_guidellm(record: Mapping[str, Any]) -> bool:
    """Whether this is a whole report of guidellm."""
    return isinstance(record.get("benchmarks"), list)


def read_guidellm(path: Path, where: str, report: Mapping[str, Any]) -> Iterator[tuple[Row | None, list[str]]]:
    """Every run of a report, with notes for people; ResultFileError where it is no report of token generation."""
    if not report["benchmarks"]:
        raise ResultFileError(path, f"{where}: the guidellm report holds no benchmark; was it interrupted?")
    arm = arm_of(path, _labels(report))
    data = _mapping(_mapping(report.get("config")).get("spec")).get("data")
    kinds = [str(_mapping(source).get("kind")) for source in data] if isinstance(data, list) else []
    made_up = any(kind.startswith("synthetic") for kind in kinds) if kinds else None
    for number, benchmark in enumerate(report["benchmarks"], start=1):
        place = f"benchmark {number}"
        metrics = benchmark.get("metrics") if isinstance(benchmark, dict) else None
        if not isinstance(metrics, dict) or _finished(metrics, "output_tokens_per_second") is None:
            text = f"{place}: this guidellm run has no output_tokens_per_second of finished requests."
            raise ResultFileError(path, text)
        yield _run(path, place, Report(arm, made_up), benchmark, metrics)


def _run(
    path: Path, place: str, of: Report, benchmark: Mapping[str, Any], metrics: Mapping[str, Any]
) -> tuple[Row | None, list[str]]:
    done = _mapping(metrics.get("request_totals"))
    completed, failed = whole(done.get("successful")), whole(done.get("errored")) or 0
    if completed == 0:
        return None, [f"{path}: {place}: left out: no request finished."]
    tok_s = positive(_finished(metrics, "output_tokens_per_second"), path, place, "output_tokens_per_second")
    finished, in_flight = (above_zero(_mean(metrics, "request_concurrency", of)) for of in ("successful", "total"))
    share = min(1.0, finished / in_flight) if finished and in_flight else None
    duration_s = above_zero(benchmark.get("duration"))
    clients, rate = _load(benchmark)
    if clients is None and in_flight is None:
        text = f"{place}: this guidellm run has neither streams nor request_concurrency; its load is not known."
        raise ResultFileError(path, text)
    if rate is not None and not kept_up(completed, duration_s, rate, in_flight):
        return None, [f"{path}: {place}: {left_behind(completed, duration_s, rate)}"]
    config = _config(benchmark)
    model = _mapping(config.get("backend")).get("model")
    row = Row(
        path=path,
        where=place,
        arm=of.arm,
        clients=clients,
        output_tok_s=tok_s / (share or 1.0),
        in_flight=in_flight,
        rate=rate,
        tool=GUIDELLM,
        ended_at_s=above_zero(benchmark.get("end_time")),
        duration_s=duration_s,
        completed=completed,
        finished_share=share,
        failed=failed,
        prompt_tokens_mean=above_zero(_finished(metrics, "prompt_token_count")),
        output_tokens_mean=above_zero(_finished(metrics, "output_token_count")),
        ttft=_latency(metrics, "time_to_first_token_ms", 1.0),
        # Its "inter token latency" is (last - first) / (tokens - 1) by usage; its "time per output token" is not.
        tpot=_latency(metrics, "inter_token_latency_ms", 1.0),
        e2e=_latency(metrics, "request_latency", 1000.0),
        model=model if isinstance(model, str) and model else None,
        made_up=of.made_up,
    )
    return row, []


def _load(benchmark: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Closed-loop clients, or the rate that paced an open loop."""
    strategy = _mapping(_config(benchmark).get("strategy"))
    kind = str(strategy.get("type_") or strategy.get("kind") or "")
    rate = above_zero(strategy.get("rate"))
    if kind in CLOSED or rate is None:
        return 1.0 if kind == "synchronous" else above_zero(strategy.get("streams")), None
    return None, rate


def _config(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    """Until 0.3 it was called `args`."""
    return _mapping(benchmark.get("config")) or _mapping(benchmark.get("args"))


def _labels(report: Mapping[str, Any]) -> dict[str, Any]:
    """What `--label key=value` said of the whole run."""
    config = _mapping(report.get("config"))
    labels = _mapping(_mapping(config.get("metadata")).get("labels"))
    return {str(key): value for key, value in labels.items()}


def _finished(metrics: Mapping[str, Any], name: str) -> float | None:
    return _mean(metrics, name, "successful")


def _mean(metrics: Mapping[str, Any], name: str, of: str) -> float | None:
    return known(_mapping(_mapping(metrics.get(name)).get(of)).get("mean"))


def _latency(metrics: Mapping[str, Any], name: str, to_ms: float) -> Latency:
    found = _mapping(_mapping(metrics.get(name)).get("successful"))
    if not found.get("count"):
        return UNKNOWN
    p50, p99 = above_zero(found.get("median")), above_zero(_mapping(found.get("percentiles")).get("p99"))
    return Latency(p50 * to_ms if p50 else None, p99 * to_ms if p99 else None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
