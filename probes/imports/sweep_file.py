"""Reads what `specwatch sweep --out` wrote on any host: its cells whole, so that the answer is made anew from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from probes.imports.rows import Origin, ResultFileError, known
from probes.values import Cell, Latency, Reason

SCHEMA = 1
LATENCIES = ("ttft", "tpot", "e2e")
REASONS = ("void", "notes")
WHOLE = {"rung": 1, "repeat": 0, "order": 0, "requests": 0, "errors": 0, "engine_count": 1, "k": 0, "start": 0}
"""Fields that count, and from where."""
UNKNOWN_ALLOWED = ("engine_count", "k", "start")


@dataclass(frozen=True, slots=True)
class Sweep:
    """One sweep of another store."""

    origin: Origin
    baseline: str
    cells: tuple[Cell, ...]
    arm_k: Mapping[str, int | None]


def is_sweep(record: Mapping[str, Any]) -> bool:
    """Whether specwatch wrote this object."""
    return "cells" in record and "sweep_id" in record


def read_sweep(path: Path, record: Mapping[str, Any]) -> Sweep:
    """The sweep with all its cells, void ones too; ResultFileError where it is damaged or has nothing to say."""
    if record.get("schema") != SCHEMA:
        text = f"it is a sweep of schema {record.get('schema')!r} and this release reads {SCHEMA}; use the newer one."
        raise ResultFileError(path, text)
    plan = _mapping(record.get("plan"))
    if isinstance(plan.get("files"), dict) and "measured_with" in plan:
        made_from = ", ".join(str(name) for name in plan["files"].values())
        text = f"it is what `specwatch import` made from {made_from}, without what it said of them; give these files."
        raise ResultFileError(path, text)
    cells = record["cells"]
    if not isinstance(cells, list):
        raise ResultFileError(path, "cells is no list; the file was changed.")
    outcome, reason = str(record.get("outcome")), str(record.get("reason") or "")
    if not cells:
        raise ResultFileError(path, f"the sweep ended as {outcome} without a cell{f': {reason}' if reason else ''}.")
    read = tuple(_cell(path, f"cell {number}", cell) for number, cell in enumerate(cells, start=1))
    if not any(cell.valid for cell in read):
        raise ResultFileError(path, f"the sweep ended as {outcome} and none of its {len(read)} cells is valid.")
    baseline = record.get("baseline")
    if not isinstance(baseline, str) or not baseline:
        raise ResultFileError(path, "baseline is missing; the file was changed.")
    started_s, ended_s = known(record.get("started_at_s")), known(record.get("ended_at_s"))
    if started_s is None or ended_s is None:
        raise ResultFileError(path, "started_at_s or ended_at_s is missing: the sweep was still running.")
    live_arm = record.get("live_arm")
    origin = Origin(
        path=path,
        sweep_id=int(known(record.get("sweep_id")) or 0),
        pool=str(record.get("pool") or ""),
        started_at_s=started_s,
        ended_at_s=ended_s,
        outcome=outcome,
        reason=reason,
        live_arm=live_arm if isinstance(live_arm, str) else None,
        fingerprint=str(record.get("fingerprint") or ""),
        identities={str(k): dict(v) for k, v in _mapping(record.get("identities")).items() if isinstance(v, dict)},
        plan=plan,
    )
    arm_k = {str(arm): _k(value) for arm, value in _mapping(record.get("arm_k")).items()}
    return Sweep(origin, baseline, read, arm_k)


def _cell(path: Path, where: str, body: object) -> Cell:
    """Field by field, so that an older release's cell takes defaults and a newer one's additions are dropped."""
    if not isinstance(body, dict):
        raise ResultFileError(path, f"{where} is no object; the file was changed.")
    given: dict[str, Any] = {}
    for field in fields(Cell):
        if field.name not in body:
            if field.default is MISSING and field.default_factory is MISSING:
                raise ResultFileError(path, f"{where}: {field.name} is missing; the file was changed.")
            continue
        try:
            given[field.name] = _value(field.name, body[field.name])
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise ResultFileError(path, f"{where}: {field.name} cannot be read ({error}).") from error
    return Cell(**given)


def _value(name: str, value: Any) -> Any:
    if name in LATENCIES:
        return Latency(_number(value["p50_ms"]), _number(value["p99_ms"]))
    if name in REASONS:
        return tuple(Reason(str(one["code"]), str(one["text"])) for one in value)
    if name == "accepted_per_pos":
        return tuple(float(rate) for rate in value)
    if name == "arm":
        if not isinstance(value, str) or not value or not value.isprintable():
            raise ValueError("it must be a name")
        return value
    number = _number(value)
    if name not in WHOLE or (number is None and name in UNKNOWN_ALLOWED):
        return number
    if not isinstance(number, int) or number < WHOLE[name]:
        raise ValueError(f"{value!r} is no whole number from {WHOLE[name]} up")
    return number


def _number(value: Any) -> int | float | None:
    if value is None or known(value) is not None:
        number: int | float | None = value
        return number
    raise ValueError(f"{value!r} is no number that a sweep measures")


def _k(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
