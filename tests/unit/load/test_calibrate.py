"""Calibration: what makes a step bad, how true stamps are compared with ours, and all of it against its server."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from monitor.cli import main
from monitor.commands.calibrate import step_lines, verdict
from probes.load.calibrate import compare, takes_s
from probes.load.records import Ending, RequestRecord
from probes.load.trust import Step, StepResult, faults, judge_steps

FINE = StepResult(
    Step(64, 20.0),
    chunks_per_s=1280.0,
    ttft_error_p99_ms=0.4,
    lag_p99_ms=0.3,
    loop_lag_p99_ms=1.0,
    cpu_share=0.1,
    failed=0,
)


def at(streams: int, pace: float = 20.0, **changes: Any) -> StepResult:
    step = Step(streams, pace)
    return replace(FINE, **{"step": step, "chunks_per_s": step.offered, **changes})


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"ttft_error_p99_ms": 5.1}, "TTFT error p99 5.1 ms"),
        ({"lag_p99_ms": 5.1}, "stamp lag p99 5.1 ms"),
        ({"cpu_share": 0.81}, "81% of its core"),
        ({"failed": 1}, "1 failed"),
        ({"ttft_error_p99_ms": None}, "no answer came to its end"),
    ],
)
def test_each_limit_makes_a_step_bad(changes: dict[str, Any], word: str) -> None:
    assert not faults(at(64))
    assert word in " ".join(faults(at(64, **changes)))
    _, *said = step_lines(at(64, **changes))
    assert word in " ".join(said)
    assert all(len(line) < 80 for line in step_lines(at(64, **changes))), "a table that wraps is none"


def test_trust_reaches_to_the_largest_fine_loads_of_both_ways() -> None:
    trust = judge_steps([at(64), at(256), at(512, lag_p99_ms=9.0), at(256, 40.0), at(256, 80.0, cpu_share=0.9)])
    assert (trust.streams, trust.chunks_per_s) == (256, 256 * 40.0)
    text = verdict(trust)
    assert "Trusted up to 256 streams and 10,240 chunks/s" in text
    assert "512 streams at 20 chunks/s each" in text
    assert "256 streams at 80 chunks/s each" in text


def test_what_is_said_to_take_follows_from_what_is_asked_for() -> None:
    assert takes_s(2.0, 1024) == pytest.approx(34.0)
    assert takes_s(5.0, 1024) > 60
    assert takes_s(2.0, 16) < takes_s(2.0, 64)


def test_a_ladder_without_an_end_is_a_lower_bound() -> None:
    assert "up to at least 256 streams" in verdict(judge_steps([at(64), at(256)]))


def test_nothing_is_trusted_where_the_first_step_fails() -> None:
    trust = judge_steps([at(16, ttft_error_p99_ms=30.0)])
    assert (trust.streams, trust.chunks_per_s) == (0, 0.0)
    assert verdict(trust).startswith("Not to be trusted")


def test_a_client_that_waited_for_its_core_is_told_from_one_that_was_busy() -> None:
    held_up = "something else on this machine"
    assert held_up in verdict(judge_steps([at(64), at(128, lag_p99_ms=9.0, cpu_share=0.1)]))
    assert held_up not in verdict(judge_steps([at(64), at(128, lag_p99_ms=9.0, cpu_share=0.95)]))


def test_a_server_that_sends_too_little_is_named_and_not_held_against_the_client() -> None:
    trust = judge_steps([at(64), at(256, chunks_per_s=3000.0)])
    assert not trust.limits
    assert "server could send no more" in verdict(trust)
    assert "server could send no more" not in verdict(judge_steps([at(64), at(256)]))


def test_stamps_are_compared_request_by_request() -> None:
    def record(index: int, sent_s: float | None, first_s: float, last_s: float) -> RequestRecord:
        return RequestRecord(index, 0, 0.0, sent_s, first_s, last_s, last_s, Ending.OK)

    stamps = {"specwatch-x-0-0": (10.0, 10.050, 11.0), "specwatch-x-0-1": (20.0, 20.050, 21.0)}
    errors_ms, lags_ms = compare(
        [record(1, 19.999, 20.052, 21.004), record(0, None, 10.1, 11.1), record(7, 1.0, 1.0, 1.0)], stamps
    )
    assert errors_ms == pytest.approx([3.0])
    assert lags_ms == pytest.approx([2.0, 4.0])


def test_the_command_measures_this_machine() -> None:
    done = CliRunner().invoke(main, ["calibrate", "--seconds", "0.2", "--streams", "3", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["schema"] == 1
    assert "At least " in done.stderr
    assert {step["step"]["streams"] for step in said["steps"]} == {3}
    assert said["steps"][0]["failed"] == 0
    assert all(step["ttft_error_p99_ms"] is not None and step["chunks_per_s"] > 0 for step in said["steps"])
    assert set(said["trusted"]) == {"streams", "chunks_per_s", "limits", "held_up", "server_limited"}


def test_the_stamping_server_ends_with_its_parent() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "probes.load.stamping_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert int(child.stdout.readline()) > 0
        child.stdin.close()
        assert child.wait(timeout=30) == 0
