"""Which files of a folder are results: a benchmark leaves logs, summaries and warm-ups beside them; reads no file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from probes.imports.rows import ResultFileError

MAX_DEPTH = 5
SUFFIXES = (".json", ".jsonl", ".csv")
RUN = re.compile(r"run=\d+\.json")
AIPERF = "profile_export_aiperf.json"
NO_RESULT = re.compile(
    r"warmup\.json|.*\.pytorch\.json|summary\.csv|inputs\.json|profile_export(?!_aiperf\.json).*"
    r"|(?:server_metrics|gpu_telemetry|network_latency).*|run_info\.json|benchmarks\.csv"
)
"""What vLLM's sweeps, aiperf and guidellm write beside their results."""
FAILURE = re.compile(r".*[.-]failure\.json")


def result_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The results in a folder and below, in order, and notes; ResultFileError where there are none."""
    found: list[Path] = []
    notes: list[str] = []
    try:
        _walk(folder, 0, found, notes)
    except OSError as error:
        raise ResultFileError(folder, f"cannot be read: {error.strerror or error}.") from error
    if not found:
        raise ResultFileError(
            folder, f"the folder holds no results ({', '.join(SUFFIXES)}) down to {MAX_DEPTH} levels; name the files."
        )
    return found, notes


def _walk(folder: Path, depth: int, found: list[Path], notes: list[str]) -> None:
    entries = sorted(folder.iterdir(), key=_natural)
    files = [entry for entry in entries if entry.suffix.lower() in SUFFIXES and entry.is_file()]
    notes += [f"{file}: a run that failed; it is not counted." for file in files if FAILURE.fullmatch(file.name)]
    found += _results(files)
    if depth < MAX_DEPTH:
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
                _walk(entry, depth + 1, found, notes)


def _results(files: Sequence[Path]) -> list[Path]:
    names = {file.name for file in files}
    if AIPERF in names:
        return [file for file in files if file.name == AIPERF]
    runs = [file for file in files if RUN.fullmatch(file.name)]
    if runs:
        # summary.json holds the same runs again.
        return runs
    return [file for file in files if not NO_RESULT.fullmatch(file.name) and not FAILURE.fullmatch(file.name)]


def _natural(path: Path) -> list[tuple[int, str]]:
    """`c8` before `c16`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path.name)]
