"""A simulated server that shell commands restart in another arm, as they would a real one, and a config around it.

The commands only ask through a file; the server is closed and a new one opened on the same port in this event loop.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from monitor.config.load import Loaded, load_config
from monitor.config.targets import probe_of
from monitor.service.locks import holder_of
from monitor.service.restart_sweep import BringUp, restart_arms
from monitor.service.sweep_plan import plan_for
from monitor.store.db import open_store
from probes.restart.paths import RestartPaths, restart_paths
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from probes.sweep.plan import ArmPlan
from tests.support.waiting import until

SPEC = SimSpec(k=3, crossover=8.0, mean_output_tokens=24.0, prompt_cost=0.03, time_scale=0.3, seed=3)
BOTH = ["before", "after"]
"""The hooks of a sweep that was begun and undone."""
A_MOMENT_S = 0.6
"""Servers whose starts lie closer together than half a second are taken for one."""
SWITCH = """\
#!/bin/sh
# switch.sh ARM: ask for a fresh server in this arm; returns once it is starting.
echo "$1" > want.part && mv want.part want
while [ -e want ]; do sleep 0.02; done
"""
CONFIG = """\
[store]
path = "specwatch.db"
[scrape]
interval_s = 1.0
timeout_s = 0.9
live_window_s = 3.0
stale_after_s = 5.0
[serve]
metrics_port = 0
[[endpoint]]
name = "chat"
url = "{url}"
  [endpoint.probe]
  baseline = "off"
  live_arm = "k3"
  ladder = [1, 2]
  repeats = 2
  cell_s = 0.6
  warmup_s = 0.2
  settle_s = 1.0
  quiet_s = 0.5
  max_tokens = 64
  refine_octaves = 0
  backoff_minutes = 0
  allow_restart = true
  before = '''{before}'''
  after = '''{after}'''
  hook_timeout_s = {hook_timeout_s}
  start_timeout_s = {start_timeout_s}
  drain_s = {drain_s}
  [[endpoint.arm]]
  name = "off"
  restart = '''{off}'''
  [[endpoint.arm]]
  name = "k3"
  restart = '''{k3}'''
"""


@dataclass
class RestartSite:
    """One server, the folder of its config and commands, and what they did."""

    folder: Path
    server: SimServer
    starts: list[str] = field(default_factory=list)
    """Arm of every start that was asked for."""
    wrong: dict[str, str] = field(default_factory=dict)
    """Arm asked for -> arm that comes up instead."""
    down_s: float = 0.0
    """How long nobody listens between two servers."""

    @property
    def arm(self) -> str:
        """What the server runs."""
        return self.server.backend.spec.arm

    @property
    def paths(self) -> RestartPaths:
        """Journal, lock and log."""
        return restart_paths(self.folder / "specwatch.db", "chat")

    @property
    def hooks(self) -> list[str]:
        """`before` and `after` as they were run."""
        with suppress(FileNotFoundError):
            return (self.folder / "hooks").read_text().split()
        return []

    def config(
        self,
        *,
        before: str = "echo before >> hooks",
        after: str = "echo after >> hooks",
        off: str = "./switch.sh off",
        k3: str = "./switch.sh k3",
        hook_timeout_s: float = 20.0,
        start_timeout_s: float = 20.0,
        drain_s: float = 0.1,
    ) -> Loaded:
        """Write the config with these commands and load it."""
        path = self.folder / "config.toml"
        path.write_text(
            CONFIG.format(
                url=self.server.url,
                before=before,
                after=after,
                off=off,
                k3=k3,
                hook_timeout_s=hook_timeout_s,
                start_timeout_s=start_timeout_s,
                drain_s=drain_s,
            )
        )
        return load_config(path)

    def hanging(self, name: str, then: str) -> str:
        """A command that hangs the first time until file `go` is there; file `<name>.pid` says that it is at it."""
        hang = f"echo $$ > {name}.part; mv {name}.part {name}.pid; while [ ! -e go ]; do sleep 0.05; done"
        return f"if [ ! -e {name}.pid ]; then {hang}; fi; {then}"

    async def until_hanging(self, name: str) -> int:
        """The pid of a `hanging` command once it hangs."""
        path = self.folder / f"{name}.pid"
        await until(path.exists)
        return int(path.read_text())

    def processes(self) -> list[int]:
        """Whatever still runs on behalf of this site, beside the test itself: guardians and commands."""
        return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and self._ours(p)]

    def over(self) -> bool:
        """Whether all are gone; one that dies lets its lock go some milliseconds after it was last to be seen."""
        return self.processes() == [] and holder_of(self.paths.lock) is None

    def _ours(self, process: Path) -> bool:
        with suppress(OSError):
            mark = str(self.folder).encode()
            return mark in (process / "cmdline").read_bytes() or str(self.folder) == os.readlink(process / "cwd")
        return False

    async def obey(self) -> None:
        """Restart whenever a command asks for it."""
        want = self.folder / "want"
        port = int(self.server.url.rpartition(":")[2])
        while True:
            if want.exists():
                asked = want.read_text().strip()
                self.starts.append(asked)
                arm = self.wrong.get(asked, asked)
                await self.server.close()
                want.unlink()
                await asyncio.sleep(self.down_s)
                server = SimServer(replace(SPEC, k=0 if arm == "off" else int(arm[1:])), port=port)
                # Whoever looks on meanwhile sees the old one, not half of a new one.
                self.server = await server.__aenter__()
            await asyncio.sleep(0.01)


@asynccontextmanager
async def restart_site(folder: Path) -> AsyncIterator[RestartSite]:
    """A server in its live arm k3; whatever a failed test leaves running is ended."""
    os.makedirs(folder, exist_ok=True)
    switch = folder / "switch.sh"
    switch.write_text(SWITCH)
    switch.chmod(0o755)
    server = SimServer(SPEC)
    await server.__aenter__()
    site = RestartSite(folder, server)
    obeying = asyncio.create_task(site.obey())
    try:
        yield site
    finally:
        obeying.cancel()
        with suppress(asyncio.CancelledError):
            await obeying
        await site.server.close()
        for pid in site.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def arms_of(loaded: Loaded, told: list[str] | None = None) -> AsyncIterator[tuple[BringUp, ArmPlan, ArmPlan]]:
    """`restart_arms` as a sweep uses it, with its two arms; what it narrates goes to `told`."""
    notes = [] if told is None else told
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat", (), store)
        probe = probe_of(loaded.config, "chat")[1]
        async with restart_arms(loaded, store, plan, probe, 1, lambda _, note: notes.append(note)) as bring_up:
            off, k3 = plan.arms
            yield bring_up, off, k3


async def untouched_or_undone(site: RestartSite) -> None:
    """The live arm runs, and nothing of the sweep is left."""
    assert site.arm == "k3"
    assert not site.paths.journal.exists()
    await until(site.over)
