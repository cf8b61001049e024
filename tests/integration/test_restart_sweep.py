"""What a restart sweep does when a command, the server or the disk fails it: nothing is touched, or all is put back."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.config.load import Loaded
from monitor.service.locks import Lock
from monitor.service.restart_sweep import NotRestored, RestartFailed
from monitor.service.restoring import Restoring, journals_left, restore_orphans
from probes.restart.journal import Step
from probes.restart.journal_file import JournalFile
from probes.restart.procs import identify_process, still_runs
from probes.sweep.watch import ForeignTraffic
from tests.support.restartable_sim import A_MOMENT_S, BOTH, RestartSite, arms_of, restart_site, untouched_or_undone
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[RestartSite]:
    async with restart_site(tmp_path) as made:
        yield made


async def journal_of(site: RestartSite, loaded: Loaded) -> bytes:
    """What the journal held while arm off was up, of a sweep that then ended well."""
    async with arms_of(loaded) as (bring_up, off, _):
        await bring_up(off)
        kept = site.paths.journal.read_bytes()
    await untouched_or_undone(site)
    return kept


def leave_behind(site: RestartSite, kept: bytes, mode: int = 0o600) -> None:
    """As if the sweep had been killed then, with its guardian."""
    site.paths.journal.write_bytes(kept)
    site.paths.journal.chmod(mode)


async def test_each_pass_gets_a_start_of_its_own_and_the_way_out_restores(site: RestartSite) -> None:
    site.down_s = 0.2
    told: list[str] = []
    async with arms_of(site.config()) as (bring_up, off, k3):
        for arm in (off, k3, k3, off):
            await bring_up(arm)
            assert site.arm == arm.name
            journal = JournalFile(site.paths.journal).read()
            told.append(f"{journal.step}:{journal.arm}")
            assert [one.state for one in journals_left(site.folder / "specwatch.db")] == [Restoring.IN_HAND]
        assert site.hooks == ["before"]
    assert told == ["up:off", "up:k3", "up:k3", "up:off"]
    assert site.starts == ["off", "k3", "k3", "off", "k3"]
    assert site.hooks == BOTH
    await untouched_or_undone(site)


async def test_nothing_is_touched_where_no_arm_was_asked_for(site: RestartSite) -> None:
    async with arms_of(site.config()):
        pass
    assert (site.starts, site.hooks) == ([], [])
    await untouched_or_undone(site)


async def test_nothing_is_touched_where_the_journal_cannot_be_written(site: RestartSite) -> None:
    site.paths.journal.with_name(site.paths.journal.name + ".new").mkdir()
    with pytest.raises(RestartFailed, match="cannot be written"):
        async with arms_of(site.config()) as (bring_up, off, _):
            await bring_up(off)
    assert (site.starts, site.hooks) == ([], [])
    await untouched_or_undone(site)


async def test_the_server_is_put_back_where_the_journal_cannot_be_written_any_more(site: RestartSite) -> None:
    async with arms_of(site.config()) as (bring_up, off, k3):
        await bring_up(off)
        site.paths.journal.with_name(site.paths.journal.name + ".new").mkdir()
        with pytest.raises(RestartFailed, match="cannot be written"):
            await bring_up(k3)
    assert (site.starts, site.hooks) == (["off", "k3"], BOTH)
    await untouched_or_undone(site)


async def test_nothing_is_touched_where_the_server_does_not_run_its_live_arm(site: RestartSite) -> None:
    site.server.set_faults(arm_k=0)
    with pytest.raises(RestartFailed, match=r"does not run its live arm k3 now .it has no speculative decoding"):
        async with arms_of(site.config()) as (bring_up, off, _):
            await bring_up(off)
    assert (site.starts, site.hooks) == ([], [])


async def test_traffic_of_others_keeps_the_server_from_being_restarted(site: RestartSite) -> None:
    site.server.set_faults(foreign_clients=1)
    with pytest.raises(ForeignTraffic, match="not restarted"):
        async with arms_of(site.config(hook_timeout_s=1.0)) as (bring_up, off, _):
            await bring_up(off)
    assert (site.starts, site.hooks) == ([], BOTH)
    await untouched_or_undone(site)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo no such unit >&2; exit 3", "failed with exit 3: no such unit"),
        ("sleep 60", "did not end within 1 s and was killed"),
        ("true", "still is the process from before"),
    ],
)
async def test_an_arm_that_cannot_be_started_ends_in_the_live_arm(site: RestartSite, command: str, words: str) -> None:
    with pytest.raises(RestartFailed, match=words):
        async with arms_of(site.config(off=command, hook_timeout_s=1.0, start_timeout_s=3.0)) as (bring_up, off, _):
            await bring_up(off)
    assert (site.starts, site.hooks) == (["k3"], BOTH)
    await untouched_or_undone(site)


async def test_a_command_that_finds_the_live_arm_running_need_not_start_it_anew(site: RestartSite) -> None:
    loaded = site.config(off="exit 1", k3="echo running already", start_timeout_s=2.0)
    with pytest.raises(RestartFailed, match="failed with exit 1"):
        async with arms_of(loaded) as (bring_up, off, _):
            await bring_up(off)
    assert (site.starts, site.hooks) == ([], BOTH)
    await untouched_or_undone(site)


async def test_a_server_that_comes_up_as_another_arm_is_not_measured(site: RestartSite) -> None:
    site.wrong["off"] = "k1"
    with pytest.raises(RestartFailed, match="has speculative decoding configured, and arm off must not"):
        async with arms_of(site.config(start_timeout_s=2.0)) as (bring_up, off, _):
            await bring_up(off)
    assert site.starts == ["off", "k3"]
    await untouched_or_undone(site)


async def test_before_that_fails_is_undone_and_nothing_is_restarted(site: RestartSite) -> None:
    loaded = site.config(before="echo before >> hooks; exit 1")
    async with arms_of(loaded) as (bring_up, off, _):
        with pytest.raises(RestartFailed, match="failed with exit 1"):
            await bring_up(off)
        with pytest.raises(RestartFailed, match="`before` did not end well"):
            await bring_up(off)
    assert (site.starts, site.hooks) == ([], BOTH)
    await untouched_or_undone(site)


async def test_after_that_fails_is_loud_kept_and_tried_again(site: RestartSite) -> None:
    loaded = site.config(after="[ -e mended ] || { echo router away; exit 4; }; echo after >> hooks")
    with pytest.raises(NotRestored, match=r"failed with exit 4: router away.*Still to do: undo `before`"):
        async with arms_of(loaded) as (bring_up, off, _):
            await bring_up(off)
    assert site.arm == "k3"
    journal = JournalFile(site.paths.journal).read()
    assert (journal.step, journal.attempts) == (Step.AFTER_STARTED, 2)
    (site.folder / "mended").touch()
    assert [one.state for one in await restore_orphans(loaded, time.time(), at_once=True)] == [Restoring.RESTORED]
    assert (site.starts, site.hooks) == (["off", "k3"], BOTH)
    await untouched_or_undone(site)


async def test_a_live_arm_that_does_not_come_back_is_loud_kept_and_tried_again_later(site: RestartSite) -> None:
    loaded = site.config(start_timeout_s=1.0)
    site.wrong["k3"] = "off"
    with pytest.raises(NotRestored, match=r"chat is NOT RESTORED: .*it has no speculative decoding"):
        async with arms_of(loaded) as (bring_up, off, _):
            await bring_up(off)
    assert site.hooks == ["before"], "nobody is let back to a server that is not proven"
    (left,) = await restore_orphans(loaded, time.time())
    assert (left.state, left.attempts, left.not_restored) == (Restoring.WAITING, 2, True)
    assert "bring the server back as arm k3 (`./switch.sh k3`) and undo `before`" in left.reason
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert (left.state, left.attempts) == (Restoring.FAILED, 3)
    site.wrong.clear()
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert (left.state, left.not_restored) == (Restoring.RESTORED, False)
    assert site.hooks == BOTH
    await until(site.over)
    await untouched_or_undone(site)


async def test_a_server_that_somebody_has_put_right_is_not_restarted_again(site: RestartSite) -> None:
    loaded = site.config(start_timeout_s=1.0)
    site.wrong["k3"] = "off"
    with pytest.raises(NotRestored):
        async with arms_of(loaded) as (bring_up, off, _):
            await bring_up(off)
    site.server.set_faults(arm_k=3)
    starts = len(site.starts)
    assert [one.state for one in await restore_orphans(loaded, time.time(), at_once=True)] == [Restoring.RESTORED]
    assert (len(site.starts), site.arm, site.hooks) == (starts, "k3", BOTH)


async def test_a_server_that_a_reboot_has_put_right_is_not_restarted_again(site: RestartSite) -> None:
    loaded = site.config()
    kept = await journal_of(site, loaded)
    leave_behind(site, kept)
    assert [one.state for one in await restore_orphans(loaded, time.time())] == [Restoring.RESTORED]
    assert (site.starts, site.arm, site.hooks) == (["off", "k3"], "k3", [*BOTH, "after"])


async def test_cancelling_does_not_cut_the_restoring_short(site: RestartSite) -> None:
    loaded = site.config(k3=site.hanging("k3", "./switch.sh k3"))

    async def sweep() -> None:
        async with arms_of(loaded) as (bring_up, off, _):
            await bring_up(off)
            await asyncio.Event().wait()

    running = asyncio.create_task(sweep())
    await until(lambda: site.arm == "off" and JournalFile(site.paths.journal).read().step is Step.UP)
    running.cancel()
    await site.until_hanging("k3")
    running.cancel()
    (site.folder / "go").touch()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (site.starts, site.hooks) == (["off", "k3"], BOTH)
    await untouched_or_undone(site)


async def test_without_its_guardian_a_sweep_restarts_nothing_more(site: RestartSite) -> None:
    async with arms_of(site.config()) as (bring_up, off, k3):
        await bring_up(off)
        guardian = identify_process(JournalFile(site.paths.journal).read().orders.guardian_pid)
        os.kill(guardian.pid, signal.SIGKILL)
        await until(lambda: not still_runs(guardian))
        with pytest.raises(RestartFailed, match="the guardian is dead"):
            await bring_up(k3)
    assert (site.starts, site.hooks) == (["off", "k3"], BOTH)
    await untouched_or_undone(site)


async def test_a_sweep_puts_right_what_an_earlier_one_left_before_it_begins(site: RestartSite) -> None:
    loaded = site.config()
    leave_behind(site, await journal_of(site, loaded))
    site.server.set_faults(arm_k=0)
    site.down_s = A_MOMENT_S
    async with arms_of(loaded) as (bring_up, off, _):
        await bring_up(off)
        assert site.starts == ["off", "k3", "k3", "off"]
        assert site.hooks == ["before", "after", "after", "before"]
    await untouched_or_undone(site)


@pytest.mark.parametrize("in_unit", [False, True])
async def test_stopping_whoever_restores_does_not_stop_the_restoring(
    site: RestartSite, in_unit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on by itself; where systemd would kill it with us, the stop waits for it."""
    monkeypatch.delenv("INVOCATION_ID", raising=False)
    after = "echo after >> hooks"
    loaded = site.config(after=f"if [ -e again ]; then {site.hanging('after', after)}; else {after}; fi")
    leave_behind(site, await journal_of(site, loaded))
    (site.folder / "again").touch()
    if in_unit:
        monkeypatch.setenv("INVOCATION_ID", "0")
    restoring = asyncio.create_task(restore_orphans(loaded, time.time()))
    await site.until_hanging("after")
    restoring.cancel()
    if not in_unit:
        with pytest.raises(asyncio.CancelledError):
            await restoring
    assert [one.state for one in journals_left(loaded.store_path)] == [Restoring.IN_HAND]
    (site.folder / "go").touch()
    if in_unit:
        with pytest.raises(asyncio.CancelledError):
            await restoring
        assert not site.paths.journal.exists()
    await until(lambda: not site.paths.journal.exists())
    assert (site.arm, site.hooks) == ("k3", [*BOTH, "after"])
    await until(site.over)


async def test_two_never_restore_at_once(site: RestartSite) -> None:
    loaded = site.config()
    leave_behind(site, await journal_of(site, loaded))
    site.server.set_faults(arm_k=0)
    site.down_s = A_MOMENT_S
    with Lock(site.paths.lock):
        assert [one.state for one in await restore_orphans(loaded, time.time())] == [Restoring.IN_HAND]
        with pytest.raises(RestartFailed, match="another process is at work"):
            async with arms_of(loaded) as (bring_up, off, _):
                await bring_up(off)
    one, two = await asyncio.gather(restore_orphans(loaded, time.time()), restore_orphans(loaded, time.time()))
    assert {one[0].state, two[0].state} <= {Restoring.RESTORED, Restoring.IN_HAND}
    await until(site.over)
    assert site.starts == ["off", "k3", "k3"]


async def test_a_holder_that_is_just_dying_is_waited_for(site: RestartSite) -> None:
    loaded = site.config()
    leave_behind(site, await journal_of(site, loaded))
    dying = Lock(site.paths.lock).acquire()
    restoring = asyncio.create_task(restore_orphans(loaded, time.time()))
    for _ in range(5):
        await asyncio.sleep(0)
    dying.release()
    assert [one.state for one in await restoring] == [Restoring.RESTORED]


async def test_a_journal_that_is_none_is_loud(site: RestartSite) -> None:
    loaded = site.config()
    site.paths.journal.write_text("{}")
    site.paths.journal.chmod(0o600)
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert left.not_restored
    assert "is no journal" in left.reason
    assert site.starts == []


async def test_a_journal_that_others_may_write_is_never_run(site: RestartSite) -> None:
    loaded = site.config()
    leave_behind(site, await journal_of(site, loaded), 0o666)
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert left.not_restored
    assert "is not trusted" in left.reason
    assert site.starts == ["off", "k3"]
