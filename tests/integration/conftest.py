"""What several integration tests need: two simulated servers, a sink, and a config over them with short durations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from monitor.store.db import Store, open_store
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from tests.support.sink import WebhookSink

CONFIG = """\
[store]
path = "specwatch.db"
[scrape]
interval_s = 1.0
timeout_s = 0.9
live_window_s = 3.0
stale_after_s = 5.0
[serve]
metrics_port = {port}
[[endpoint]]
name = "chat"
url = "{on}"
pool = "chat-8b"
  [endpoint.probe]
  baseline = "off"
  live_arm = "k3"
  ladder = [1, 4, 8, 16, 32]
  repeats = 2
  cell_s = 0.6
  warmup_s = 0.3
  settle_s = 1.0
  quiet_s = 1.0
  max_tokens = 128
  refine_octaves = 0
  {probe}
  [[endpoint.arm]]
  name = "off"
  url = "{off}"
  [[endpoint.arm]]
  name = "k3"
  url = "{on}"
[alerts]
for_s = 1.5
keep_firing_for_s = 1.5
evaluate_every_s = 0.3
[[channel]]
name = "sink"
kind = "webhook"
url = "{sink}"
"""


@dataclass(slots=True)
class Site:
    """Two servers, a sink, a folder with a config."""

    folder: Path
    off: SimServer
    on: SimServer
    sink: WebhookSink

    def write_config(self, probe: str = "", port: int = 0, *, off: str | None = None, on: str | None = None) -> Path:
        path = self.folder / "config.toml"
        path.write_text(
            CONFIG.format(on=on or self.on.url, off=off or self.off.url, sink=self.sink.url, probe=probe, port=port)
        )
        return path

    def in_system(self) -> int:
        """Requests running or waiting on either server."""
        engines = [*self.off.engines, *self.on.engines]
        return sum(len(e.running) + len(e.waiting) for e in engines)

    def prompts_seen(self) -> int:
        """Prompt tokens that either server has computed so far: zero where nobody asked anything."""
        return sum(e.counters.prompt_tokens for e in [*self.off.engines, *self.on.engines])

    def store(self) -> Store:
        return open_store(self.folder / "specwatch.db")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """Servers that cross at about 8 concurrent requests."""
    spec = SimSpec(k=3, crossover=8.0, mean_output_tokens=32.0, prompt_cost=0.03, time_scale=0.3, seed=3)
    async with AsyncExitStack() as stack:
        off = await stack.enter_async_context(SimServer(replace(spec, k=0)))
        on = await stack.enter_async_context(SimServer(spec))
        sink = await stack.enter_async_context(WebhookSink())
        made = Site(tmp_path, off, on, sink)
        made.write_config()
        yield made
