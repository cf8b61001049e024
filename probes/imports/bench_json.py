"""Reads what `vllm bench serve` and `sglang.bench_serving` save: one object, a list, or objects one after another.

The files do not record which server configuration they measured; its name comes from metadata or the file's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from probes.imports.rows import ResultFileError, Row, positive

ARM_KEYS = ("arm", "tag")
"""Named by the user: vLLM's `--metadata arm=k3`, SGLang's `--tag k3`."""
K_KEYS = ("num_speculative_tokens", "speculative_num_steps")
METHOD_KEYS = ("speculative_method", "speculative_algorithm")
NO_METHOD = ("", "none", "off", "null")
NAME_NOISE = re.compile(
    r"(?:^|[-_.])(?:(?:c|conc|concurrency|r|rep|repeat|run)[-_=]?\d+|infqps|\d+(?:\.\d+)?qps|\d{6,})(?=[-_.]|$)"
)
WHAT_TO_DO = "Expected CSV, the JSON of `vllm bench serve --save-result`, or the lines of sglang.bench_serving."


def read_json(path: Path, text: str) -> tuple[list[Row], list[str]]:
    """Rows and notes of one file of benchmark results; concurrency is `max_concurrency`, in clients."""
    rows: list[Row] = []
    notes: list[str] = []
    for where, record in _records(path, text):
        _refuse_other_tools(path, record)
        if "output_throughput" not in record:
            text = f"{where}: key output_throughput is missing, so this is no benchmark result. {WHAT_TO_DO}"
            raise ResultFileError(path, text)
        if record.get("max_concurrency") is None:
            text = f"{where}: max_concurrency is not set: the run was paced by a request rate, so its concurrency is "
            raise ResultFileError(path, text + "not known. Run the benchmark with --max-concurrency.")
        rows.append(
            Row(
                path=path,
                where=where,
                arm=_arm(path, record),
                clients=positive(record["max_concurrency"], path, where, "max_concurrency"),
                output_tok_s=positive(record["output_throughput"], path, where, "output_throughput"),
            )
        )
        failed = record.get("failed")
        if isinstance(failed, int) and failed > 0:
            notes.append(f"{path}: {where}: {failed} requests failed; its throughput may be too low.")
    if not rows:
        raise ResultFileError(path, f"the file holds no result. {WHAT_TO_DO}")
    return rows, notes


def _records(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object in the file with its place, whether alone, in a list or appended after one another."""
    decoder = json.JSONDecoder()
    at, number = 0, 0
    while (at := _skip_space(text, at)) < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            reason = getattr(error, "msg", "nested too deeply")
            raise ResultFileError(path, f"line {line}: not valid JSON ({reason}). {WHAT_TO_DO}") from error
        for item in value if isinstance(value, list) else [value]:
            number += 1
            if not isinstance(item, dict):
                raise ResultFileError(path, f"record {number} is not an object. {WHAT_TO_DO}")
            yield f"record {number}", item
        at = end


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _refuse_other_tools(path: Path, record: Mapping[str, Any]) -> None:
    tool = None
    if isinstance(record.get("benchmarks"), list):
        tool = "guidellm"
    elif isinstance(record.get("output_token_throughput"), dict):
        tool = "aiperf"
    if tool:
        text = f"this is a result of {tool}, which is not read. Put its concurrency and output tok/s into a CSV: "
        raise ResultFileError(path, text + "arm,concurrency,output_tok_s.")


def _arm(path: Path, record: Mapping[str, Any]) -> str:
    for key in ARM_KEYS:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    label = record.get("label")
    if isinstance(label, str) and label.strip() and label != record.get("backend"):
        return label.strip()
    for source in (record.get("server_info"), record.get("speculative_config"), record):
        arm = _arm_of_settings(source)
        if arm is not None:
            return arm
    return _arm_of_name(path)


def _arm_of_settings(source: object) -> str | None:
    """`off`, `k3` or the method's name, where a mapping (or JSON in a string) speaks of speculation at all."""
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except json.JSONDecodeError:
            return None
    if not isinstance(source, dict):
        return None
    tokens = next((source[key] for key in K_KEYS if source.get(key) not in (None, "")), None)
    methods = [source[key] for key in METHOD_KEYS if key in source]
    if any(m is None or str(m).strip().lower() in NO_METHOD for m in methods) or str(tokens) == "0":
        return "off"
    if tokens is not None and str(tokens).isdecimal():
        return f"k{tokens}"
    return str(methods[0]).strip().lower() if methods else None


def _arm_of_name(path: Path) -> str:
    """The file's name without concurrency, repeat, rate and date: `k3-c32.json` and `k3_run2.json` are both `k3`."""
    name = path.name.split(".json")[0]
    return NAME_NOISE.sub("", name).strip("-_.") or name
