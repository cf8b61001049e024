"""The crossover as JSON, schema 1: what `crossover --json` prints, the store keeps and other hosts import.

Numbers are rounded here, to what their noise can carry; no verdict is made or changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from probes.crossover.schedule_codec import schedule_from_json, schedule_to_json
from probes.steptime.codec import model_from_json
from probes.values import (
    ArmVerdict,
    Axis,
    BandPoint,
    BestRange,
    Capacity,
    Crossover,
    CurveSample,
    Reason,
    Verdict,
)

SCHEMA = 1


def to_json(crossover: Crossover) -> dict[str, Any]:
    """The document of schema 1; `from_json` reads it back, at the rounding's precision."""
    return {
        "schema": SCHEMA,
        "baseline": crossover.baseline,
        "axis": crossover.axis.value,
        "arms": {name: _arm_to_json(verdict) for name, verdict in crossover.arms.items()},
        "best": [
            {
                "from": _significant(r.start),
                "to": _significant(r.end),
                "arm": r.arm,
                "margin_pct": round(r.margin_pct, 2),
                "confident": r.confident,
            }
            for r in crossover.best
        ],
        "schedule": None if crossover.schedule is None else schedule_to_json(crossover.schedule),
        "latency": {
            metric: {name: _arm_to_json(verdict) for name, verdict in arms.items()}
            for metric, arms in crossover.latency.items()
        },
        "curves": {
            name: [[_significant(v, 5) for v in (s.concurrency, s.tok_s, s.low, s.high)] for s in samples]
            for name, samples in crossover.curves.items()
        },
        "step_model": None if crossover.step_model is None else asdict(crossover.step_model),
        "acceptance": {name: _significant(length) for name, length in crossover.acceptance.items()},
    }


def from_json(document: Mapping[str, Any]) -> Crossover:
    """Read a document of schema 1; ValueError, in words, where it is something else."""
    schema = document.get("schema")
    if schema != SCHEMA:
        raise ValueError(f"not a crossover of schema {SCHEMA}: its schema is {schema!r}")
    try:
        return Crossover(
            baseline=str(document["baseline"]),
            axis=Axis(document["axis"]),
            arms={str(name): _arm_from_json(str(name), arm) for name, arm in document["arms"].items()},
            best=tuple(
                BestRange(float(r["from"]), float(r["to"]), str(r["arm"]), float(r["margin_pct"]), bool(r["confident"]))
                for r in document["best"]
            ),
            curves={
                str(name): tuple(CurveSample(*(float(v) for v in row)) for row in rows)
                for name, rows in document.get("curves", {}).items()
            },
            latency={
                str(metric): {str(name): _arm_from_json(str(name), arm) for name, arm in arms.items()}
                for metric, arms in document.get("latency", {}).items()
            },
            schedule=None if document.get("schedule") is None else schedule_from_json(document["schedule"]),
            step_model=None if document.get("step_model") is None else model_from_json(document["step_model"]),
            acceptance={str(name): float(length) for name, length in document.get("acceptance", {}).items()},
        )
    except KeyError as error:
        raise ValueError(f"not a crossover of schema {SCHEMA}: {error.args[0]!r} is missing") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a crossover of schema {SCHEMA}: {error}") from error


def _arm_to_json(arm: ArmVerdict) -> dict[str, Any]:
    return {
        "verdict": arm.verdict.value,
        "crossover": _maybe(arm.crossover),
        "low": _maybe(arm.low),
        "high": _maybe(arm.high),
        "speedup": [
            [_significant(p.concurrency), *(_significant(v, 5) for v in (p.ratio, p.low, p.high))] for p in arm.speedup
        ],
        "capacity": None
        if arm.capacity is None
        else {
            "running": _significant(arm.capacity.running),
            "tok_s": round(arm.capacity.tok_s, 1),
            "limited_by": arm.capacity.limited_by,
        },
        "reasons": [{"code": r.code, "text": r.text} for r in arm.reasons],
    }


def _arm_from_json(name: str, arm: Mapping[str, Any]) -> ArmVerdict:
    capacity = arm["capacity"]
    return ArmVerdict(
        arm=name,
        verdict=Verdict(arm["verdict"]),
        crossover=_float(arm["crossover"]),
        low=_float(arm["low"]),
        high=_float(arm["high"]),
        speedup=tuple(BandPoint(*(float(v) for v in row)) for row in arm["speedup"]),
        capacity=None
        if capacity is None
        else Capacity(float(capacity["running"]), float(capacity["tok_s"]), str(capacity["limited_by"])),
        reasons=tuple(Reason(str(r["code"]), str(r["text"])) for r in arm["reasons"]),
    )


def _significant(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")


def _maybe(value: float | None) -> float | None:
    return None if value is None else _significant(value)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
