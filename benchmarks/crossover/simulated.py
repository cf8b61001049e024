"""Coverage, width and verdict errors on simulated sweeps, by shape, by noise and by what two runs may differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.crossover.table import header, octaves, row, say, share
from probes.answer_values import Verdict
from tests.support.scored_sweeps import Scored, judged, score
from tests.support.simulated_sweeps import (
    CROSSING,
    LADDER,
    SHAPES,
    Noise,
    draw_noise,
    same_server_twice,
    simulate,
)

FLOOR = 0.015
"""Sd of a cell that the estimator assumes before it has seen repeats; at and above it, noise is what it says."""
VERDICTS = tuple(verdict for verdict in Verdict if verdict is not Verdict.INSUFFICIENT)


def report(sweeps: int, seed: int) -> None:
    """Print every table."""
    found = {
        shape: [score(simulate(shape, rng)) for _ in range(sweeps)]
        for shape, rng in ((shape, np.random.default_rng([seed, i])) for i, shape in enumerate(SHAPES))
    }
    _by_shape(found)
    _by_noise([one for shape in CROSSING for one in found[shape]])
    _between_runs(max(1, sweeps // 5), seed)
    _width(sweeps, seed)
    _ties(found["tie"], sweeps, seed)
    _restarts(sweeps, seed)


def _by_shape(found: dict[str, list[Scored]]) -> None:
    say(f"## By shape: {len(next(iter(found.values())))} sweeps each, everything drawn at random")
    say()
    header(
        [
            "shape",
            "covered",
            "of `crosses`",
            "both open",
            "width",
            "band",
            "wrong",
            "unclear",
            *(v.value for v in VERDICTS),
        ]
    )
    for shape, scored in found.items():
        _row(shape, scored)
    crossing = [one for shape in CROSSING for one in found[shape]]
    every = [one for scored in found.values() for one in scored]
    _row("all with a crossover", crossing)
    _row(f"of them, cells at {100 * FLOOR:.1f}% or noisier", [one for one in crossing if _noisy(one)])
    _row("all shapes", every)
    say()


def _noisy(one: Scored) -> bool:
    return min(one.sweep.noise.off, one.sweep.noise.on) >= FLOOR


def _row(name: str, scored: Sequence[Scored]) -> None:
    true = [one for one in scored if one.covered is not None]
    named = [one for one in true if one.answer.verdict is Verdict.CROSSES]
    clear = [one for one in scored if one.decisive_truth not in (None, Verdict.UNCLEAR)]
    counts = Counter(one.answer.verdict for one in scored)
    row(
        [
            name,
            _covered(true),
            _covered(named),
            share([one.answer.low is None and one.answer.high is None for one in true]),
            octaves([one.width for one in named]),
            share([held for one in scored for held in one.band]),
            share([one.wrong for one in scored if one.at_risk], 2),
            share([one.answer.verdict is Verdict.UNCLEAR for one in clear]),
            *(str(counts[verdict]) for verdict in VERDICTS),
        ]
    )


def _covered(scored: Sequence[Scored]) -> str:
    return share([bool(one.covered) for one in scored if one.covered is not None])


def _by_noise(scored: Sequence[Scored]) -> None:
    say("## Coverage by what was drawn (the shapes with a crossover)")
    say()
    header(["drawn", "sweeps", "covered", "width"])
    groups = {
        "normal noise": [one for one in scored if one.sweep.noise.tails_df is None],
        "Student t, 3 to 4 df": [one for one in scored if one.sweep.noise.tails_df is not None],
        "no drift": [one for one in scored if not one.sweep.noise.drift and not one.sweep.noise.wander],
        "drift or wandering": [one for one in scored if one.sweep.noise.drift or one.sweep.noise.wander],
        "cells 0.5% to 1.5%, both arms": [one for one in scored if max(_cells(one)) < FLOOR],
        "cells 1.5% to 3%, both arms": [one for one in scored if _noisy(one)],
    }
    for repeats in range(2, 6):
        groups[f"{repeats} repeats"] = [one for one in scored if _repeats(one) == repeats]
    for low in (0.01, 0.015, 0.02, 0.025):
        name = f"runs differ by {100 * low:.1f} to {100 * low + 0.5:.1f}%"
        groups[name] = [one for one in scored if low <= one.sweep.noise.between_runs < low + 0.005]
    for name, group in groups.items():
        row([name, str(len(group)), _covered(group), octaves([one.width for one in group])])
    say()


def _cells(one: Scored) -> tuple[float, float]:
    return one.sweep.noise.off, one.sweep.noise.on


def _repeats(one: Scored) -> int:
    return 1 + max(point.repeat for point in one.sweep.points)


def _between_runs(sweeps: int, seed: int) -> None:
    say(f"## Were runs to differ always by the same: {sweeps} sweeps of each shape with a crossover")
    say()
    header(["sd between runs", "covered", "wrong", "unclear"])
    for between in (0.0, 0.01, 0.02, 0.025, 0.03):
        rng = np.random.default_rng([seed, 50])
        found = [
            score(simulate(shape, rng, noise=replace(draw_noise(rng), between_runs=between)))
            for shape in CROSSING
            for _ in range(sweeps)
        ]
        clear = [one.answer.verdict is Verdict.UNCLEAR for one in found if one.decisive_truth is not None]
        row(
            [
                f"{100 * between:.1f}%",
                _covered(found),
                share([one.wrong for one in found if one.at_risk], 2),
                share(clear),
            ]
        )
    say()


def _width(sweeps: int, seed: int) -> None:
    say(f"## Width at 2% noise, 2% between runs, 3 repeats, 9 rungs, 8 to 35% an octave: {sweeps} sweeps each")
    say()
    header(["shape", "median width, octaves", "covered"])
    noise = Noise(off=0.02, on=0.02, between_runs=0.02)
    pooled: list[Scored] = []
    for shape in ("linear", "roofline", "plateau", "step"):
        rng = np.random.default_rng([seed, 60])
        found = [
            score(simulate(shape, rng, noise=noise, repeats=3, ladder=LADDER, min_slope=0.08)) for _ in range(sweeps)
        ]
        pooled += found if shape != "step" else []
        row([shape, octaves([one.width for one in found]), _covered(found)])
    row(["without step", octaves([one.width for one in pooled]), _covered(pooled)])
    say()


def _ties(ties: Sequence[Scored], sweeps: int, seed: int) -> None:
    unclear = share([one.answer.verdict is Verdict.UNCLEAR for one in ties])
    rng = np.random.default_rng([seed, 70])
    same = [judged(same_server_twice(rng)) for _ in range(sweeps)]
    say("## Near ties")
    say()
    say(f"- Truth within 1% everywhere: {unclear} `unclear` of {len(ties)}.")
    again = share([verdict.verdict is Verdict.UNCLEAR for verdict in same])
    inside = share([point.low <= 1 <= point.high for verdict in same for point in verdict.speedup])
    say(f"- The same server twice, 2% between runs: {again} `unclear` of {sweeps}; the band holds 1 at {inside}.")
    say()


def _restarts(sweeps: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 80])
    found = [score(simulate("linear", rng, restarts=True)) for _ in range(sweeps)]
    say("## Arms that are restarted, every pass on a start of its own (linear)")
    say()
    width = octaves([one.width for one in found])
    say(f"{_covered(found)} covered, median width {width} octaves, {sweeps} sweeps of 2 to 5 starts per arm.")
    say()
