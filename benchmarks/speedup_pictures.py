"""Draws the speedup curves of the sweeps in docs/results/h200 from their cells.

Run from the repository root: `.venv/bin/python -m benchmarks.speedup_pictures [NAME ...]`, by default all of
`speedup`, `speedup-178` and `speedup-like`; it writes `docs/results/h200/NAME.svg`. Lines and bands are those of
`specwatch crossover FILE`; a dot stands only where both the arm and the baseline were measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probes.answer_values import ArmVerdict, Axis, BandPoint, Verdict
from probes.crossover import cells_to_points, estimate
from probes.imports.sweep_file import read_sweep

FOLDER = Path("docs/results/h200")
SAME = 0.005
"""A point of the curve this near (natural log) to a rung is that rung."""
LEFT, RIGHT, TOP, BOTTOM = 56.0, 710.0, 40.0, 400.0
LEGEND_Y, LEGEND_STEP = 60, 38


@dataclass(frozen=True, slots=True)
class Line:
    """One arm of one sweep."""

    sweep: str
    arm: str
    words: str
    colour: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One file: what it shows and the marks of its axes."""

    title: str
    text: str
    lines: tuple[Line, ...]
    x: tuple[int, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A line with its answer, and which of the answer's points were measured."""

    line: Line
    found: ArmVerdict
    measured: tuple[bool, ...]


PICTURES = {
    "speedup": Picture(
        "Speedup over the server without speculation, by concurrency",
        "vLLM, 109 + 256 tokens, one H200 each",
        (
            Line("static", "k1", "k1", "#1b7f4b"),
            Line("static", "k3", "k3", "#2457c5"),
            Line("static", "k5", "k5", "#b3410f"),
            Line("poor-acceptance", "k3poor", "k3, poor acceptance", "#7a3fb0"),
            Line("poor-acceptance", "dyn", "dyn (schedule)", "#6b6b6b"),
        ),
        (1, 2, 4, 8, 16, 32, 64, 128, 256),
        (0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    ),
    "speedup-178": Picture(
        "Speedup over the server without speculation, prompts of 178 tokens",
        "178 + 256 tokens, one H200 each",
        (
            Line("static-178", "k3", "vLLM k3", "#1f77b4"),
            Line("static-178", "k5", "vLLM k5", "#d62728"),
            Line("static-178", "dyn", "vLLM dyn (schedule)", "#7f7f7f"),
            Line("sglang", "k3", "SGLang k3", "#2ca02c"),
        ),
        (8, 16, 32, 64, 96, 128, 160),
        (0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8),
    ),
    "speedup-like": Picture(
        "Speedup over the server without speculation, four API servers each, three mixes",
        "four API servers each, H200",
        (
            Line("static-like", "k3", "k3, 178 + 256", "#1f77b4"),
            Line("mix-1024", "k3", "k3, 1,024 + 128", "#2ca02c"),
            Line("mix-1284", "k3", "k3, 1,284 + 112", "#9467bd"),
            Line("mix-1024", "poor", "k3poor, 1,024 + 128", "#d62728"),
        ),
        (16, 24, 32, 48, 64, 96, 128, 160),
        (0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    ),
}


def drawn(line: Line) -> Drawn:
    """The arm's answer, made anew from the cells."""
    path = FOLDER / "raw" / f"{line.sweep}.json.gz"
    sweep = read_sweep(path, json.loads(gzip.decompress(path.read_bytes())))
    found = estimate(cells_to_points(sweep.cells), baseline=sweep.baseline, axis=Axis.CONCURRENCY_PER_ENGINE)
    at = {
        arm: [math.log(c.concurrency) for c in sweep.cells if c.arm == arm and c.valid and c.concurrency]
        for arm in (line.arm, sweep.baseline)
    }

    def measured(point: BandPoint) -> bool:
        here = math.log(point.concurrency)
        return all(any(abs(x - here) < SAME for x in own) for own in at.values())

    answer = found.arms[line.arm]
    return Drawn(line, answer, tuple(measured(point) for point in answer.speedup))


def verdict(found: ArmVerdict) -> str:
    """The answer in a few words."""
    if found.verdict is Verdict.CROSSES and found.crossover is not None:
        low, high = ("open" if edge is None else f"{edge:.0f}" for edge in (found.low, found.high))
        return f"crosses at {found.crossover:.0f} [{low}, {high}]"
    if found.low is not None and found.high is None:
        top = found.low > (1 - SAME) * found.speedup[-1].concurrency
        return f"faster to {found.low:.0f}, {'the top' if top else 'then noise'}"
    return found.verdict.value.replace("_", " ")


def svg(picture: Picture) -> Iterator[str]:
    """The picture, line by line."""
    every = [drawn(line) for line in picture.lines]
    edges = [edge for one in every for p in one.found.speedup for edge in (p.low, p.high)]
    x_low, x_high = (math.log(e(p.concurrency for one in every for p in one.found.speedup)) for e in (min, max))
    y_low, y_high = math.log(min(*edges, *picture.y)), math.log(max(*edges, *picture.y))

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log(value) - x_low) / (x_high - x_low)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (math.log(value) - y_low) / (y_high - y_low)

    yield (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 440" font-family="system-ui,sans-serif" '
        f'font-size="12"><title>{picture.title}</title><rect width="900" height="440" fill="#ffffff"/>'
    )
    heading = f"Output tok/s over the server without speculation, with 90% intervals ({picture.text})"
    yield f'<text x="{LEFT:.0f}" y="20" font-size="14" fill="#222">{heading}</text>'
    for mark in picture.y:
        colour = "#888" if mark == 1 else "#e3e3e3"
        yield (
            f'<line x1="{LEFT:.0f}" x2="{RIGHT:.0f}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" stroke="{colour}"/>'
            f'<text x="48" y="{y(mark) + 4:.1f}" text-anchor="end" fill="#444">{mark:.1f}x</text>'
        )
    for mark in picture.x:
        yield (
            f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{TOP:.0f}" y2="{BOTTOM:.0f}" stroke="#f0f0f0"/>'
            f'<text x="{x(mark):.1f}" y="418" text-anchor="middle" fill="#444">{mark}</text>'
        )
    yield '<text x="383.0" y="436" text-anchor="middle" fill="#444">requests in the system (log scale)</text>'

    def path(values: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in values)

    for one in every:
        band = one.found.speedup
        around = [(p.concurrency, p.low) for p in band] + [(p.concurrency, p.high) for p in reversed(band)]
        yield f'<polygon points="{path(around)}" fill="{one.line.colour}" opacity="0.13"/>'
    for at, one in enumerate(every):
        colour, legend_y = one.line.colour, LEGEND_Y + at * LEGEND_STEP
        points = [(p.concurrency, p.ratio) for p in one.found.speedup]
        yield f'<polyline points="{path(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for (here, ratio), dot in zip(points, one.measured, strict=True):
            if dot:
                yield f'<circle cx="{x(here):.1f}" cy="{y(ratio):.1f}" r="3" fill="{colour}"/>'
        yield (
            f'<rect x="726" y="{legend_y}" width="12" height="12" fill="{colour}"/>'
            f'<text x="744" y="{legend_y + 10}" fill="#222">{one.line.words}</text>'
            f'<text x="744" y="{legend_y + 25}" fill="#555" font-size="11">{verdict(one.found)}</text>'
        )
    note_y = LEGEND_Y + len(every) * LEGEND_STEP + 12
    yield f'<circle cx="732" cy="{note_y - 4}" r="3" fill="#555"/>'
    for row, words in enumerate(("arm and off measured;", "between dots the line is", "interpolated")):
        yield f'<text x="744" y="{note_y + 15 * row}" fill="#555" font-size="11">{words}</text>'
    yield "</svg>"


def main() -> None:
    """Write the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    for name in parser.parse_args().names or PICTURES:
        (FOLDER / f"{name}.svg").write_text("\n".join(svg(PICTURES[name])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
