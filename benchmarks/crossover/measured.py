"""The estimator on sweeps that somebody measured: one H200, and every published table beside a person's reading."""

from __future__ import annotations

import json

from benchmarks.crossover.table import header, row, say
from probes.answer_values import ArmVerdict, Axis
from probes.crossover import cells_to_points, estimate
from probes.imports.sweep_file import read_sweep
from tests.support.measured_sweeps import DATA, Published, h200_points, published_sweeps
from tests.support.scored_sweeps import judged

BY_HAND = {"k1": 240, "k3": 167, "k5": 93}
"""Log-linear crossings of the means, by clients."""
STREAMING = DATA / "h200" / "streaming"


def report() -> None:
    """Print the tables."""
    _h200()
    _streaming()
    _published()


def _h200() -> None:
    say("## One H200, vLLM 0.26.0, EAGLE-3 with synthetic acceptance, two repeats")
    say()
    header(["arm", "by hand, in clients", "by clients", "by requests in the system"], words=True)
    by = [
        estimate(h200_points(by_clients=by_clients), baseline="off", axis=Axis.CLIENTS) for by_clients in (True, False)
    ]
    for arm, clients in BY_HAND.items():
        row([arm, str(clients), *(answer(found.arms[arm]) for found in by)])
    say()


def _streaming() -> None:
    say("## The same kind of server under streaming load: 10 s windows, two repeats")
    say()
    header(["sweep", "arm", "estimate"], words=True)
    for path in sorted(STREAMING.glob("*.json")):
        cells = read_sweep(path, json.loads(path.read_text(encoding="utf-8"))).cells
        found = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
        for arm, verdict in found.arms.items():
            row([path.stem, arm, answer(verdict)])
    say()


def _published() -> None:
    say("## Published tables: the estimate beside a person's reading")
    say()
    header(["table", "estimate", "a person's reading", "agrees"], words=True)
    tables = published_sweeps()
    for table in tables:
        verdict = judged(table.points)
        reading = table.verdict or "open"
        if table.between:
            reading += f" in {table.between[0]:g} to {table.between[1]:g}"
        row([table.id, answer(verdict), f"{reading}: {table.why}", "yes" if agrees(table, verdict) else "no"])
    say()
    read = [table for table in tables if table.verdict is not None]
    told = f"{sum(agrees(table, judged(table.points)) for table in read)} of {len(read)} agree"
    say(f"{told}; {len(tables) - len(read)} that a person leaves open agree with anything.")
    say()


def agrees(table: Published, verdict: ArmVerdict) -> bool:
    """Whether the estimate is what the person read, and the crossover between the rungs that the person named."""
    if table.verdict is not None and verdict.verdict != table.verdict:
        return False
    return not table.between or verdict.crossover is None or table.between[0] <= verdict.crossover <= table.between[1]


def answer(verdict: ArmVerdict) -> str:
    """Verdict, crossover and interval in one cell."""

    def edge(value: float | None) -> str:
        return "open" if value is None else f"{value:.3g}"

    value = f" {verdict.crossover:.3g}" if verdict.crossover else ""
    return f"{verdict.verdict.value}{value} [{edge(verdict.low)}, {edge(verdict.high)}]"
