"""Every fault of a server that a cell can meet gets its reason, and a sound cell beside it does not get that one.

Virtual time: the answers do not depend on how busy this machine is. The scenes are in `tests/support/cell_scenes.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cell_scenes import FAULTS

ROOT = Path(__file__).parents[2]
QUALIFIES = {
    "baseline_degraded",
    "capped",
    "dead_flag",
    "drain_cut_off",
    "drifting",
    "few_errors",
    "kv_limit",
    "latency_coarse",
    "limited",
    "not_idle",
    "preemptions",
    "ramp_cut",
    "rates_apart",
    "restarted_before",
    "waiting",
}
"""Codes that leave a cell valid; every other one voids it."""


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    """What both cells of every fault got, by the fault's name."""
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.virtual_cells"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    return {line["name"]: line for line in map(json.loads, child.stdout.splitlines())}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_reason_and_a_sound_cell_has_not(answers: dict[str, dict[str, Any]], name: str) -> None:
    code = FAULTS[name].code
    broken, sound = answers[name]["broken"], answers[name]["sound"]
    assert code in (broken["notes"] if code in QUALIFIES else broken["void"]), broken
    assert code not in {**sound["void"], **sound["notes"]}, sound


def test_a_plain_cell_has_nothing_to_say(answers: dict[str, dict[str, Any]]) -> None:
    plain = answers["off arm drafts"]["sound"]
    assert (plain["void"], plain["notes"]) == ({}, {})


def test_what_only_qualifies_leaves_the_cell_valid(answers: dict[str, dict[str, Any]]) -> None:
    """Faults that bring nothing worse with them."""
    for name in ("few places", "full cache", "slower than before", "slow start", "cut at the cap", "dead flag"):
        assert answers[name]["broken"]["void"] == {}, name
