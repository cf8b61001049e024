"""The crossover as JSON, schema 1: what `crossover --json` prints, the store keeps and other hosts import.

Numbers are rounded here, to what their noise can carry; no verdict is made or changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from probes.answer_values import ArmVerdict, Axis, BandPoint, BestRange, Capacity, Crossover, CurveSample, Verdict
from probes.crossover.schedule_codec import schedule_from_json, schedule_to_json
from probes.steptime.codec import model_from_json
from probes.values import Reason

SCHEMA = 1


def to_json(crossover: Crossover) -> dict[str, Any]:
    """The document of schema 1; `from_json` reads it back, at the rounding's precision."""
    return {
        "schema": SCHEMA,
        "baseline": crossover.baseline,
        "axis": crossover.axis.value,
        "arms": {name: _arm_to_json(verdict) for name, verdict in crossover.arms.items()},
        "best": [_best_to_json(r) for r in crossover.best],
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
        "baseline_capacity": _capacity_to_json(crossover.baseline_capacity),
        "notes": _reasons_to_json(crossover.notes),
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
            best=tuple(_best_from_json(r) for r in document["best"]),
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
            baseline_capacity=_capacity_from_json(document.get("baseline_capacity")),
            notes=_reasons_from_json(document.get("notes", ())),
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
        "capacity": _capacity_to_json(arm.capacity),
        "reasons": _reasons_to_json(arm.reasons),
    }


def _arm_from_json(name: str, arm: Mapping[str, Any]) -> ArmVerdict:
    return ArmVerdict(
        arm=name,
        verdict=Verdict(arm["verdict"]),
        crossover=_float(arm["crossover"]),
        low=_float(arm["low"]),
        high=_float(arm["high"]),
        speedup=tuple(BandPoint(*(float(v) for v in row)) for row in arm["speedup"]),
        capacity=_capacity_from_json(arm["capacity"]),
        reasons=_reasons_from_json(arm["reasons"]),
    )


def _best_to_json(best: BestRange) -> dict[str, Any]:
    return {
        "from": _significant(best.start),
        "to": _significant(best.end),
        "arm": best.arm,
        "margin_pct": round(best.margin_pct, 2),
        "confident": best.confident,
        "over": list(best.over),
        "low_pct": _hundredths(best.low_pct),
        "high_pct": _hundredths(best.high_pct),
        "noise_pct": _hundredths(best.noise_pct),
        "limited_above": _maybe(best.limited_above),
    }


def _best_from_json(best: Mapping[str, Any]) -> BestRange:
    return BestRange(
        start=float(best["from"]),
        end=float(best["to"]),
        arm=str(best["arm"]),
        margin_pct=float(best["margin_pct"]),
        confident=bool(best["confident"]),
        over=tuple(str(name) for name in best.get("over", ())),
        low_pct=_float(best.get("low_pct")),
        high_pct=_float(best.get("high_pct")),
        noise_pct=_float(best.get("noise_pct")),
        limited_above=_float(best.get("limited_above")),
    )


def _capacity_to_json(capacity: Capacity | None) -> dict[str, Any] | None:
    if capacity is None:
        return None
    return {
        "running": _significant(capacity.running),
        "tok_s": round(capacity.tok_s, 1),
        "limited_by": capacity.limited_by,
    }


def _capacity_from_json(capacity: Mapping[str, Any] | None) -> Capacity | None:
    if capacity is None:
        return None
    return Capacity(float(capacity["running"]), float(capacity["tok_s"]), str(capacity["limited_by"]))


def _reasons_to_json(reasons: Iterable[Reason]) -> list[dict[str, str]]:
    return [{"code": r.code, "text": r.text} for r in reasons]


def _reasons_from_json(reasons: Iterable[Mapping[str, Any]]) -> tuple[Reason, ...]:
    return tuple(Reason(str(r["code"]), str(r["text"])) for r in reasons)


def _significant(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")


def _maybe(value: float | None) -> float | None:
    return None if value is None else _significant(value)


def _hundredths(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
