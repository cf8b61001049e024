"""Nobody's sweep runs unasked: not after it was called off, not without its daemon, not twice, not unseen."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from monitor.cli import main
from monitor.config.load import Loaded, load_config
from monitor.config.model import Config
from monitor.service.handover import _follow, hand_over
from monitor.service.locks import Lock, daemon_lock_path, sweep_lock_path
from monitor.service.progress import ProgressPrinter
from monitor.service.statuses import MemoryReadings, all_statuses, server_of, sweep_on, sweeps_in_force
from monitor.service.sweep_child import SweepChildren
from monitor.service.sweep_plan import plan_for
from monitor.service.sweep_run import Caller, run_stored_sweep
from monitor.store.db import Store, open_store
from monitor.store.intents import add_intent, pending
from monitor.store.sweeps import add_cell, end_sweep, get_sweep, recent_sweeps, set_progress
from monitor.values import SweepProgress
from probes.values import Cell
from tests.support.plans import plan as a_plan
from tests.support.readings import engine, reading
from tests.support.records import a_cell
from tests.support.stored_sweeps import begun

CONFIG = """\
[[endpoint]]
name = "chat"
url = "http://127.0.0.1:9"
pool = "chat-8b"
  [endpoint.probe]
  live_arm = "k3"
  ladder = [1, 2]
  quiet_s = 0.0
  [[endpoint.arm]]
  name = "off"
  url = "http://127.0.0.1:10"
  [[endpoint.arm]]
  name = "k3"
  url = "http://127.0.0.1:9"
[[endpoint]]
name = "chat-2"
url = "http://127.0.0.1:11"
pool = "chat-8b"
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    (tmp_path / "config.toml").write_text(CONFIG)
    return load_config(tmp_path / "config.toml")


def begin(store: Store, pool: str = "chat-8b", started_at_s: float = 100.0, phase: str = "cells") -> int:
    sweep_id = begun(store, started_at_s, pool=pool)
    set_progress(store, sweep_id, SweepProgress(phase, 0, 4, None, None, None, None))
    return sweep_id


def refuse(store: Store, at_s: float) -> None:
    sweep_id = begin(store, pool="other", started_at_s=at_s, phase="gate")
    end(store, sweep_id, at_s, "refused")


def end(store: Store, sweep_id: int, at_s: float, outcome: str) -> None:
    end_sweep(
        store,
        sweep_id,
        ended_at_s=at_s,
        outcome=outcome,
        reason="",
        exit_code=4,
        fingerprint="",
        result=None,
        arm_k={},
    )


def ask(store: Store, kind: str, at_s: float, subject: str = "chat-8b") -> int:
    return add_intent(store, kind=kind, subject=subject, who="me", host="here", created_at_s=at_s, reason="", args={})


async def test_a_sweep_called_off_before_its_process_began_sends_nothing(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store:
        intent = ask(store, "sweep", time.time() - 2)
        ask(store, "abort", time.time() - 1)
        plan = plan_for(loaded, "chat-8b", (), store)
        ended = await run_stored_sweep(
            loaded,
            store,
            plan,
            Caller("intent", "me@here", intent, now=True),
            interrupted=lambda: None,
            show=lambda _progress: None,
            on_cell=lambda _cell: None,
        )
        assert ended.exit_code == 4
        sweep = get_sweep(store, ended.sweep_id)
        assert sweep is not None
        assert sweep.outcome == "aborted"


async def test_a_pause_that_comes_while_the_gate_watches_holds(loaded: Loaded) -> None:
    """The arms are away as well; what matters is that the pause is among the reasons."""
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat-8b", (), store)

        def pause(_progress: SweepProgress) -> None:
            if not store.rows("SELECT 1 FROM intents"):
                asyncio.get_running_loop().call_soon(
                    lambda: add_intent(
                        store,
                        kind="pause",
                        subject="",
                        who="me",
                        host="here",
                        created_at_s=time.time(),
                        reason="launch day",
                        args={"until_s": time.time() + 3600},
                    )
                )

        ended = await run_stored_sweep(
            loaded,
            store,
            plan,
            Caller("command", "me@here"),
            interrupted=lambda: None,
            show=pause,
            on_cell=lambda _cell: None,
        )
        assert ended.exit_code == 3
        sweep = get_sweep(store, ended.sweep_id)
        assert sweep is not None
        assert "launch day" in sweep.reason


async def test_a_second_ctrl_c_breaks_a_sweep_off_and_does_not_spoil_it(loaded: Loaded) -> None:
    """The handler leaves by SystemExit, which reaches the sweep as the cancellation of its task."""
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat-8b", (), store)

        def leave(_progress: SweepProgress) -> None:
            task.cancel()

        work = run_stored_sweep(
            loaded,
            store,
            plan,
            Caller("command", "me@here"),
            interrupted=lambda: None,
            show=leave,
            on_cell=lambda _cell: None,
        )
        task = asyncio.ensure_future(work)
        with pytest.raises(asyncio.CancelledError):
            await task
        sweep = recent_sweeps(store, 1)[0]
    assert (sweep.outcome, sweep.ended_by, sweep.exit_code) == ("aborted", "stop", 4)
    assert sweep.reason == "its process was told to end, at once"
    assert sweep.tally["resumable"] is True


def test_a_sweep_whose_daemon_is_gone_stops_by_itself(loaded: Loaded) -> None:
    nobody = os.getpid() + 1
    words = ["sweep", "chat-8b", "--now", "--direct", "--config", str(loaded.path), "--parent", str(nobody)]
    words += ["--trigger", "schedule"]
    done = subprocess.run(
        [sys.executable, "-m", "monitor.cli", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 4, done.stderr
    with open_store(loaded.store_path, readonly=True) as store:
        ended = recent_sweeps(store, 1)[0]
        assert "daemon" in ended.reason
        assert ended.ended_by == "owner"


async def test_two_wishes_at_once_start_one_sweep_and_break_nothing(tmp_path: Path) -> None:
    children = SweepChildren(tmp_path / "absent.toml", Config())
    runs = (children.run("chat-8b", trigger="intent", who="me", now=False) for _ in range(2))
    assert sorted(await asyncio.gather(*runs)) == [2, 6]
    assert not children.busy("chat-8b")


def test_a_long_sweep_stays_in_force_however_many_others_were_refused(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store, Lock(sweep_lock_path(store.path, "chat-8b")):
        sweep_id = begin(store)
        for second in range(200, 250):
            refuse(store, float(second))
        assert sweep_on(loaded.config, loaded.config.endpoint[0], sweeps_in_force(loaded.config, store, 250.0), 250.0)
        end(store, sweep_id, 300.0, "aborted")
        for at_s, seen in ((330.0, sweep_id), (400.0, None)):
            sweeps = sweeps_in_force(loaded.config, store, at_s)
            assert sweep_on(loaded.config, loaded.config.endpoint[0], sweeps, at_s) == seen


def test_a_sweep_that_has_ended_is_said_to_settle_not_to_load(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store, Lock(sweep_lock_path(store.path, "chat-8b")):
        sweep_id, readings = begin(store), MemoryReadings()
        readings.add(reading(249.0, [engine()], endpoint=loaded.config.endpoint[0].name))
        status, *_ = all_statuses(loaded.config, store, readings, 250.0)
        assert status.verdict_reason == f"sweep {sweep_id} is loading this endpoint; its traffic is not compared"
        end(store, sweep_id, 251.0, "aborted")
        status, *_ = all_statuses(loaded.config, store, readings, 252.0)
        assert status.verdict_reason.startswith(f"sweep {sweep_id} has ended and settles for another ")


def test_a_killed_sweep_loads_nobody_even_before_it_is_marked(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store:
        begin(store)
        assert sweeps_in_force(loaded.config, store, 101.0) == []


def test_a_sweep_that_only_watched_has_loaded_nobody(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store:
        end(store, begin(store, phase="gate"), 110.0, "aborted")
        sweeps = sweeps_in_force(loaded.config, store, 111.0)
        assert sweep_on(loaded.config, loaded.config.endpoint[0], sweeps, 111.0) is None


def test_stop_does_not_take_a_misspelt_name_for_a_pool_at_rest(loaded: Loaded) -> None:
    said = CliRunner().invoke(main, ["stop", "chat8b", "--config", str(loaded.path)])
    assert said.exit_code == 2
    assert "did you mean chat-8b" in said.output


def test_stop_promises_nothing_about_a_next_time_where_no_schedule_has_one(loaded: Loaded) -> None:
    words = ["stop", "--config", str(loaded.path)]
    with open_store(loaded.store_path) as store, Lock(daemon_lock_path(store.path)):
        said = CliRunner().invoke(main, words)
        assert (said.exit_code, said.stderr) == (0, "")
        assert pending(store, "abort") == []
        loaded.path.write_text(
            loaded.path.read_text().replace("[endpoint.probe]", "[endpoint.probe]\nschedule = '0 3 * * *'", 1)
        )
        assert "until its next time" in CliRunner().invoke(main, words).stderr


def test_stop_finds_the_sweep_by_any_endpoint_of_its_pool_and_says_when_it_stays(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store, Lock(sweep_lock_path(store.path, "chat-8b")):
        begin(store)
        words = ["stop", "chat-2", "--timeout-s", "0", "--config", str(loaded.path)]
        said = CliRunner().invoke(main, words)
        assert said.exit_code == 7
        assert "Still there" in said.output


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://localhost:8000", "http://127.0.0.1:8000/", True),
        ("http://gpu1", "http://GPU1:80", True),
        ("https://gpu1", "http://gpu1", False),
        ("http://gpu1:8000/a", "http://gpu1:8000/b", False),
    ],
)
def test_two_spellings_of_one_server_are_one(one: str, other: str, same: bool) -> None:
    assert (server_of(one) == server_of(other)) is same


def test_a_daemon_that_does_not_take_a_request_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.service.handover.TAKE_S", 0.1)
    with open_store(tmp_path / "specwatch.db") as store, Lock(daemon_lock_path(store.path)):
        sweep_id, code = hand_over(store, a_plan(), now=False, arms=(), who="me", host="here")
        assert (sweep_id, code) == (None, 1)
        assert pending(store, "sweep") == []


def test_a_cell_is_printed_once_though_the_sweep_is_told_to_stop_meanwhile(tmp_path: Path) -> None:
    """After Ctrl-C the sweep is followed to its end; what stands on the screen is not printed again."""
    screen, shown = io.StringIO(), list[Cell]()
    with open_store(tmp_path / "specwatch.db") as store:
        sweep_id = begun(store, 100.0, plan={"intent": 1})
        add_cell(store, sweep_id, a_cell())
        end(store, sweep_id, 110.0, "aborted")
        for _ in range(2):
            assert _follow(store, 1, None, ProgressPrinter(screen), shown) == (sweep_id, 4)
    assert screen.getvalue().count("1200") == 1
