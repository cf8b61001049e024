"""Holds the live concurrency, and the gauges alone, against what a load generator of another make had in the system.

Run from the repository root: `.venv/bin/python -m benchmarks.live_load`. Readings are a daemon's beside real vLLM and
SGLang on an H200; the truth is the request-seconds of the load's own log inside each window, over its length.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from monitor.live_window import live_window
from monitor.values import StoredReading
from probes.values import Reading
from tests.support.alert_replay import FIXTURE, SGLANG_FIXTURE, readings_in

RUN = Path("docs/results/h200/raw/alert-run.tar.xz")
WINDOW_S = 30.5
LOOKS_MIN = 10
STRETCHES = (
    ("vLLM, K = 3, climbing and falling clients", "climb", 3),
    ("vLLM, K = 3, Poisson arrivals", "rate", 3),
    ("vLLM, K = 3 with poor acceptance, 80, 128 and 40 clients", "poor", 3),
    ("SGLang, K = 3, 16 and 96 clients", "sgl", 3),
)
STEADY = 1.1
"""Highest over lowest load of any 2 s inside a window that counts as steady."""


@dataclass(frozen=True, slots=True)
class Window:
    """One window: what was in the system, and what was read."""

    true: float
    read: float
    gauges: float
    steady: bool


def requests(run: tarfile.TarFile, phase: str) -> list[tuple[float, float]]:
    """Unix time at which each request to the drafting server was sent and ended."""
    plan, log = (run.extractfile(name) for name in (f"plan-{phase}.json", f"load-{phase}.csv"))
    assert plan is not None
    assert log is not None
    began_s = float(json.load(plan)["t0"])
    rows = csv.DictReader(io.TextIOWrapper(log, encoding="utf-8"))
    return [
        (began_s + float(row["sent_s"]), began_s + float(row["end_s"]))
        for row in rows
        if row["end_s"] and row["server"] != "off"
    ]


def held(sent: list[tuple[float, float]], first_s: float, last_s: float) -> float:
    """Mean in the system between two instants."""
    return sum(max(0.0, min(last_s, b) - max(first_s, a)) for a, b in sent) / (last_s - first_s)


def windows(readings: list[Reading], sent: list[tuple[float, float]]) -> list[Window]:
    """A window at every scrape that has enough before it."""
    found = []
    for at, newest in enumerate(readings):
        own = [r for r in readings[: at + 1] if r.at_s >= newest.at_s - WINDOW_S]
        first_s, last_s = own[0].at_s, newest.at_s
        if len(own) < LOOKS_MIN or (true := held(sent, first_s, last_s)) < 1:
            continue
        seen = live_window([StoredReading(r, sweep_id=None) for r in own], 0.0)
        if seen.concurrency is None:
            continue
        parts = [held(sent, first_s + x, first_s + x + 2) for x in range(0, int(last_s - first_s) - 2, 2)]
        gauges = fmean((e.running or 0.0) + (e.waiting or 0.0) for r in own for e in r.engines)
        found.append(Window(true, seen.concurrency, gauges, max(parts) < STEADY * min(parts)))
    return found


def errors(values: list[float]) -> str:
    """Median and worst, in percent."""
    return f"{median(values):+.1%}, {max(values, key=abs):+.1%}"


HEAD = "| load | windows | in the system | gauges alone: median, worst | as read: median, worst |"


def row(words: str, own: list[Window]) -> str:
    """One line of the table."""
    span = f"{min(w.true for w in own):.0f} to {max(w.true for w in own):.0f}"
    gauges, read = [w.gauges / w.true - 1 for w in own], [w.read / w.true - 1 for w in own]
    return f"| {words} | {len(own)} | {span} | {errors(gauges)} | {errors(read)} |"


def main() -> None:
    """Print the table."""
    lines = [HEAD, "|---" * 5 + "|"]
    with tarfile.open(RUN) as run:
        for words, phase, k in STRETCHES:
            fixture, name = (SGLANG_FIXTURE, "sglang") if phase == "sgl" else (FIXTURE, phase)
            readings = [r for where, r in readings_in(fixture) if where == name and r.k == k and r.engines]
            found = windows(readings, requests(run, phase))
            for kind, steady in (("steady", True), ("moving", False)):
                if own := [w for w in found if w.steady is steady]:
                    lines.append(row(f"{words}, {kind}", own))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
