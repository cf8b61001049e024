"""From paths to runs: opens files, finds out what wrote them and hands each to its reader; settles nothing itself."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from probes.imports.aiperf import is_aiperf, read_aiperf
from probes.imports.bench_json import is_bench, read_bench
from probes.imports.csv_table import read_csv
from probes.imports.folders import result_files
from probes.imports.guidellm import is_guidellm, read_guidellm
from probes.imports.json_text import WHAT_TO_DO, objects
from probes.imports.rows import ResultFileError, Row
from probes.imports.sweep_file import Sweep, is_sweep, read_sweep

SHOWN = 3
"""Reasons that one error gives for runs that cannot be used."""

GZIP = b"\x1f\x8b"
UNPACKED_MAX = 512 * 2**20
"""Bytes of a packed file once unpacked."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Everything that the files hold."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    files: tuple[Path, ...]
    """All that were opened, folders taken apart."""


def open_results(paths: Sequence[Path], arms: Sequence[tuple[str, Path]]) -> Opened:
    """Read every file and folder; `arms` are those whose arm is given. ResultFileError in words for people."""
    rows: list[Row] = []
    notes: list[str] = []
    sweeps: list[Sweep] = []
    seen: set[Path] = set()
    opened: list[Path] = []
    for arm, path in [*((None, path) for path in paths), *arms]:
        files, said = result_files(path) if path.is_dir() else ([path], [])
        notes += said
        own: list[Row] = []
        for file in files:
            if file.resolve() in seen:
                raise ResultFileError(file, "the file is named twice; its results would count as repeats.")
            seen.add(file.resolve())
            opened.append(file)
            found, said, swept = _read_one(file)
            own += found
            notes += said
            sweeps += swept
        rows += _printable(own) if arm is None else _named(arm, path, own)
    if not rows and not sweeps:
        where = paths[0] if paths else arms[0][1] if arms else "(no file)"
        why = "; ".join(note.rstrip(".") for note in notes[:SHOWN]) or "there is nothing to read"
        more = f"; and {len(notes) - SHOWN} more" if len(notes) > SHOWN else ""
        raise ResultFileError(where, f"no run can be used: {why}{more}.")
    return Opened(*_once(rows, notes), tuple(sweeps), tuple(opened))


def _named(arm: str, path: Path, rows: Sequence[Row]) -> list[Row]:
    """The runs under the name that was given for them."""
    tables = {row.arm for row in rows if not row.tool}
    if len(tables) > 1:
        named = ", ".join(sorted(tables))
        raise ResultFileError(path, f"--arm {arm} names one arm, but the table holds several: {named}.")
    return [replace(row, arm=arm) for row in rows]


def _printable(rows: Sequence[Row]) -> Sequence[Row]:
    """Names go to terminals and screens; what would steer one is no name."""
    for row in rows:
        if not row.arm.isprintable():
            text = f"{row.where}: the arm {row.arm!r} holds characters that cannot be printed; say --arm NAME=FILE."
            raise ResultFileError(row.path, text)
    return rows


def _once(rows: Iterable[Row], notes: list[str]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Runs that are in two files (a sweep's summary holds them again) count once; a table may well repeat itself."""
    kept: list[Row] = []
    first_in: dict[Row, Path] = {}
    again = 0
    for row in rows:
        if row.tool and first_in.setdefault(replace(row, path=Path(), where=""), row.path) != row.path:
            again += 1
        else:
            kept.append(row)
    if again:
        notes = [*notes, f"{again} runs are in more than one file and count once."]
    return tuple(kept), tuple(notes)


def _read_one(path: Path) -> tuple[list[Row], list[str], list[Sweep]]:
    text = _text_of(path)
    start = text.lstrip()[:1]
    if not start:
        raise ResultFileError(path, f"the file is empty. {WHAT_TO_DO}")
    json_name = path.suffix.lower() in (".json", ".jsonl")
    if start not in "{[" and not json_name:
        rows, notes = read_csv(path, text)
        return rows, notes, []
    rows, notes = [], []
    sweeps: list[Sweep] = []
    where = ""
    for where, record in objects(path, text):
        if is_sweep(record):
            sweeps.append(read_sweep(path, record))
        else:
            found, said = _read_record(path, where, record)
            rows += found
            notes += said
    if not where:
        raise ResultFileError(path, f"the file holds no result. {WHAT_TO_DO}")
    return rows, notes, sweeps


def _read_record(path: Path, where: str, record: dict[str, Any]) -> tuple[list[Row], list[str]]:
    if is_guidellm(record):
        read = list(read_guidellm(path, where, record))
    elif is_aiperf(record):
        read = [read_aiperf(path, where, record)]
    elif is_bench(record):
        read = [read_bench(path, where, record)]
    else:
        raise ResultFileError(path, f"{where}: {_what_else(record)} {WHAT_TO_DO}")
    return [row for row, _ in read if row is not None], [note for _, notes in read for note in notes]


def _what_else(record: dict[str, Any]) -> str:
    """What a record that is no result probably is."""
    if "arms" in record and "axis" in record:
        return "this is an answer of `specwatch crossover`, not the measurements it was made from."
    if "input_throughput" in record and "latency" in record:
        return "this is one batch without arrivals (bench_one_batch), not a served load."
    if "conversation_id" in record or ("metadata" in record and "metrics" in record):
        return "these are single requests; give the summary that aiperf wrote beside them, profile_export_aiperf.json."
    if "elapsed_time" in record or "input_sequence_throughput" in record or "avg_latency" in record:
        return "this benchmark did not serve generation (offline throughput, latency or embeddings)."
    return "key output_throughput is missing, so this is no benchmark result."


def _text_of(path: Path) -> str:
    try:
        body = path.read_bytes()
        if body.startswith(GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(body)) as unpacked:
                body = unpacked.read(UNPACKED_MAX + 1)
            if len(body) > UNPACKED_MAX:
                raise ResultFileError(path, f"unpacks to more than {UNPACKED_MAX // 2**20} MiB, so it is no result.")
        return body.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ResultFileError(path, f"begins like gzip and cannot be unpacked ({error}).") from error
    except UnicodeDecodeError as error:
        raise ResultFileError(path, f"not a text file (byte {error.start} is not UTF-8). {WHAT_TO_DO}") from error
    except OSError as error:
        raise ResultFileError(path, f"cannot be read: {error.strerror or error}.") from error
