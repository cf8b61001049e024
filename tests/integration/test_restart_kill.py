"""A restart sweep is killed at every write of its journal; afterwards its server runs the live arm, `before` undone.

The sweep is a real process over a simulated server that its commands really close and open again.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from monitor.service.restoring import Restoring, restore_orphans
from probes.restart.journal_file import JournalFile
from probes.restart.procs import identify_process, still_runs
from tests.support.processes import running, specwatch_async
from tests.support.restartable_sim import BOTH, RestartSite, restart_site
from tests.support.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60.0
AT_ONCE = 3
TABLE: dict[str, tuple[list[str], list[str]]] = {
    # where it is killed: starts in all, hooks that ran
    "begun@before": ([], []),
    "begun@after": ([], []),
    "before_started@before": ([], []),
    "before_started@after": ([], ["after"]),
    "drained@before": ([], BOTH),
    "drained@after": ([], BOTH),
    "restarting:off@before": ([], BOTH),
    "restarting:off@after": (["k3"], BOTH),
    "up:off@before": (["off", "k3"], BOTH),
    "up:off@after": (["off", "k3"], BOTH),
    "restarting:k3@after": (["off", "k3"], BOTH),
    "up:k3@before": (["off", "k3", "k3"], BOTH),
    # The live arm has just been proven: it need not be restarted once more.
    "up:k3@after": (["off", "k3"], BOTH),
    "restoring@before": (["off", "k3", "off", "k3"], BOTH),
    "restoring@after": (["off", "k3", "off", "k3"], BOTH),
    "restored@before": (["off", "k3", "off", "k3"], BOTH),
    "restored@after": (["off", "k3", "off", "k3"], BOTH),
    "after_started@after": (["off", "k3", "off", "k3"], BOTH),
    "removed@before": (["off", "k3", "off", "k3"], ["before", "after", "after"]),
}


async def drive(site: RestartSite, arms: str, *kill: str) -> asyncio.subprocess.Process:
    with (site.folder / "sweep.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.restart_driver",
            str(site.folder / "config.toml"),
            arms,
            *kill,
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


async def put_right(site: RestartSite) -> None:
    """Wait for whoever restores, and for the end of all that was started."""
    await until(lambda: not site.paths.journal.exists(), WAIT_S)
    await until(site.over, WAIT_S)


async def killed(folder: Path, where: str, *, guardian: bool) -> tuple[str, list[str], list[str]]:
    async with restart_site(folder) as site:
        loaded = site.config()
        sweep = await drive(site, "off,k3,off", where + ("+guardian" if guardian else ""))
        assert await sweep.wait() == -signal.SIGKILL, (site.folder / "sweep.log").read_text()
        if guardian:
            await until(site.over, WAIT_S)
            left = site.paths.journal.exists()
            assert left is (where != "begun@before")
            results = await restore_orphans(loaded, time.time())
            assert [one.state for one in results] == [Restoring.RESTORED] * left, results
        await put_right(site)
        return site.arm, site.starts, site.hooks


async def each(
    rows: Sequence[str], work: Callable[[str], Awaitable[tuple[str, list[str], list[str]]]]
) -> dict[str, object]:
    """The rows of the table that came out otherwise."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(where: str) -> object:
        async with room:
            try:
                return await work(where)
            except (AssertionError, TimeoutError) as error:
                return repr(error)

    found = await asyncio.gather(*(one(where) for where in rows))
    return {where: result for where, result in zip(rows, found, strict=True) if result != ("k3", *TABLE[where])}


async def test_the_guardian_puts_the_server_back_wherever_the_sweep_is_killed(tmp_path: Path) -> None:
    # What lies just before a write differs from the row above it only in who restores: the other test has them all.
    rows = [where for where in TABLE if where.endswith("@after") or where.startswith("removed")]
    assert await each(rows, lambda where: killed(tmp_path / where, where, guardian=False)) == {}


async def test_the_next_look_for_orphans_does_where_the_guardian_is_killed_too(tmp_path: Path) -> None:
    assert await each(list(TABLE), lambda where: killed(tmp_path / where, where, guardian=True)) == {}


@pytest.mark.parametrize(
    ("hangs", "starts", "hooks"),
    [
        ("before", [], ["after"]),
        ("off", ["k3"], BOTH),
        ("k3", ["off", "k3"], BOTH),
        ("after", ["off", "k3"], BOTH),
    ],
)
async def test_a_command_that_the_dead_sweep_left_running_is_ended_before_anything_else(
    tmp_path: Path, hangs: str, starts: list[str], hooks: list[str]
) -> None:
    async with restart_site(tmp_path) as site:
        commands = {
            "before": "echo before >> hooks",
            "off": "./switch.sh off",
            "k3": "./switch.sh k3",
            "after": "echo after >> hooks",
        }
        commands[hangs] = site.hanging(hangs, commands[hangs])
        site.config(**commands)  # type: ignore[arg-type]
        sweep = await drive(site, "off")
        left = identify_process(await site.until_hanging(hangs))
        sweep.kill()
        await sweep.wait()
        await put_right(site)
        assert not still_runs(left)
        assert (site.arm, site.starts, site.hooks) == ("k3", starts, hooks)


async def test_signals_while_it_restores_change_nothing(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config(k3=site.hanging("k3", "./switch.sh k3"), off=site.hanging("off", "./switch.sh off"))
        sweep = await drive(site, "off")
        await site.until_hanging("off")
        sweep.send_signal(signal.SIGTERM)
        await site.until_hanging("k3")
        for number in (signal.SIGTERM, signal.SIGTSTP, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            sweep.send_signal(number)
        # All are pending by now, and are taken together. How many say so is chance: two of one kind are one, and a line
        # that a signal interrupts in the middle of its writing can be lost.
        await until(lambda: "event=signal_ignored" in (site.folder / "sweep.log").read_text())
        (site.folder / "go").touch()
        assert await sweep.wait() == 4
        assert (site.arm, site.starts, site.hooks) == ("k3", ["k3"], BOTH)
        await put_right(site)


async def test_a_guardian_obeys_no_signal_but_restores(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config(off=site.hanging("off", "./switch.sh off"))
        sweep = await drive(site, "off")
        await site.until_hanging("off")
        guardian = JournalFile(site.paths.journal).read().orders.guardian_pid
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(guardian, number)
        os.killpg(guardian, signal.SIGTERM)
        sweep.kill()
        await sweep.wait()
        await put_right(site)
        assert (site.arm, site.hooks) == ("k3", BOTH)


HOLDER = """
import sys, time
from pathlib import Path
from monitor.service.guardian_process import start_guardian
from monitor.service.locks import Lock
from probes.restart.paths import restart_paths
paths = restart_paths(Path(sys.argv[1]), "chat")
Lock(paths.lock).acquire()
start_guardian(paths, hung_after_s=0.5)
time.sleep(600)
"""


async def test_a_sweep_that_hangs_past_all_its_limits_is_ended_and_its_server_restored(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config()
        sweep = await drive(site, "off,k3", "up:off@after+guardian")
        assert await sweep.wait() == -signal.SIGKILL
        stuck = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, str(tmp_path / "specwatch.db"), cwd=ROOT
        )
        assert await stuck.wait() == -signal.SIGKILL
        await put_right(site)
        assert (site.arm, site.hooks) == ("k3", BOTH)


async def test_a_whole_sweep_killed_in_the_middle_of_its_load_is_put_right(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config()
        with running("sweep", "chat", "--now", cwd=tmp_path, log=tmp_path / "sweep.log") as sweep:
            await until(lambda: site.arm == "off" and any(e.running for e in site.server.engines), WAIT_S)
            sweep.kill()
            sweep.wait()
            await put_right(site)
            assert (site.arm, site.starts, site.hooks) == ("k3", ["off", "k3"], BOTH)
        code, out, err = await specwatch_async("stop", cwd=tmp_path)
        assert code == 0, out + err


async def test_a_whole_sweep_restarts_for_every_pass_and_restores(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config()
        code, out, err = await specwatch_async("sweep", "chat", "--now", "--json", cwd=tmp_path)
        assert code == 0, err
        assert site.starts == ["off", "k3", "k3", "off", "k3"]
        assert sorted({(cell["start"], cell["arm"]) for cell in json.loads(out)["cells"]}) == [
            (0, "off"),
            (1, "k3"),
            (2, "k3"),
            (3, "off"),
        ]
        assert (site.arm, site.hooks) == ("k3", BOTH)
        await put_right(site)
