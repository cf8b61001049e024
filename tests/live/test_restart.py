"""A sweep that really restarts vLLM between its arms, is killed in the middle, is put right, and goes on."""

from __future__ import annotations

import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.command import SPECWATCH, sweep
from tests.live.configs import write_restart_config
from tests.live.measure import counters
from tests.live.servers import Server, free_port, log_tail, supervised, wait_until_healthy

pytestmark = pytest.mark.live

LADDER = (1, 2)
DRAFTS = "vllm:spec_decode_num_drafts_total"
WAIT_S = 400.0
"""Two starts of vLLM on a busy machine."""


@dataclass(frozen=True, slots=True)
class Switchable:
    """One server that a command restarts in another arm."""

    server: Server
    directory: Path

    @property
    def starts(self) -> list[str]:
        """The arm of every launch so far."""
        return (self.directory / "starts").read_text().split()

    @property
    def switch(self) -> str:
        """The command line to which the arm is appended."""
        script = Path(__file__).with_name("supervisor.py")
        return shlex.join([sys.executable, str(script), "switch", str(self.directory)])


@pytest.fixture
def switchable(vllm: None, tmp_path: Path) -> Iterator[Switchable]:
    directory = tmp_path / "server"
    directory.mkdir()
    with supervised(directory, free_port(), arm="ngram") as server:
        wait_until_healthy(server)
        yield Switchable(server, directory)


def wait_for(done: Callable[[], bool], what: str, log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, f"waited {WAIT_S:.0f} s for {what}\n{log_tail(log)}"
        time.sleep(0.2)


def finished_cells(store: Path) -> int:
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        try:
            (count,) = db.execute("SELECT count(*) FROM cells").fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(count)


def test_a_killed_restart_sweep_is_put_right_and_goes_on(switchable: Switchable, tmp_path: Path) -> None:
    config = write_restart_config(tmp_path / "sweep", switchable.server.url, switchable.switch, ladder=LADDER)
    store, journal = config.with_name("live.db"), config.with_name("live.db.restart-tiny.json")
    log = config.with_name("killed.log")
    with log.open("wb") as sink:
        command = [str(SPECWATCH), "sweep", "tiny", "--config", str(config), "--now"]
        first = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
    try:
        wait_for(lambda: finished_cells(store) > 0 or first.poll() is not None, "a first cell", log)
        assert first.poll() is None, log_tail(log)
        assert switchable.starts == ["ngram", "off"]
        assert journal.exists()
    finally:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    wait_for(lambda: not journal.exists(), "the live arm to be restored", log)
    assert switchable.starts == ["ngram", "off", "ngram"]
    assert DRAFTS in counters(switchable.server.url)
    assert (config.with_name("hooks")).read_text().split() == ["before", "after"]

    ran = sweep(config)
    assert ran.status == 0, ran.said
    cells = [cell for cell in ran.result["cells"] if not cell["void"]]
    assert {(cell["arm"], cell["rung"]) for cell in cells} == {(a, r) for a in ("off", "ngram") for r in LADDER}
    by_start = {cell["start"]: cell["arm"] for cell in cells}
    assert sorted(by_start.values()).count("off") >= 2, "every pass of an arm has a start of its own"
    assert sorted(by_start.values()).count("ngram") >= 2
    assert all(cell["drafts"] for cell in cells if cell["arm"] == "ngram")
    assert not any(cell["drafts"] for cell in cells if cell["arm"] == "off")
    assert switchable.starts[-1] == "ngram"
    assert DRAFTS in counters(switchable.server.url)
    assert not journal.exists()
    assert (config.with_name("hooks")).read_text().split() == ["before", "after"] * 2
    assert ran.result["crossover"]["arms"]["ngram"]["speedup"]
