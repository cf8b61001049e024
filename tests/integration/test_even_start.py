"""Clients of a cell do not run in step, whatever a request takes, and no cut answer is taken for a request's length.

Virtual time. Answers of one length: what would keep clients in step for good.
"""

from __future__ import annotations

import json
import subprocess
import sys
from cmath import exp, pi
from pathlib import Path
from typing import Any

import pytest

from tests.support.start_scenes import MAX_TOKENS, SCENES

ROOT = Path(__file__).parents[2]
IN_STEP = 0.3
"""Mean resultant length of launches over the phase of one request's time: 0 where they are even, 1 where all come at
once. Launches evenly over a whole request's time and any part of a second one have at most 0.22 (sin(pi x) / (pi x)
from x = 1 on), and 16 at random 0.25. All within half a request's time have 0.64."""
EVEN = [name for name in SCENES if "clients" in name]


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    """What each cell told, by its scene's name."""
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.virtual_starts"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return {line["name"]: line for line in map(json.loads, child.stdout.splitlines())}


@pytest.mark.parametrize("name", EVEN)
def test_launches_in_the_window_are_spread_over_a_requests_time(told: dict[str, dict[str, Any]], name: str) -> None:
    cell, clients = told[name], SCENES[name].clients
    launched_s, request_s = cell["launched_s"], cell["e2e_s"][0]
    assert len(launched_s) > 5 * clients, "several requests a client, or there is no step to be in"
    phases = [exp(2j * pi * at_s / request_s) for at_s in launched_s]
    assert abs(sum(phases)) / len(phases) < IN_STEP
    assert cell["void"] == []


@pytest.mark.parametrize("name", EVEN)
def test_a_window_begins_when_every_cut_answer_has_ended(told: dict[str, dict[str, Any]], name: str) -> None:
    """However far off the time is that the cell was told: cut answers bring more prompts than a steady load."""
    assert told[name]["cut_in_window"] == 0


@pytest.mark.parametrize("name", EVEN)
def test_cut_answers_are_counted_as_tokens_and_not_as_lengths(told: dict[str, dict[str, Any]], name: str) -> None:
    cell = told[name]
    assert cell["output_tokens_mean"] == MAX_TOKENS
    assert cell["capped_share"] == 1.0
    assert cell["tokens"] == cell["server_tokens"] < MAX_TOKENS * cell["sent"]
    assert (cell["requests"], cell["foreign"]) == (cell["sent"], 0)
    assert cell["concurrency"] == pytest.approx(SCENES[name].clients, rel=0.01)


@pytest.mark.parametrize("name", ["32 clients, no time known", "32 clients, a right time"])
def test_no_first_answer_is_let_go_before_two_request_times(told: dict[str, dict[str, Any]], name: str) -> None:
    assert told[name]["first_going_on"] == 0


def test_a_ramp_does_not_wait_for_one_answer_that_goes_on_and_on(told: dict[str, dict[str, Any]]) -> None:
    cell = told["one answer that goes on and on"]
    assert cell["first_going_on"] == 1
    assert cell["void"] == []


@pytest.mark.parametrize("name", [name for name in SCENES if "longer than two windows" in name])
def test_a_ramp_goes_on_while_first_answers_end(told: dict[str, dict[str, Any]], name: str) -> None:
    cell = told[name]
    assert cell["ramp_s"] > 2 * SCENES[name].cell_s
    assert cell["first_going_on"] <= 1
    assert "cut_answers" not in cell["void"]


def test_no_ramp_is_longer_than_four_minutes(told: dict[str, dict[str, Any]]) -> None:
    cell = told["no end before the longest ramp"]
    assert 239.0 < cell["ramp_s"] < 243.0
    assert "cut_answers" in cell["void"]


def test_a_ramp_has_an_end_where_nothing_ends(told: dict[str, dict[str, Any]]) -> None:
    """A server that holds requests back still gets its window, and the cell says what is wrong with it."""
    name = "nothing ends for a minute"
    cell = told[name]
    assert cell["ramp_s"] < 70.0
    assert cell["first_going_on"] > SCENES[name].clients / 2
    assert "cut_answers" in cell["void"]
