"""What could leave a server in the wrong arm unseen, or restart it for nothing, and must do neither."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from monitor.config.load import load_config
from monitor.config.targets import probe_of
from monitor.service.restart_sweep import NotRestored, RestartFailed, restart_arms
from monitor.service.restoring import Restoring, journals_left, restore_orphans
from monitor.service.sweep_plan import plan_for
from monitor.store.db import open_store
from probes.restart import procs
from tests.support.restartable_sim import A_MOMENT_S, BOTH, RestartSite, arms_of, restart_site, untouched_or_undone
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[RestartSite]:
    async with restart_site(tmp_path) as made:
        yield made


TWIN = """
  [[endpoint.arm]]
  name = "twin"
  restart = "{command}"
"""


@asynccontextmanager
async def twin_up(site: RestartSite, command: str) -> AsyncIterator[None]:
    """A sweep with an arm that looks like the live arm; bringing the live arm back needs the file `works`."""
    site.config(k3="[ ! -e works ] || ./switch.sh k3", start_timeout_s=1.0)
    path = site.folder / "config.toml"
    path.write_text(path.read_text() + TWIN.format(command=command))
    loaded = load_config(path)
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat", (), store)
        async with restart_arms(loaded, store, plan, probe_of(loaded.config, "chat")[1], 1) as bring_up:
            with suppress(RestartFailed):
                await bring_up(next(arm for arm in plan.arms if arm.name == "twin"))
            yield


@pytest.mark.parametrize("command", ["./switch.sh k3", "./switch.sh k3; exit 1"], ids=["up", "in between"])
async def test_a_server_of_an_arm_that_looks_like_the_live_arm_is_not_taken_for_it(
    site: RestartSite, command: str
) -> None:
    """A command that says that all is well, and does nothing yet, is no proof."""
    with pytest.raises(NotRestored, match="still is the process from before the command"):
        async with twin_up(site, command):
            site.down_s = A_MOMENT_S
    assert (site.starts, site.hooks) == (["k3"], ["before"])
    loaded = load_config(site.folder / "config.toml")
    await until(lambda: [one.state for one in journals_left(loaded.store_path)] == [Restoring.ORPHAN])
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert left.not_restored
    (site.folder / "works").touch()
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert (left.state, site.starts, site.hooks) == (Restoring.RESTORED, ["k3", "k3"], BOTH)
    await until(site.over)


async def test_one_look_that_fails_does_not_cost_a_restart(site: RestartSite, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with arms_of(site.config()) as (bring_up, _, k3):
        await bring_up(k3)
        site.server.set_faults(api_status=500)

        async def recover() -> None:
            await until(lambda: "event=not_back_yet" in caplog.text)
            site.server.set_faults(api_status=200)

        recovering = asyncio.create_task(recover())
    await recovering
    assert (site.starts, site.hooks) == (["k3"], BOTH)
    await untouched_or_undone(site)


async def test_a_server_that_a_person_put_right_is_not_restarted_though_the_command_had_failed(
    site: RestartSite,
) -> None:
    """Its command is broken, as the person at work on it knows: running it once more would end what he has started."""
    loaded = site.config(k3="echo tried >> tries; exit 3")
    with pytest.raises(NotRestored, match="exit 3"):
        async with arms_of(loaded) as (bring_up, off, _):
            await bring_up(off)
    await until(lambda: [one.state for one in journals_left(loaded.store_path)] == [Restoring.ORPHAN])
    tries = (site.folder / "tries").read_text()
    (site.folder / "want").write_text("k3")
    await until(lambda: not (site.folder / "want").exists())
    (left,) = await restore_orphans(loaded, time.time(), at_once=True)
    assert (left.state, site.starts, site.hooks) == (Restoring.RESTORED, ["off", "k3"], BOTH)
    assert (site.folder / "tries").read_text() == tries
    await until(site.over)


# A command that ends later than whoever waits for it is reaped by nobody here.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_command_that_cannot_be_ended_is_waited_for(site: RestartSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one under sudo: the live arm must come after it."""

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(procs, "TERM_GRACE_S", 0.05)
    monkeypatch.setattr(procs, "KILL_GRACE_S", 0.05)
    monkeypatch.setattr(os, "killpg", refuse)
    loaded = site.config(off=site.hanging("off", "./switch.sh off"), hook_timeout_s=3.0)

    async def let_on() -> None:
        await until(lambda: "waiting for a command that cannot be ended" in str(told))
        (site.folder / "go").touch()

    told: list[str] = []
    letting_on = asyncio.create_task(let_on())
    with pytest.raises(RestartFailed, match="did not end within 3 s"):
        async with arms_of(loaded, told) as (bring_up, off, _):
            await bring_up(off)
    await letting_on
    assert (site.starts, site.hooks) == (["off", "k3"], BOTH)
    await untouched_or_undone(site)


async def test_a_server_that_is_left_is_told_on_the_way_out_whoever_heard_of_it_before(site: RestartSite) -> None:
    loaded = site.config()
    site.paths.journal.write_text("{}")

    async def sweep() -> None:
        async with arms_of(loaded) as (bring_up, off, _):
            with suppress(NotRestored):
                await bring_up(off)

    with pytest.raises(NotRestored, match="is no journal"):
        await sweep()
    assert site.starts == []


async def test_requests_that_end_in_time_do_not_use_up_the_quiet_time(site: RestartSite) -> None:
    site.server.set_faults(foreign_clients=1)
    loaded = site.config(hook_timeout_s=3.0, drain_s=3.0)

    def asked_so_far() -> float:
        return sum(e.counters.prompt_tokens for e in site.server.engines)

    async def leave() -> None:
        await until(lambda: site.hooks == ["before"])
        for _ in range(3):
            asked = asked_so_far()
            await until(lambda asked=asked: asked_so_far() > asked)  # type: ignore[misc]
        site.server.set_faults(foreign_clients=0)

    async with arms_of(loaded) as (bring_up, off, _):
        leaving = asyncio.create_task(leave())
        await bring_up(off)
    await leaving
    assert (site.starts, site.hooks) == (["off", "k3"], BOTH)
