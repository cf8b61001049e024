"""A schedule that static arms imply becomes an arm of the next sweep, and the answer says plainly that it loses.

Virtual time: the answers do not depend on how busy this machine is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
COST = "1.5"
"""Each step of the arm with the schedule takes so much longer, as without full CUDA graphs."""


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.virtual_schedule", COST]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_static_arms_imply_a_schedule_that_is_marked(answers: dict[str, Any]) -> None:
    schedule = answers["implied"]["schedule"]
    assert [k for _, _, k in schedule["value"]] == [3, 1, 0]
    assert schedule["measured"] is False


def test_the_arm_that_ran_it_was_not_void_where_it_drafted_nothing(answers: dict[str, Any]) -> None:
    assert answers["measured"] is not None, answers["reason"]
    assert {rung: void for rung, _, _, void in answers["k"]} == {1: [], 4: [], 16: [], 64: []}


def test_having_run_it_counts_as_measured_and_the_loss_comes_first(answers: dict[str, Any]) -> None:
    schedule = answers["measured"]["schedule"]
    assert (schedule["measured"], schedule["measured_as"]) == (True, "dsd")
    assert "dsd" not in schedule["arms"], "static arms alone make the schedule"
    first = schedule["reasons"][0]
    assert first["code"] == "schedule_lost"
    assert "loses" in first["text"]
    top = next(r["text"] for r in schedule["reasons"] if r["code"] == "schedule_loses" and "to 64 dsd" in r["text"])
    assert "slower than off" in top
