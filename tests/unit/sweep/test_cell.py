"""A cell against a real socket: clean where the server is, void with the right code where one thing is broken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import islice, pairwise

import pytest

from probes.load.prompts import load_prompts
from probes.scrape.scrape import Scraper
from probes.sweep.cell import CellJob, measure_cell, poll_interval_s, poll_intervals_s, start_spread_s
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec
from probes.sweep.watch import ForeignTraffic
from probes.values import Cell
from tests.support.fake_engine import FakeEngine, Faults, fake_engine
from tests.support.plans import arm
from tests.support.waiting import until

PROMPTS = load_prompts("builtin")
BUSY_MACHINE = {"client_limit"}
"""A test machine may really be too busy; then the cell says so and nothing else may be said."""


def cell_job(name: str, the_arm: ArmPlan, clients: int, max_foreign: float, cell_s: float, order: int = 0) -> CellJob:
    return CellJob(
        slot=CellSlot(name, clients, 0, order),
        arm=the_arm,
        model="tiny",
        cell_s=cell_s,
        load=LoadSpec(max_tokens=64),
        prompts=PROMPTS,
        nonce="n0nce",
        max_foreign=max_foreign,
        request_s=None,
    )


async def measure(
    engine: FakeEngine,
    name: str = "off",
    clients: int = 3,
    max_foreign: float = 1.0,
    cell_s: float = 0.5,
    workers: int | None = None,
) -> Cell:
    job = replace(cell_job(name, arm(name, engine.url), clients, max_foreign, cell_s), workers=workers)
    scraper = Scraper(job.arm.target, timeout_s=4.0, max_bytes=1_000_000)
    try:
        return await measure_cell(job, scraper)
    finally:
        await scraper.aclose()


def codes(cell: Cell) -> set[str]:
    return {reason.code for reason in cell.void} - BUSY_MACHINE


@pytest.mark.parametrize(("name", "k"), [("off", 0), ("k3", 3)])
async def test_a_clean_half_second_cell_counts(name: str, k: int) -> None:
    async with fake_engine(FakeEngine(k=k, step_s=0.02)) as engine:
        cell = await measure(engine, name)
        assert codes(cell) == set(), cell.void
        assert cell.client_tokens == cell.server_tokens
        assert cell.window_s is not None
        assert cell.window_s >= 0.5
        assert cell.concurrency is not None
        assert 2.7 <= cell.concurrency <= 3.0
        assert cell.foreign_requests == 0
        assert cell.prefix_hit_ratio == 0
        assert cell.capped_share == 0
        assert cell.acceptance_length == (None if name == "off" else pytest.approx(2.0, abs=0.1))
        assert cell.requests == engine.finished
        assert engine.open_streams == 0


async def test_a_cell_can_be_carried_by_two_processes() -> None:
    async with fake_engine(FakeEngine(step_s=0.02)) as engine:
        cell = await measure(engine, workers=2)
        assert codes(cell) == set(), cell.void
        assert cell.client_workers == 2
        assert cell.client_tokens == cell.server_tokens
        assert (cell.loop_lag_p99_ms is None, cell.client_cpu_share is None) == (False, False)
        assert len({str(body["prompt"]) for body in engine.requests}) == len(engine.requests) >= cell.requests > 3
        assert engine.open_streams == 0


async def test_the_server_tells_the_rate_that_its_steps_allow() -> None:
    async with fake_engine(FakeEngine(step_s=0.02, output_tokens=40)) as engine:
        cell = await measure(engine)
        assert cell.output_tok_s == cell.server_tok_s
        assert cell.server_tok_s is not None
        assert cell.client_tok_s is not None
        assert cell.server_tok_s <= 3 / 0.02 * 1.1
        assert cell.client_tok_s == pytest.approx(cell.server_tok_s, rel=0.25)


@pytest.mark.parametrize("faults", [Faults(break_every=4), Faults(error_object_every=4)])
async def test_answers_that_break_off_void_the_cell(faults: Faults) -> None:
    """Every other fault is shown in `tests/integration/test_cell_faults.py`."""
    async with fake_engine(FakeEngine(step_s=0.01, faults=faults)) as engine:
        cell = await measure(engine)
        assert "errors" in codes(cell), (cell.void, cell.notes)


async def test_others_requests_break_the_cell_off_and_close_its_streams() -> None:
    async with fake_engine(FakeEngine(output_tokens=5_000)) as engine:
        measuring = asyncio.create_task(measure(engine))
        await until(lambda: engine.open_streams == 3)
        engine.faults.phantom_running = 2
        with pytest.raises(ForeignTraffic, match="arm off has 2 requests in the system that are not ours"):
            await measuring
        await until(lambda: engine.open_streams == 0)


async def test_traffic_that_is_allowed_does_not_break_it_off() -> None:
    async with fake_engine(FakeEngine(step_s=0.01, faults=Faults(phantom_running=1))) as engine:
        cell = await measure(engine, max_foreign=1.0)
        assert "not_idle" in {note.code for note in cell.notes}


async def test_a_busy_server_is_given_way_to_before_any_load() -> None:
    async with fake_engine(FakeEngine(faults=Faults(phantom_running=3))) as engine:
        with pytest.raises(ForeignTraffic):
            await measure(engine)
        assert engine.requests == []


async def test_two_cells_on_one_server_share_no_prefix() -> None:
    async with fake_engine(FakeEngine(step_s=0.01)) as engine:
        await measure(engine)
        await measure(engine)
        starts = [str(body["prompt"])[:16] for body in engine.requests]
        assert len(set(starts)) >= len(starts) / 2


def test_polls_do_not_lock_to_answers_of_one_length() -> None:
    """They come a little early or late, in every cell in another way and in one cell always the same."""

    def first(order: int) -> list[float]:
        job = cell_job("off", arm("off"), 3, 1.0, 30.0, order)
        return list(islice(poll_intervals_s(job), 200))

    assert first(1) == first(1) != first(2)
    assert 0.8 <= min(first(1)) < 0.85
    assert 1.15 < max(first(1)) <= 1.2
    assert sum(first(1)) / 200 == pytest.approx(1.0, abs=0.03)


def test_polls_are_ten_a_window_within_bounds() -> None:
    assert [poll_interval_s(s) for s in (0.5, 5.0, 45.0, 600.0)] == [0.25, 0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    ("clients", "request_s", "spread_s"),
    [
        (1, 4.0, 4.0),
        (2, 4.0, 0.0),
        (3, 4.0, 4.0),
        (4, 4.0, 2.0),
        (6, 3.0, 2.0),
        (8, 4.0, 3.0),
        (64, 6.4, 6.2),
        (9, 300.0, 80.0),
        (8, None, 0.5),
    ],
)
def test_first_answers_end_at_phases_of_their_own(clients: int, request_s: float | None, spread_s: float) -> None:
    """Starts and shares of equal steps: what is left of a request's time tells the phase each client keeps."""
    job = replace(cell_job("off", arm("off", "http://x"), clients, 1.0, 45.0), request_s=request_s)
    assert start_spread_s(job) == pytest.approx(spread_s)
    if request_s is not None and spread_s < 80.0:
        ends = [
            (place * spread_s / clients + request_s * (place + 1) / clients) % request_s for place in range(clients)
        ]
        gaps = [b - a for a, b in pairwise(sorted((*ends, min(ends) + request_s)))]
        assert min(gaps) > 0.49 * request_s / clients
