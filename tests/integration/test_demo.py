"""`specwatch demo --headless` tells the whole story, on real processes and sockets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from tests.support.processes import specwatch

pytestmark = pytest.mark.slow


def test_the_story_is_told_and_the_alert_arrives_once_each_way(tmp_path: Path) -> None:
    done = specwatch("demo", "--headless", "--seconds", "150", cwd=tmp_path, timeout_s=200)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr

    def first(words: str) -> int:
        return next(n for n, line in enumerate(lines) if words in line)

    order = ["[[endpoint]]", "sweep measured", "traffic: 4 users", "ALERT FIRING", "traffic falls", "ALERT RESOLVED"]
    places = [first(words) for words in order]
    assert places == sorted(places)
    measured = lines[first("sweep measured")]
    assert re.search(r"crosses at [\d.]+ \[[\d.]+, [\d.]+\] concurrent per engine", measured)
    bodies = re.findall(r"the webhook sink received:\n(\{.*?\n\})", done.stdout, re.DOTALL)
    assert [json.loads(body)["status"] for body in bodies] == ["firing", "resolved"]
    assert "Traceback" not in done.stdout + done.stderr


def test_without_a_crossing_no_alert_is_told(tmp_path: Path) -> None:
    words = ("demo", "--headless", "--seconds", "150", "--sim-crossover", "none")
    done = specwatch(*words, cwd=tmp_path, timeout_s=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "always faster" in done.stdout
    assert "no alert" in done.stdout
    assert "ALERT" not in done.stdout


def test_a_stop_is_answered_at_once_and_leaves_nothing_running(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "monitor.cli", "demo", "--headless"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        next(line for line in demo.stdout if "rung" in line)
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does it
        assert "Stopping the demo" in "".join(islice(demo.stderr, 2))
        os.killpg(demo.pid, signal.SIGINT)  # by somebody in a hurry
        assert "Stopping the demo" not in demo.stderr.read()
        assert demo.wait(timeout=30) == 130
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path) in _words(p)]
    assert left == []


def _words(cmdline: Path) -> str:
    try:
        return cmdline.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_a_crossover_out_of_reach_is_refused(tmp_path: Path) -> None:
    done = specwatch("demo", "--headless", "--sim-crossover", "4000", cwd=tmp_path)
    assert done.returncode == 2
    assert "from 4 to 100" in done.stderr
