"""What live traffic looks like is learnt from stored readings, and never from a sweep's own load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.service.live_shape import LiveTraffic, live_traffic, settled_traffic
from monitor.store.db import Store, open_store
from monitor.store.readings import append_readings
from monitor.store.sweeps import end_sweep
from probes.load.shape import LengthShape
from probes.values import EngineReading, Histogram, Reading
from tests.support.readings import engine, reading
from tests.support.stored_sweeps import begun

EDGES = (10.0, 100.0, 1000.0, float("inf"))
NOW_S = 1_000_000.0
WIDE = (50.0, 5000.0, float("inf"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


class Server:
    """Counts requests as a server's page does."""

    def __init__(self, edges: tuple[float, ...] = EDGES, engines: int = 1, process_start_s: float = 1.0) -> None:
        self.edges, self.engines, self.process_start_s = edges, engines, process_start_s
        self.requests: list[tuple[int, int]] = []
        self.cached = 0.0

    def answer(self, count: int, prompt: int, output: int, *, cached: float = 0.0) -> None:
        """Finish so many requests, on every engine."""
        self.requests += [(prompt, output)] * count
        self.cached += count * cached

    def page(self, at_s: float) -> Reading:
        engines = [self._engine(str(number)) for number in range(self.engines)]
        return reading(at_s, engines, process_start_s=self.process_start_s)

    def _engine(self, name: str) -> EngineReading:
        prompts, outputs = [p for p, _ in self.requests], [o for _, o in self.requests]
        return replace(
            engine(name),
            finished=float(len(prompts)),
            prefix_queries=float(sum(prompts)),
            prefix_hits=self.cached,
            histograms={"prompt_tokens": self._histogram(prompts), "generation_tokens": self._histogram(outputs)},
        )

    def _histogram(self, values: Sequence[int]) -> Histogram:
        counts = tuple(float(sum(value <= edge for value in values)) for edge in self.edges)
        return Histogram(self.edges, counts, float(sum(values)), float(len(values)))


def seen(store: Store, server: Server, at_s: float, sweep_id: int | None = None) -> None:
    append_readings(store, [server.page(at_s)], {"chat": sweep_id})


def learnt(store: Store) -> LiveTraffic:
    return live_traffic(store, "chat", NOW_S)


def test_lengths_and_hits_of_live_traffic_are_found(store: Store) -> None:
    server = Server(engines=2)
    seen(store, server, NOW_S + 5)
    server.answer(300, 400, 60, cached=100)
    seen(store, server, NOW_S + 10)
    found = learnt(store)
    assert found.shape is not None
    assert found.shape.means == pytest.approx((400, 60), rel=0.02)
    assert found.shape.requests == 600, "both engines count"
    assert found.prefix_hit_ratio == 0.25


def test_what_was_there_before_the_first_look_does_not_count(store: Store) -> None:
    server = Server()
    server.answer(5000, 900, 900)
    seen(store, server, NOW_S + 5)
    server.answer(300, 50, 20)
    seen(store, server, NOW_S + 10)
    shape = learnt(store).shape
    assert shape is not None
    assert shape.means == pytest.approx((50, 20), rel=0.05)


def test_a_sweeps_own_load_is_left_out(store: Store) -> None:
    server = Server()
    seen(store, server, NOW_S + 5)
    server.answer(250, 50, 20, cached=25)
    seen(store, server, NOW_S + 10)
    for step in range(2):
        server.answer(3000, 900, 500)
        seen(store, server, NOW_S + 15 + 5 * step, sweep_id=1)
    seen(store, server, NOW_S + 25)
    server.answer(250, 70, 20, cached=35)
    seen(store, server, NOW_S + 30)
    found = learnt(store)
    assert found.shape is not None
    assert found.shape.means == pytest.approx((60, 20), rel=0.05)
    assert found.prefix_hit_ratio == 0.5


def test_a_sweep_that_nobody_watched_is_left_out_too(store: Store) -> None:
    server = Server()
    seen(store, server, NOW_S + 5)
    server.answer(250, 50, 20)
    seen(store, server, NOW_S + 10)
    server.answer(9000, 900, 500)
    sweep(store, NOW_S + 20, NOW_S + 500)
    seen(store, server, NOW_S + 600)
    server.answer(250, 50, 20)
    seen(store, server, NOW_S + 605)
    shape = learnt(store).shape
    assert shape is not None
    assert shape.means == pytest.approx((50, 20), rel=0.05)


def sweep(store: Store, start_s: float, end_s: float) -> None:
    sweep_id = begun(store, start_s, live_arm=None)
    end_sweep(
        store,
        sweep_id,
        ended_at_s=end_s,
        outcome="aborted",
        reason="",
        exit_code=4,
        fingerprint="",
        result=None,
        arm_k={},
    )


@pytest.mark.parametrize("told", ["counters", "process"])
def test_a_restart_ends_a_stretch(store: Store, told: str) -> None:
    first = Server()
    seen(store, first, NOW_S + 5)
    first.answer(300, 50, 20)
    seen(store, first, NOW_S + 10)
    second = Server(process_start_s=2.0 if told == "process" else 1.0)
    second.answer(400 if told == "process" else 100, 800, 300)
    seen(store, second, NOW_S + 15)
    second.answer(300, 50, 20)
    seen(store, second, NOW_S + 20)
    shape = learnt(store).shape
    assert shape is not None
    assert shape.means == pytest.approx((50, 20), rel=0.05)
    assert shape.requests == 600


def test_buckets_of_an_older_server_are_not_mixed_in(store: Store) -> None:
    old, new = Server(WIDE), Server(process_start_s=2.0)
    seen(store, old, NOW_S + 5)
    old.answer(900, 3000, 3000)
    seen(store, old, NOW_S + 10)
    seen(store, new, NOW_S + 15)
    new.answer(250, 50, 20)
    seen(store, new, NOW_S + 20)
    shape = learnt(store).shape
    assert shape is not None
    assert shape.requests == 250


def test_too_little_history_is_no_shape_rather_than_a_wrong_one(store: Store) -> None:
    assert learnt(store) == LiveTraffic(None, None)
    server = Server()
    seen(store, server, NOW_S + 5)
    server.answer(199, 50, 20, cached=5)
    seen(store, server, NOW_S + 10)
    assert learnt(store) == LiveTraffic(None, 0.1)


def test_a_page_without_histograms_or_prefix_counters_is_not_known(store: Store) -> None:
    server = Server()
    for step in range(3):
        server.answer(300, 50, 20)
        page = server.page(NOW_S + 5 * step)
        bare = [replace(one, histograms={}, prefix_hits=None, prefix_queries=None) for one in page.engines]
        append_readings(store, [replace(page, engines=tuple(bare))], {})
    assert learnt(store) == LiveTraffic(None, None)


SHAPE = LengthShape((10.0, 100.0), (20.0, 40.0), 500.0)


@pytest.mark.parametrize(
    ("now", "kept"),
    [
        (LengthShape((11.0, 104.0), (20.0, 41.0), 900.0), True),
        (LengthShape((10.0, 130.0), (20.0, 40.0), 900.0), False),
        (LengthShape((10.0, 100.0), (20.0, 60.0), 900.0), False),
    ],
    ids=["alike", "longer prompts", "longer answers"],
)
def test_lengths_stay_those_of_the_last_sweep_while_they_are_about_right(now: LengthShape, kept: bool) -> None:
    last = {"shape": {"prompt_tokens": [10.0, 100.0], "output_tokens": [20.0, 40.0], "requests": 500.0}}
    assert settled_traffic(LiveTraffic(now, None), last).shape == (SHAPE if kept else now)


@pytest.mark.parametrize(("now", "kept"), [(0.31, True), (0.29, True), (0.35, False), (None, False)])
def test_the_hit_ratio_stays_that_of_the_last_sweep_while_it_is_about_right(now: float | None, kept: bool) -> None:
    found = settled_traffic(LiveTraffic(None, now), {"prefix_hit_target": 0.30, "shape": None})
    assert found.prefix_hit_ratio == (0.30 if kept else now)


@pytest.mark.parametrize("last", [None, {}, {"shape": {"prompt_tokens": "x"}}, {"shape": 3, "prefix_hit_target": None}])
def test_a_plan_of_an_older_release_changes_nothing(last: object) -> None:
    assert settled_traffic(LiveTraffic(SHAPE, 0.2), last) == LiveTraffic(SHAPE, 0.2)
