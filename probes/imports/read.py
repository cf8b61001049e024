"""Turns files of results measured elsewhere into points for the estimator, or says why it cannot.

Reads files only; no server and no store is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from probes.answer_values import Axis
from probes.crossover import cells_to_points
from probes.imports.arm_name import BASELINE_NAMES, k_of_name, looks_like_baseline
from probes.imports.bench_json import SGLANG
from probes.imports.open_files import open_results
from probes.imports.qualify import qualify
from probes.imports.row_cells import points_and_cells
from probes.imports.rows import Imported, ResultFileError, Row
from probes.imports.sweep_file import Sweep

SPECWATCH = "specwatch sweep"


def read_results(
    paths: Sequence[Path],
    baseline: str | None = None,
    *,
    arms: Sequence[tuple[str, Path]] = (),
    engines: int | None = None,
) -> Imported:
    """Read every file and folder, number the repeats and settle the baseline; ResultFileError in words for people.

    `arms` are files whose arm is given. `engines` is how many shared the load, where no file tells (else one). The axis
    is concurrency per engine only where every run has an in-system mean, stated or by Little's law; else clients.
    """
    opened = open_results(paths, arms)
    notes = list(opened.notes)
    if opened.sweeps:
        if opened.rows or len(opened.sweeps) > 1:
            where = opened.sweeps[-1].origin.path
            raise ResultFileError(where, "a sweep of specwatch is an answer of its own; give it alone.")
        return _of_sweep(opened.sweeps[0], baseline, notes, opened.files)
    rows = opened.rows
    _refuse_duplicates(rows)
    chosen = _baseline(rows, baseline)
    models = tuple(dict.fromkeys(row.model for row in rows if row.model and row.model.isprintable()))
    if len(models) > 1:
        named = f"the files name more than one model ({', '.join(models)})"
        notes.append(f"{named}; if these are not names of one, the verdict compares models, not speculation.")
    qualified = qualify(rows, chosen, asked=baseline is not None)
    used = qualified.rows
    axis = _axis(used, notes)
    unsaid = [row for row in used if engines is None and row.engines is None]
    if any(row.in_flight is not None for row in unsaid):
        notes.append("No file says how many engines shared the load: one is assumed. Otherwise say --engines N.")
    used = tuple(replace(row, engines=_engines(row, engines)) for row in used)
    points, cells = points_and_cells(used, axis)
    ended = [row.ended_at_s for row in used]
    known_s = [at for at in ended if at is not None]
    return Imported(
        points=points,
        axis=axis,
        notes=(*notes, *qualified.notes),
        baseline=chosen,
        files=opened.files,
        cells=cells,
        arm_k=_arm_k(used, chosen),
        reasons=qualified.reasons,
        refused=qualified.refused,
        tools=tuple(dict.fromkeys(row.tool for row in used if row.tool)),
        engines_assumed=axis is Axis.CONCURRENCY_PER_ENGINE and bool(unsaid),
        models=models,
        versions=tuple(dict.fromkeys(row.version for row in used if row.version)),
        sglang_versions=tuple(dict.fromkeys(row.version for row in used if row.version and row.tool == SGLANG)),
        measured_s=(min(known_s), max(known_s)) if known_s and None not in ended else None,
    )


def _of_sweep(sweep: Sweep, baseline: str | None, notes: list[str], files: tuple[Path, ...]) -> Imported:
    arms = list(dict.fromkeys(cell.arm for cell in sweep.cells))
    chosen = sweep.baseline if baseline is None else baseline
    if chosen not in arms:
        raise ResultFileError(
            sweep.origin.path, f"there is no arm {chosen} to be the baseline; the arms are {', '.join(arms)}."
        )
    if sweep.origin.outcome != "measured":
        why = f": {sweep.origin.reason}" if sweep.origin.reason else ""
        notes.append(f"{sweep.origin.path}: the sweep ended as {sweep.origin.outcome}{why}. What it measured is used.")
    void = sum(not cell.valid for cell in sweep.cells)
    if void:
        notes.append(f"{sweep.origin.path}: {void} of {len(sweep.cells)} cells are void and are not used.")
    return Imported(
        points=tuple(cells_to_points(sweep.cells)),
        axis=Axis.CONCURRENCY_PER_ENGINE,
        notes=tuple(notes),
        baseline=chosen,
        files=files,
        cells=sweep.cells,
        arm_k=sweep.arm_k,
        tools=(SPECWATCH,),
        measured_s=(sweep.origin.started_at_s, sweep.origin.ended_at_s),
        origin=sweep.origin,
    )


def _refuse_duplicates(rows: Sequence[Row]) -> None:
    first: dict[tuple[Path, str, float | None, int], Row] = {}
    for row in rows:
        if row.repeat is None:
            continue
        earlier = first.setdefault((row.path, row.arm, row.clients, row.repeat), row)
        if earlier is not row:
            clients = f"{row.clients:g}" if row.clients is not None else "unknown"
            text = f"{row.where}: arm {row.arm} at concurrency {clients}, repeat {row.repeat}, was already measured "
            raise ResultFileError(row.path, text + f"on {earlier.where}; number the repeats, or drop the column.")


def _baseline(rows: Sequence[Row], baseline: str | None) -> str:
    arms = list(dict.fromkeys(row.arm for row in rows))
    where = rows[0].path if len({row.path for row in rows}) == 1 else "all files"
    if len(arms) == 1:
        text = f"there is only one arm, {arms[0]}. Give at least two, one without speculation; name them with --arm "
        raise ResultFileError(
            where,
            text + "NAME=FILE, in the arm column, with --metadata arm=NAME (vLLM), --tag NAME (SGLang), --label "
            "arm=NAME (guidellm), or by file or folder name.",
        )
    listed = ", ".join(arms)
    if baseline is not None:
        if baseline not in arms:
            raise ResultFileError(where, f"there is no arm {baseline} to be the baseline; the arms are {listed}.")
        return baseline
    known = [arm for arm in arms if arm.lower().replace("-", "_") in BASELINE_NAMES]
    known = known or [arm for arm in arms if looks_like_baseline(arm)]
    if len(known) != 1:
        why = "none" if not known else "more than one"
        text = f"{why} of the arms is named like a baseline ({', '.join(BASELINE_NAMES)}): {listed}. "
        raise ResultFileError(where, text + "Say which one ran without speculation: --baseline ARM.")
    return known[0]


def _axis(rows: Sequence[Row], notes: list[str]) -> Axis:
    unknown = [row for row in rows if row.in_system is None and row.in_flight is None]
    if not unknown:
        return Axis.CONCURRENCY_PER_ENGINE
    paced = next((row for row in rows if row.clients is None), None)
    if paced is not None:
        text = f"{paced.where}: it was paced by a request rate, and {unknown[0].path} ({unknown[0].where}) has no "
        raise ResultFileError(paced.path, text + "in-system mean, so the two share no axis; leave one of them out.")
    if len(unknown) < len(rows):
        notes.append(
            f"in_system is missing ({unknown[0].path}, {unknown[0].where}), so concurrency means clients throughout."
        )
    return Axis.CLIENTS


def _engines(row: Row, given: int | None) -> int:
    if given is not None and row.engines is not None and given != row.engines:
        raise ResultFileError(row.path, f"{row.where}: it says {row.engines} engines, and --engines says {given}.")
    return row.engines or given or 1


def _arm_k(rows: Sequence[Row], baseline: str) -> dict[str, int | None]:
    """What each arm's server would show as its K; from counters, else settings, else (not SGLang's) the name."""
    found: dict[str, int | None] = {baseline: None}
    for arm in dict.fromkeys(row.arm for row in rows):
        own = [row for row in rows if row.arm == arm]
        drafted = {round(row.drafting.k) for row in own if row.drafting is not None}
        configured = {row.k for row in own if row.k is not None}
        named = k_of_name(arm) if all(row.tool != SGLANG for row in own) else None
        for ks in (drafted, configured, {named} if named is not None else set()):
            if len(ks) == 1:
                k = ks.pop()
                found[arm] = k or None
                break
    return found
