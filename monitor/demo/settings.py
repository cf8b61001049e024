"""What the demo's config says: the reference config with shorter durations, written to a file and printed.

The demo's own numbers live here and nowhere else; the crossover is not among them.
"""

from __future__ import annotations

from dataclasses import dataclass

POOL = "demo"
ENDPOINT = "demo-chat"
CHANNEL = "demo-sink"


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """Durations of one demo; `ladder` is what a user of a server of this size would write."""

    ladder: tuple[int, ...]
    cell_s: float = 0.7
    repeats: int = 2
    live_window_s: float = 3.0
    for_s: float = 2.0
    keep_firing_for_s: float = 2.0
    settle_s: float = 1.0
    warmup_s: float = 0.3
    max_tokens: int = 128


def demo_settings(crossover: float | None) -> DemoSettings:
    """A ladder that reaches well beyond where this simulated server will be driven."""
    if crossover is None or crossover <= 12:
        return DemoSettings(ladder=(2, 4, 8, 16, 32))
    if crossover <= 32:
        return DemoSettings(ladder=(4, 8, 16, 32, 64))
    return DemoSettings(ladder=(8, 16, 32, 64, 128))


def demo_toml(
    settings: DemoSettings, *, off_url: str, on_url: str, sink_url: str, on_arm: str, metrics_port: int
) -> str:
    """The config file's text."""
    return f"""\
# specwatch demo: as in production, but with seconds where production has minutes.
[store]
path = "specwatch.db"

[scrape]
interval_s = 1.0
timeout_s = 0.9
live_window_s = {settings.live_window_s}

[serve]
metrics_port = {metrics_port}

[[endpoint]]
name = "{ENDPOINT}"
url = "{on_url}"
pool = "{POOL}"

  [endpoint.probe]
  baseline = "off"
  live_arm = "{on_arm}"
  ladder = {list(settings.ladder)}
  repeats = {settings.repeats}
  cell_s = {settings.cell_s}
  warmup_s = {settings.warmup_s}
  settle_s = {settings.settle_s}
  quiet_s = 1.0
  max_tokens = {settings.max_tokens}
  shape = "none"
  prefix_hit_ratio = 0.0

  [[endpoint.arm]]
  name = "off"
  url = "{off_url}"

  [[endpoint.arm]]
  name = "{on_arm}"
  url = "{on_url}"

[alerts]
for_s = {settings.for_s}
keep_firing_for_s = {settings.keep_firing_for_s}
evaluate_every_s = 0.5

[[channel]]
name = "{CHANNEL}"
kind = "webhook"
url = "{sink_url}"
"""
