"""`once` says that a server is back only when the gate would say so too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from monitor.cli import main
from monitor.config.load import Loaded
from monitor.service.locks import Lock, daemon_lock_path
from monitor.store.db import open_store
from monitor.store.readings import append_readings
from monitor.store.sweeps import end_sweep
from probes.restart.journal import Step
from probes.restart.journal_file import JournalFile
from probes.restart.paths import RestartPaths, restart_paths
from tests.support.configs import edited, sound
from tests.support.journals import journal
from tests.support.records import a_reading
from tests.support.stored_sweeps import begun

REPLICA = '[[endpoint]]\nname = "replica-2"\nurl = "http://127.0.0.1:8002"\npool = "chat"\n\n'
BACK = "it is now"


@pytest.fixture
def refused(tmp_path: Path) -> Iterator[Loaded]:
    """A pool of two servers whose last sweep was refused because one was not put back; a daemon watches it."""
    loaded = sound(tmp_path, edited("[alerts]", f"{REPLICA}[alerts]"))
    now_s = time.time()
    with open_store(loaded.store_path) as store:
        append_readings(store, [a_reading(name, now_s) for name in ("chat", "replica-2")], {})
        end_sweep(
            store, begun(store, now_s - 60.0), ended_at_s=now_s - 50.0, outcome="refused",
            reason="chat is not put back yet", exit_code=3, fingerprint="", result=None, arm_k={},
            ended_by="not_restored",
        )  # fmt: skip
    with Lock(daemon_lock_path(loaded.store_path)):
        yield loaded


def left(loaded: Loaded, attempts: int) -> RestartPaths:
    """The journal of a server that is not put back."""
    paths = restart_paths(loaded.store_path, "chat")
    JournalFile(paths.journal).write(journal(Step.RESTORING, attempts=attempts))
    return paths


def said(loaded: Loaded, name: str) -> str:
    return CliRunner().invoke(main, ["once", name, "--config", str(loaded.path)]).stdout


def test_a_server_without_a_journal_is_back(refused: Loaded) -> None:
    assert BACK in said(refused, "chat")


def test_a_first_restore_that_still_runs_is_not_over(refused: Loaded) -> None:
    paths = left(refused, attempts=0)
    assert "chat is not put back yet" in said(refused, "chat"), "nobody has taken it yet"
    with Lock(paths.lock):
        text = said(refused, "chat")
    assert "chat is not put back yet" in text
    assert BACK not in text


def test_a_replica_that_is_asked_for_by_name_does_not_hide_the_server_that_is_away(refused: Loaded) -> None:
    left(refused, attempts=2)
    text = said(refused, "replica-2")
    assert "chat is not put back yet" in text
    assert BACK not in text
