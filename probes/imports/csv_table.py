"""Reads the CSV `arm,concurrency,output_tok_s[,in_system][,repeat]`; every problem names its line and column."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from probes.imports.json_text import WHAT_TO_DO
from probes.imports.rows import ResultFileError, Row, positive

REQUIRED = ("arm", "concurrency", "output_tok_s")
OPTIONAL = ("in_system", "repeat")
SHOWN = 80
"""Characters of somebody's file that an error repeats."""
HEADER = ",".join(REQUIRED) + "[,in_system][,repeat]"


def read_csv(path: Path, text: str) -> tuple[list[Row], list[str]]:
    """Rows and notes of one CSV file; `concurrency` is the number of clients."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    rows: list[Row] = []
    columns: list[str] | None = None
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if columns is None:
                columns = _header(path, f"line {reader.line_num}", cells)
            else:
                rows.append(_row(path, f"line {reader.line_num}", columns, cells))
    except csv.Error as error:
        raise ResultFileError(path, f"line {reader.line_num}: not valid CSV ({error}).") from error
    if not rows:
        raise ResultFileError(path, f"there are no measurements under the header. Expected columns: {HEADER}.")
    ignored = [c for c in columns or [] if c and c not in (*REQUIRED, *OPTIONAL)]
    notes = [f"{path}: columns {', '.join(ignored)} are not used."] if ignored else []
    return rows, notes


def _header(path: Path, where: str, cells: list[str]) -> list[str]:
    columns = [cell.lower() for cell in cells]
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        _refuse_other_tables(path, where, columns, cells)
        text = f"{where}: column {' and '.join(missing)} is missing; found {_shown(cells)}. Expected: {HEADER}."
        raise ResultFileError(path, text)
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise ResultFileError(path, f"{where}: column {twice[0]} appears twice; keep one.")
    return columns


def _shown(cells: list[str]) -> str:
    text = ", ".join(cells)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _refuse_other_tables(path: Path, where: str, columns: list[str], cells: list[str]) -> None:
    """Files that somebody may well give, told by their first line."""
    if "output_throughput" in columns or "max_concurrency" in columns:
        text = "this is the summary table of `vllm bench sweep`; give its folder, which names the server of each run."
        raise ResultFileError(path, f"{where}: {text}")
    if columns[0] == "metric":
        text = "this is aiperf's table for people; give profile_export_aiperf.json, which lies beside it."
        raise ResultFileError(path, f"{where}: {text}")
    separator = next((one for one in (";", "\t", "|") if one in cells[0]), None)
    if len(cells) < 2 and separator is not None:
        raise ResultFileError(path, f"{where}: its columns are separated by {separator!r}; save it with commas.")
    if len(cells) < 2:
        raise ResultFileError(
            path, f"{where}: neither a table nor JSON, perhaps a log: {_shown(cells)!r}. {WHAT_TO_DO}"
        )


def _row(path: Path, where: str, columns: list[str], cells: list[str]) -> Row:
    if len(cells) != len(columns):
        text = f"{where}: {len(cells)} values for {len(columns)} columns ({', '.join(columns)})."
        raise ResultFileError(path, text)
    row = dict(zip(columns, cells, strict=True))
    if not row["arm"]:
        raise ResultFileError(path, f"{where}: arm is empty; name the server configuration, like off or k3.")
    in_system = row.get("in_system", "")
    return Row(
        path=path,
        where=where,
        arm=row["arm"],
        clients=positive(row["concurrency"], path, where, "concurrency"),
        output_tok_s=positive(row["output_tok_s"], path, where, "output_tok_s"),
        in_system=positive(in_system, path, where, "in_system") if in_system else None,
        repeat=_repeat(path, where, row.get("repeat", "")),
    )


def _repeat(path: Path, where: str, text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal():
        raise ResultFileError(path, f"{where}: repeat is {text!r}; it must be a whole number, like 0, 1, 2.")
    return int(text)
