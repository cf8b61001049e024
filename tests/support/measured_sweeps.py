"""Sweeps that somebody measured, read from tests/data into the estimator's points."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from probes.answer_values import CurvePoint

DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True, slots=True)
class Published:
    """One public table with a person's reading of it."""

    id: str
    points: list[CurvePoint]
    speedups: list[tuple[float, float]]
    verdict: str | None
    """None where two readings are fair."""
    between: tuple[float, float] | None
    why: str


def h200_points(*, by_clients: bool = False) -> list[CurvePoint]:
    """The sweep measured on one H200 with vLLM 0.26.0, over requests in the system by Little's law."""
    points = []
    for line in (DATA / "h200" / "llama8b-eagle3-sweep.jsonl").read_text().splitlines():
        cell = json.loads(line)
        e2e_s = cell["ttft_mean"] + (cell["output_tokens"] / cell["requests"] - 1) * cell["tpot_mean"]
        in_system = cell["requests"] * e2e_s / cell["seconds"]
        points.append(
            CurvePoint(
                arm=cell["server"],
                concurrency=float(cell["concurrency"]) if by_clients else in_system,
                output_tok_s=cell["output_tok_s"],
                repeat=cell["rep"],
                limited=cell["kv"] > 0.95,
                running=cell["running"],
                kv_usage=cell["kv"],
            )
        )
    return points


def published_sweeps() -> list[Published]:
    """Every table of tests/data/published."""
    tables = []
    for table in json.loads((DATA / "published" / "sweeps.json").read_text()):
        points = []
        for concurrency, off, on in table["points"]:
            scale = concurrency if table["per_stream"] else 1.0
            points.append(CurvePoint("off", concurrency, off * scale, 0))
            points.append(CurvePoint("on", concurrency, on * scale, 0))
        reading = table["reading"]
        between = tuple(reading["between"]) if reading["between"] else None
        speedups = [(x, on / off) for x, off, on in table["points"]]
        tables.append(Published(table["id"], points, speedups, reading["verdict"], between, reading["why"]))
    return tables
