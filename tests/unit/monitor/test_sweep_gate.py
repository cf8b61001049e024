"""What the gate is told: every server once, every journal left, and how long a sweep may take to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from monitor.commands.stop import END_S
from monitor.config.load import Loaded
from monitor.service.handover import STOP_S
from monitor.service.progress import progress_line
from monitor.service.sweep_child import STOP_GRACE_S, grace_s
from monitor.service.sweep_gate import left_in, servers_of
from monitor.service.sweep_run import not_restored
from monitor.store.db import open_store
from monitor.values import SweepProgress
from probes.sweep.outcome import SweepOutcome
from probes.sweep.run import SCRAPE_TIMEOUT_S
from probes.sweep.watch import IDLE_BOUND_SGLANG_S
from tests.support.configs import sound
from tests.support.plans import arm, plan
from tests.support.records import a_crossover

RESTARTED = """\
[[endpoint]]
name = "chat"
url = "http://127.0.0.1:9"
pool = "chat-8b"
  [endpoint.probe]
  live_arm = "k3"
  ladder = [1, 2]
  allow_restart = true
  start_timeout_s = 300.0
  hook_timeout_s = 60.0
  [[endpoint.arm]]
  name = "off"
  restart = "up off"
  [[endpoint.arm]]
  name = "k3"
  restart = "up k3"
[[endpoint]]
name = "code"
url = "http://127.0.0.1:10"
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return sound(tmp_path, RESTARTED)


def test_every_address_is_watched_once() -> None:
    two = plan(arm("off", "http://a"), arm("k3", "http://b"), arm("k5", "http://b"))
    assert [a.name for a in servers_of(two)] == ["off", "k3"]


def test_a_server_that_is_restarted_is_watched_as_the_arm_that_it_runs_now() -> None:
    arms = [replace(arm(name, "http://a"), restart="up") for name in ("off", "k3", "k5")]
    assert [a.name for a in servers_of(plan(*arms, live_arm="k3"))] == ["k3"]


def test_a_journal_of_the_pool_stands_against_a_sweep_and_one_of_another_does_not(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store:
        assert left_in(loaded.config, store, "chat-8b") == ()
        journal = loaded.store_path.with_name("specwatch.db.restart-chat.json")
        journal.write_text("{}")
        assert left_in(loaded.config, store, "chat-8b") == ("chat",)
        assert left_in(loaded.config, store, "code") == ()


def test_a_sweep_that_restarts_a_server_is_given_the_time_to_put_it_back(loaded: Loaded) -> None:
    assert grace_s(loaded.config, "chat-8b") > STOP_GRACE_S + 300.0 + 2 * 60.0
    assert grace_s(loaded.config, "code") == STOP_GRACE_S


def test_a_stop_waits_for_a_server_that_shows_late_that_it_has_let_go_of_our_requests() -> None:
    slowest_s = IDLE_BOUND_SGLANG_S + 2.0 + 2 * SCRAPE_TIMEOUT_S
    assert min(STOP_GRACE_S, END_S, STOP_S) > slowest_s


def test_a_measured_answer_survives_a_server_that_was_not_put_back() -> None:
    measured = SweepOutcome("measured", "", 0, crossover=a_crossover())
    ended = not_restored(measured, "chat is NOT RESTORED: it does not start")
    assert (ended.outcome, ended.exit_code) == ("not_restored", 7)
    assert ended.crossover == measured.crossover
    assert ended.reason == "chat is NOT RESTORED: it does not start. The sweep itself ended as measured"
    assert not_restored(None, "x").exit_code == 7
    mismatch = not_restored(SweepOutcome("arm_mismatch", "k3 drafts nothing", 5), "chat is NOT RESTORED")
    assert mismatch.reason.endswith("The sweep itself ended as arm mismatch: k3 drafts nothing")


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (SweepProgress("gate", 0, 0, None, None, None, None, "watching"), "gate: watching"),
        (SweepProgress("cells", 1, 4, "k3", 8, 0, 60.0), "1/4  k3 x8 #0  about 60 s left"),
        (SweepProgress("refine", 2, 4, "k3", 23, 0, None), "2/4  refining k3 x23 #0"),
        (
            SweepProgress("backoff", 2, 4, "k3", 8, 0, None, "6 requests of others until 03:10"),
            "2/4  gives way to others' traffic  6 requests of others until 03:10",
        ),
        (SweepProgress("restore", 4, 4, None, None, None, None, "arm k3"), "4/4  putting the live arm back  arm k3"),
    ],
)
def test_the_line_under_the_cells_says_what_goes_on(progress: SweepProgress, line: str) -> None:
    assert progress_line(progress).endswith(line)
