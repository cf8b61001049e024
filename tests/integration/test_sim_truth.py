"""Sweeps by the production code find the crossing that a simulated server has: four places, ten starts each.

Virtual time: the answers do not depend on how busy this machine is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SEEDS = [str(seed) for seed in range(1, 11)]
PLACES = ("8", "24", "60", "none")
NEEDED = 7
"""Of ten at one place: intervals that hold the truth nine times in ten do so 99 times in 100."""
NEEDED_OF_ALL = 33
"""Of forty at the four places: they do so 96 times in 100."""


@pytest.fixture(scope="module")
def answers() -> dict[str, list[dict[str, Any]]]:
    """Every place's ten answers; the places run side by side."""
    with ExitStack() as stack:
        children = {
            place: stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.support.virtual_sweep", place, *SEEDS],
                    cwd=ROOT,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for place in PLACES
        }
        for child in children.values():
            stack.callback(child.kill)
        outputs = {place: child.communicate(timeout=1200)[0] for place, child in children.items()}
    return {place: [json.loads(line) for line in text.splitlines()] for place, text in outputs.items()}


@pytest.mark.parametrize("place", PLACES)
def test_the_interval_holds_the_crossing_that_was_put_there(
    answers: dict[str, list[dict[str, Any]]], place: str
) -> None:
    found = answers[place]
    assert len(found) == len(SEEDS)
    right = [answer for answer in found if _right(answer, None if place == "none" else float(place))]
    shown = [(a["seed"], a["verdict"], a["low"], a["crossover"], a["high"]) for a in found]
    assert len(right) >= NEEDED, shown


def test_the_intervals_of_all_places_hold_their_crossings(answers: dict[str, list[dict[str, Any]]]) -> None:
    right = {p: sum(_right(a, None if p == "none" else float(p)) for a in found) for p, found in answers.items()}
    assert sum(right.values()) >= NEEDED_OF_ALL, right


def test_intervals_are_no_wider_than_a_decision_needs(answers: dict[str, list[dict[str, Any]]]) -> None:
    """Holding the truth by saying nothing is no merit."""
    ratios = sorted(
        answer["high"] / answer["low"]
        for place in PLACES
        for answer in answers[place]
        if answer["verdict"] == "crosses" and answer["low"] and answer["high"]
    )
    assert ratios[len(ratios) // 2] < 2.0


def _right(answer: dict[str, Any], truth: float | None) -> bool:
    if truth is None:
        return bool(answer["verdict"] == "always_faster")
    low, high = answer["low"], answer["high"]
    return answer["verdict"] == "crosses" and (low or 0.0) <= truth <= (high or float("inf"))
