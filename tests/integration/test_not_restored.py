"""A server that a sweep restarted and could not put back: told of everywhere, put back by whoever comes next."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from monitor.service.locks import daemon_lock_path, holder_of
from monitor.store.db import open_store
from monitor.store.sweeps import recent_sweeps
from monitor.values import SweepRecord
from tests.support.processes import running, specwatch_async, until
from tests.support.restartable_sim import RestartSite, restart_site
from tests.support.sink import WebhookSink

pytestmark = pytest.mark.slow

BREAKABLE = "if [ -e broken ]; then echo no such image >&2; exit 1; fi; ./switch.sh k3"


def add_channel(site: RestartSite, sink: WebhookSink) -> None:
    path = site.folder / "config.toml"
    more = f'[alerts]\nevaluate_every_s = 0.3\n[[channel]]\nname = "sink"\nkind = "webhook"\nurl = "{sink.url}"\n'
    path.write_text(path.read_text() + more)


def newest(site: RestartSite) -> SweepRecord:
    with open_store(site.folder / "specwatch.db", readonly=True) as store:
        return recent_sweeps(store, 1)[0]


async def test_it_is_told_of_everywhere_and_closed_once_the_server_is_back(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site, WebhookSink() as sink:
        site.config(k3=BREAKABLE)
        add_channel(site, sink)
        (tmp_path / "broken").touch()
        code, out, err = await specwatch_async("sweep", "chat", "--now", cwd=tmp_path)
        assert code == 7, out + err
        assert "NOT RESTORED" in out
        assert (newest(site).outcome, newest(site).exit_code) == ("not_restored", 7)

        code, _, err = await specwatch_async("once", cwd=tmp_path)
        assert "NOT RESTORED: chat does not run its live arm k3" in err
        assert code == 2
        code, _, err = await specwatch_async("stop", cwd=tmp_path)
        assert code == 7
        assert "NOT RESTORED: chat" in err
        assert "no such image" in err or "ended with 1" in err
        code, out, _ = await specwatch_async("sweep", "chat", "--now", cwd=tmp_path)
        assert code == 3
        assert "not put back" in out

        with running("serve", cwd=tmp_path, log=tmp_path / "serve.log"):
            await sink.wait_for(1, timeout_s=30)
            (tmp_path / "broken").unlink()
            code, out, err = await specwatch_async("stop", cwd=tmp_path)
            assert code == 0, out + err
            # The daemon tries as well, and may have been the first.
            assert "chat serves its live arm again" in out or "nothing is left to restore" in out
            await sink.wait_for(2, timeout_s=30)
        assert [body["status"] for body in sink.bodies] == ["firing", "resolved"]
        assert sink.bodies[0]["commonLabels"]["severity"] == "critical"
        assert site.arm == "k3"
        assert site.hooks[-1] == "after"
        assert not site.paths.journal.exists()
        await until(site.over, "the guardian's end")


async def test_a_restart_sweep_measures_and_leaves_the_server_as_it_was(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config()
        code, out, err = await specwatch_async("sweep", "chat", "--now", cwd=tmp_path)
        assert code == 0, out + err
        assert "restarting the server" in err
        assert "putting the live arm back" in err
        assert "chat runs k3 again, and that is proved" in err
        assert site.arm == "k3"
        assert site.hooks == ["before", "after"]
        assert newest(site).tally["starts"] == 4
        code, out, _ = await specwatch_async("stop", cwd=tmp_path)
        assert (code, "nothing is left to restore" in out) == (0, True)


async def test_the_next_sweep_puts_back_what_a_killed_one_and_its_guardian_left(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config(off=site.hanging("off", "./switch.sh off"))
        with running("sweep", "chat", "--now", cwd=tmp_path, log=tmp_path / "sweep.log") as sweep:
            await site.until_hanging("off")
            kill_all(site, sweep.pid)
            sweep.wait()
        await until(site.over, "the end of all")
        assert site.paths.journal.exists()
        began_s = time.time()
        code, out, err = await specwatch_async("sweep", "chat", "--now", cwd=tmp_path)
        assert code == 0, out + err
        assert site.hooks == ["before", "after", "before", "after"]
        assert site.starts[0] == "k3"
        assert newest(site).started_at_s > began_s


async def test_the_daemon_puts_back_before_its_first_scrape(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config(off=site.hanging("off", "./switch.sh off"))
        with running("sweep", "chat", "--now", cwd=tmp_path, log=tmp_path / "sweep.log") as sweep:
            await site.until_hanging("off")
            kill_all(site, sweep.pid)
            sweep.wait()
        (tmp_path / "go").touch()
        with running("serve", cwd=tmp_path, log=tmp_path / "serve.log"):

            def scraped() -> bool:
                with open_store(tmp_path / "specwatch.db", readonly=True) as store:
                    return store.row("SELECT 1 FROM scrapes") is not None

            await until(scraped, "the first scrape")
            assert not site.paths.journal.exists()
            assert site.arm == "k3"


async def test_a_daemon_that_is_told_to_end_first_sees_the_server_put_back(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site:
        site.config()
        with running("serve", cwd=tmp_path, log=tmp_path / "serve.log") as daemon:
            store = tmp_path / "specwatch.db"
            await until(lambda: holder_of(daemon_lock_path(store)), "the daemon")
            asked = asyncio.create_task(specwatch_async("sweep", "chat", "--now", cwd=tmp_path))
            await until(lambda: site.arm == "off" or None, "a restarted server")
            daemon.send_signal(signal.SIGTERM)
            await until(lambda: daemon.poll() is not None, "the daemon's end")
            assert daemon.returncode == 0
            code, _, err = await asked
        assert code in (4, 7), err
        assert site.arm == "k3"
        assert site.hooks == ["before", "after"]
        assert not site.paths.journal.exists()
        assert newest(site).outcome == "aborted"


async def test_a_daemon_that_ends_with_a_server_not_put_back_still_says_so(tmp_path: Path) -> None:
    async with restart_site(tmp_path) as site, WebhookSink() as sink:
        site.config(k3=BREAKABLE)
        add_channel(site, sink)
        (tmp_path / "broken").touch()
        with running("serve", cwd=tmp_path, log=tmp_path / "serve.log") as daemon:
            await until(lambda: holder_of(daemon_lock_path(tmp_path / "specwatch.db")), "the daemon")
            asked = asyncio.create_task(specwatch_async("sweep", "chat", "--now", cwd=tmp_path))
            await until(lambda: site.arm == "off" or None, "a restarted server")
            daemon.send_signal(signal.SIGTERM)
            await until(lambda: daemon.poll() is not None, "the daemon's end")
            code, _, err = await asked
        assert code == 7, err
        assert [body["status"] for body in sink.bodies] == ["firing"]
        (tmp_path / "broken").unlink()
        assert (await specwatch_async("stop", cwd=tmp_path))[0] == 0
        await until(site.over, "the guardian's end")


def kill_all(site: RestartSite, sweep_pid: int) -> None:
    """The sweep, its guardian and its command at one blow, as a machine that goes down."""
    for pid in {sweep_pid, *site.processes()}:
        os.kill(pid, signal.SIGKILL)
