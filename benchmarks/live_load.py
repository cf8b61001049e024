"""Holds the live concurrency, and the gauges alone, against what a load generator of another make had in the system.

Run from the repository root: `.venv/bin/python -m benchmarks.live_load`. Readings are a daemon's beside real vLLM and
SGLang on H200s; the truth is the request-seconds of the load's own log inside each window, over its length. It prints
the table of docs/metrics.md: every stretch of one server, the baseline's too, and how well its first seconds are read.
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
from tests.support.alert_replay import FIXTURE, LIKE_FIXTURE, MIX_FIXTURE, SGLANG_FIXTURE, readings_in

RAW = Path("docs/results/h200/raw")
WINDOW_S = 30.5
LOOKS_MIN = 10
LOOKS_FIRST = 5
"""Fewer than LOOKS_MIN, but so many, since a stretch began: read as well, and told apart."""
STEADY_RATIO = 1.1
"""Highest over lowest load of any 2 s inside a window that counts as steady."""
STEADY, MOVING, FIRST = "steady", "moving", "first"


@dataclass(frozen=True, slots=True)
class Run:
    """One load generator's log, and the readings that a daemon took beside it."""

    archive: Path
    load: str
    readings: Path


CLIMB, SWITCH, RATE, POOR = (
    Run(RAW / "alert-run.tar.xz", load, FIXTURE) for load in ("climb", "switch", "rate", "poor")
)
SGLANG = Run(RAW / "alert-run.tar.xz", "sgl", SGLANG_FIXTURE)
SECOND = Run(RAW / "alert-run-2.tar.xz", "alert", LIKE_FIXTURE)
MIX = Run(RAW / "mix-run.tar.xz", "mix", MIX_FIXTURE)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Readings of one server, from when it was switched to."""

    words: str
    run: Run
    server: str
    phases: tuple[str, ...]


STRETCHES = (
    Stretch("178 + 256 tokens, K = 3, 16 to 161 clients", CLIMB, "k3", ("climb",)),
    Stretch("178 + 256, K = 3, 161 clients", SWITCH, "k3", ("switch",)),
    Stretch("switched to off, 161 clients", SWITCH, "off", ("switch",)),
    Stretch("178 + 256, K = 3, Poisson arrivals", RATE, "k3", ("rate",)),
    Stretch("switched to off, the same arrivals", RATE, "off", ("rate",)),
    Stretch("178 + 256, K = 3, poor acceptance, 80, 128 and 40 clients", POOR, "k3poor", ("poor",)),
    Stretch("the same on another machine, 16 and 124 clients", SECOND, "poor", ("p16", "p124")),
    Stretch("switched to off, 124 clients", SECOND, "off", ("off124",)),
    Stretch("1,024 + 128, K = 3, 64 clients", MIX, "k3", ("k3-64",)),
    Stretch("switched to off, 64 and 100 clients", MIX, "off", ("off-64", "off-100")),
    Stretch("switched to K = 3, 100 clients", MIX, "k3", ("k3-100",)),
    Stretch("switched to K = 3, poor acceptance, 60 clients", MIX, "poor", ("poor-60",)),
    Stretch("SGLang 0.5.15, 178 + 256, K = 3, 16 and 96 clients", SGLANG, "sglang-k3", ("sglang",)),
)


@dataclass(frozen=True, slots=True)
class Window:
    """One window: what was in the system, and what was read."""

    true: float
    read: float
    gauges: float
    kind: str


def requests(one: Stretch) -> tuple[list[tuple[float, float]], float]:
    """Unix time at which each request to the stretch's server was sent and ended, and when the whole load ended."""
    with tarfile.open(one.run.archive) as run:
        plan, log = (run.extractfile(name) for name in (f"plan-{one.run.load}.json", f"load-{one.run.load}.csv"))
        assert plan is not None
        assert log is not None
        planned = json.load(plan)
        rows = list(csv.DictReader(io.TextIOWrapper(log, encoding="utf-8")))
    began_s = float(planned["t0"])
    sent = [
        (began_s + float(row["sent_s"]), began_s + float(row["end_s"]))
        for row in rows
        if row["end_s"] and row["server"] == one.server
    ]
    return sent, began_s + float(planned["phases"][-1]["at"])


def held(sent: list[tuple[float, float]], first_s: float, last_s: float) -> float:
    """Mean in the system between two instants."""
    return sum(max(0.0, min(last_s, b) - max(first_s, a)) for a, b in sent) / (last_s - first_s)


def windows(readings: list[Reading], sent: list[tuple[float, float]]) -> list[Window]:
    """A window at every scrape that has enough before it."""
    found = []
    for at, newest in enumerate(readings):
        own = [r for r in readings[: at + 1] if r.at_s >= newest.at_s - WINDOW_S]
        first_s, last_s = own[0].at_s, newest.at_s
        first = LOOKS_FIRST <= len(own) < LOOKS_MIN and own[0] is readings[0]
        if not (first or len(own) >= LOOKS_MIN) or (true := held(sent, first_s, last_s)) < 1:
            continue
        seen = live_window([StoredReading(r, sweep_id=None) for r in own], 0.0)
        if seen.concurrency is None:
            continue
        parts = [held(sent, first_s + x, first_s + x + 2) for x in range(0, int(last_s - first_s) - 2, 2)]
        gauges = fmean((e.running or 0.0) + (e.waiting or 0.0) for r in own for e in r.engines)
        kind = FIRST if first else STEADY if max(parts) < STEADY_RATIO * min(parts) else MOVING
        found.append(Window(true, seen.concurrency, gauges, kind))
    return found


def errors(values: list[float]) -> str:
    """Median and worst, in percent."""
    return f"{median(values):+.1%}, {max(values, key=abs):+.1%}"


HEAD = "| load | windows | in the system | gauges alone: median, worst | as read: median, worst |"


def row(words: str, own: list[Window]) -> str:
    """One line of the table."""
    low, high = (f"{edge(w.true for w in own):.0f}" for edge in (min, max))
    gauges, read = [w.gauges / w.true - 1 for w in own], [w.read / w.true - 1 for w in own]
    span = low if low == high else f"{low} to {high}"
    return f"| {words} | {len(own)} | {span} | {errors(gauges)} | {errors(read)} |"


def main() -> None:
    """Print the table."""
    lines: list[str] = [HEAD, "|---" * 5 + "|"]
    first: list[Window] = []
    for one in STRETCHES:
        sent, end_s = requests(one)
        readings = [
            reading
            for phase, reading in readings_in(one.run.readings)
            if phase in one.phases and reading.engines and (reading.k is None) is (one.server == "off")
        ]
        found = windows([reading for reading in readings if reading.at_s < end_s], sent)
        first += [w for w in found if w.kind == FIRST and one.run is not SGLANG]
        kinds = {kind: [w for w in found if w.kind == kind] for kind in (STEADY, MOVING)}
        lines += [row(f"{one.words}, {kind}", own) for kind, own in kinds.items() if own]
    lines.append(row("every stretch of vLLM, its first 8 to 16 s", first))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
