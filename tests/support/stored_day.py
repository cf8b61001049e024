"""A store that holds a sweep and a day of traffic which climbs over the crossover at noon, for tests of reports."""

from __future__ import annotations

import math
from pathlib import Path

from monitor.store.db import Store, open_store
from monitor.store.identities import save_identity
from monitor.store.readings import append_readings
from probes.answer_values import Axis, Crossover, CurvePoint
from probes.crossover import estimate
from probes.values import Identity, Reading
from tests.support.records import a_reading, an_engine
from tests.support.stored_sweeps import begun, measured

DAY_S = 86_400.0
EVERY_S = 20.0
PRINT = "abcdef012345"
LADDER = (1, 2, 4, 8, 16, 32, 48, 64, 96)
ARMS: dict[str, tuple[float, float]] = {"off": (100.0, 40.0), "k1": (150.0, 20.3), "k3": (210.0, 9.2)}
"""tok/s of one request alone, and the concurrency at which half of what is possible is made."""
CONFIG = """\
[scrape]
interval_s = 20.0
live_window_s = 60.0
stale_after_s = 60.0

[[endpoint]]
name = "chat"
url = "http://127.0.0.1:9"
pool = "chat-70b"

  [endpoint.probe]
  baseline = "off"
  live_arm = "k3"
  ladder = [1, 2, 4]

  [[endpoint.arm]]
  name = "off"
  url = "http://127.0.0.1:9"

  [[endpoint.arm]]
  name = "k3"
  url = "http://127.0.0.1:9"
"""


def tok_s(arm: str, concurrency: float) -> float:
    """What an arm makes: proportional at first, level at last."""
    alone, half = ARMS[arm]
    return alone * (1 + 1 / half) * concurrency / (1 + concurrency / half)


def answer() -> Crossover:
    """k3 crosses off near 25, k1 near 49; two repeats that scatter by 1%."""
    points = [
        CurvePoint(arm, float(x), tok_s(arm, x) * (1 + 0.01 * wobble), repeat)
        for arm in ARMS
        for x in LADDER
        for repeat, wobble in ((0, math.sin(7 * x)), (1, -math.sin(7 * x)))
    ]
    return estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)


def load_at(share: float) -> float:
    """Requests in the system over the day, 0..1: next to none at night, over 40 at noon."""
    return max(0.0, 42.0 * math.sin(math.pi * share) ** 3 - 0.5)


def fill(
    path: Path,
    now_s: float,
    *,
    sweep: bool = True,
    traffic: bool = True,
    waiting: float = 0.0,
    every_s: float = EVERY_S,
) -> None:
    """The store at `path` as a daemon and a sweep would have left it; an hour without readings in the morning."""
    with open_store(path) as store:
        if sweep:
            _sweep(store, now_s - 3 * DAY_S)
        if traffic:
            save_identity(store, "chat", now_s - DAY_S, Identity(version="0.26.0", model_root="m"), PRINT)
            append_readings(store, _day(now_s, waiting, every_s), {})


def _sweep(store: Store, at_s: float) -> None:
    sweep = begun(store, at_s - 1800, pool="chat-70b", trigger="schedule")
    measured(store, sweep, at_s, answer(), {"off": None, "k1": 1, "k3": 3}, fingerprint=PRINT)


def _day(now_s: float, waiting: float, every_s: float) -> list[Reading]:
    readings, made, drafts = [], 0.0, 0.0
    for index in range(int(DAY_S / every_s) + 1):
        share = index * every_s / DAY_S
        load = load_at(share)
        made += tok_s("k3", load) * every_s
        drafts += tok_s("k3", load) / 2.6 * every_s
        if 0.25 <= share < 0.25 + 1 / 24:
            continue
        queued = min(load, waiting) if load > 35 else 0.0
        one = an_engine(
            tokens=made, running=load - queued, waiting=queued, drafts=drafts, accepted_tokens=1.6 * drafts,
            draft_tokens=3 * drafts, histograms={},
        )  # fmt: skip
        at_s = now_s - DAY_S + index * every_s
        readings.append(a_reading(at_s=at_s, engines=(one,), process_start_s=1.0))
    return readings
