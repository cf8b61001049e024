"""Finds the JSON objects in a file, whether alone, in a list or appended one after another; knows no tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probes.imports.rows import ResultFileError

WHAT_TO_DO = (
    "Expected CSV, or what vllm bench serve, sglang.bench_serving, guidellm, aiperf or `specwatch sweep --out` saved."
)


def objects(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in the file with its place; ResultFileError where the text is no JSON or stops in the middle."""
    decoder = json.JSONDecoder()
    at, number = 0, 0
    while (at := _skip_space(text, at)) < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ResultFileError(path, _fault(text, at, number, error)) from error
        for item in value if isinstance(value, list) else [value]:
            number += 1
            if not isinstance(item, dict):
                raise ResultFileError(path, f"record {number} is not an object. {WHAT_TO_DO}")
            yield f"record {number}", item
        at = end


def _fault(text: str, start: int, whole_records: int, error: Exception) -> str:
    position = getattr(error, "pos", start)
    line = text.count("\n", 0, position) + 1
    reason = getattr(error, "msg", "nested too deeply")
    cut = position >= len(text.rstrip()) - 1 or reason.startswith("Unterminated string")
    if cut and isinstance(error, json.JSONDecodeError):
        after = f" after {whole_records} whole records" if whole_records else ""
        return (
            f"line {line}: not valid JSON ({reason}): the text ends in the middle of a record{after}, as when a "
            "benchmark was killed or a copy was cut short. Copy it again, or remove what is not whole."
        )
    return f"line {line}: not valid JSON ({reason}). {WHAT_TO_DO}"


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at
