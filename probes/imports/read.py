"""Turns files of results measured elsewhere into points for the estimator, or says why it cannot.

Reads files only; no server and no store is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from probes.imports.bench_json import WHAT_TO_DO, read_json
from probes.imports.csv_table import read_csv
from probes.imports.rows import Imported, ResultFileError, Row
from probes.values import Axis, CurvePoint

BASELINE_NAMES = ("off", "baseline", "none", "no_spec")


def read_results(paths: Sequence[Path], baseline: str | None = None) -> Imported:
    """Read every file, number the repeats and settle the baseline; ResultFileError in words for people.

    The axis is concurrency per engine only where every measurement states its `in_system` mean, else clients.
    """
    rows: list[Row] = []
    notes: list[str] = []
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise ResultFileError(path, "the file is named twice; its results would count as repeats.")
        seen.add(path.resolve())
        own, own_notes = _read_one(path)
        _refuse_duplicates(own)
        rows += own
        notes += own_notes
    if not rows:
        raise ResultFileError("(no file)", f"there is nothing to read. {WHAT_TO_DO}")
    chosen = _baseline(rows, baseline)
    measured = [row.in_system is not None for row in rows]
    axis = Axis.CONCURRENCY_PER_ENGINE if all(measured) else Axis.CLIENTS
    if axis is Axis.CLIENTS and any(measured):
        missing = next(row for row in rows if row.in_system is None)
        notes.append(
            f"in_system is missing ({missing.path}, {missing.where}), so concurrency means clients throughout."
        )
    return Imported(tuple(_points(rows, axis)), axis, tuple(notes), chosen)


def _read_one(path: Path) -> tuple[list[Row], list[str]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResultFileError(path, f"not a text file (byte {error.start} is not UTF-8). {WHAT_TO_DO}") from error
    except OSError as error:
        raise ResultFileError(path, f"cannot be read: {error.strerror or error}.") from error
    start = text.lstrip()[:1]
    if not start:
        raise ResultFileError(path, f"the file is empty. {WHAT_TO_DO}")
    json_name = path.suffix.lower() in (".json", ".jsonl")
    return read_json(path, text) if start in "{[" or json_name else read_csv(path, text)


def _refuse_duplicates(rows: Sequence[Row]) -> None:
    first: dict[tuple[str, float, int], Row] = {}
    for row in rows:
        if row.repeat is None:
            continue
        earlier = first.setdefault((row.arm, row.clients, row.repeat), row)
        if earlier is not row:
            text = (
                f"{row.where}: arm {row.arm} at concurrency {row.clients:g}, repeat {row.repeat}, was already measured "
            )
            raise ResultFileError(row.path, text + f"on {earlier.where}; number the repeats, or drop the column.")


def _baseline(rows: Sequence[Row], baseline: str | None) -> str:
    arms = list(dict.fromkeys(row.arm for row in rows))
    where = rows[0].path if len({row.path for row in rows}) == 1 else "all files"
    if len(arms) == 1:
        text = f"there is only one arm, {arms[0]}. Give at least two, one without speculation; name them in the arm "
        raise ResultFileError(
            where, text + "column, with --metadata arm=NAME (vLLM), --tag NAME (SGLang) or by file name."
        )
    listed = ", ".join(arms)
    if baseline is not None:
        if baseline not in arms:
            raise ResultFileError(where, f"there is no arm {baseline} to be the baseline; the arms are {listed}.")
        return baseline
    known = [arm for arm in arms if arm.lower().replace("-", "_") in BASELINE_NAMES]
    if len(known) != 1:
        why = "none" if not known else "more than one"
        text = f"{why} of the arms is named like a baseline ({', '.join(BASELINE_NAMES)}): {listed}. "
        raise ResultFileError(where, text + "Say which one ran without speculation: --baseline ARM.")
    return known[0]


def _points(rows: Sequence[Row], axis: Axis) -> list[CurvePoint]:
    """Number repeats in the order read, over all files, so that the same rung of two files is a repeat."""
    counts: dict[tuple[str, float], int] = {}
    points = []
    for row in rows:
        key = (row.arm, row.clients)
        repeat = counts[key] = counts.get(key, -1) + 1
        measured = row.in_system if axis is Axis.CONCURRENCY_PER_ENGINE else None
        x = row.clients if measured is None else measured
        points.append(CurvePoint(row.arm, x, row.output_tok_s, repeat))
    return points
