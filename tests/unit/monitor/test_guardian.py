"""A guardian needs nothing of the folder it was started in or of the disk, and does not stay for ever."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from monitor.exit_codes import NOT_RESTORED
from monitor.service.guardian_process import start_guardian, until_gone, until_ready
from monitor.service.locks import Lock
from probes.restart.journal import Step
from probes.restart.journal_file import JournalFile
from probes.restart.paths import restart_paths
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from tests.support.journals import journal
from tests.support.waiting import until

TELLS_WHAT_IT_LOADS = """
import signal, sys
from pathlib import Path
from monitor.service import guardian
loaded = set()
def look(number, frame):
    loaded.update(sys.modules)
    Path("looked").touch()
signal.signal(signal.SIGUSR1, look)
code = guardian.main([sys.argv[1]])
Path("later").write_text(" ".join(sorted(set(sys.modules) - loaded)))
sys.exit(code)
"""
IN_A_HURRY = """
import sys
from monitor.service import guardian
guardian.LONGEST_WAIT_S, guardian.LOOK_EVERY_S = 0.01, 0.001
sys.exit(guardian.main([sys.argv[1]]))
"""


async def test_all_that_it_needs_is_loaded_before_it_is_ready(tmp_path: Path) -> None:
    """An upgrade replaces the files below a sweep; what was loaded before it goes on working."""
    paths = restart_paths(tmp_path / "s.db", "chat")
    async with SimServer(SimSpec(k=3, time_scale=0.1, model_name="tiny")) as server:
        reach = {"endpoint": {"name": "chat", "url": server.url}, "arm": {"name": "k3"}}
        JournalFile(paths.journal).write(journal(Step.UP, arm="k3", after=None, reach=reach))
        with Lock(paths.lock):
            guardian = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", TELLS_WHAT_IT_LOADS, str(paths.journal)),
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
            )
            assert guardian.stdout is not None
            assert await guardian.stdout.readline() == b"ready\n"
            guardian.send_signal(signal.SIGUSR1)
            await until((tmp_path / "looked").exists)
        assert await guardian.wait() == 0
    assert not paths.journal.exists()
    assert (tmp_path / "later").read_text().split() == []


async def test_a_journal_that_cannot_be_read_does_not_keep_it_for_ever(tmp_path: Path) -> None:
    paths = restart_paths(tmp_path / "s.db", "chat")
    paths.journal.write_text("{}")
    guardian = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", IN_A_HURRY, str(paths.journal)), stdout=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(60):
            assert await guardian.wait() == NOT_RESTORED
    finally:
        if guardian.returncode is None:
            guardian.kill()
            await guardian.wait()
    assert paths.journal.exists()


async def test_modules_of_the_same_name_in_the_folder_of_the_user_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("monitor.py", "probes.py"):
        (tmp_path / name).write_text("open('run', 'w')\n")
    paths = restart_paths(tmp_path / "s.db", "chat")
    with Lock(paths.lock):
        guardian = start_guardian(paths, hung_after_s=600.0)
        await until_ready(guardian, paths)
    assert await until_gone(guardian, 30.0)
    assert not (tmp_path / "run").exists()
