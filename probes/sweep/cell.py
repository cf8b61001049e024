"""Measures one cell: idle, ramp, steady window, drain, idle; whatever happens its streams are closed on the way out.

Takes stamps and readings only; numbers and reasons are made in `assemble.py` and `judge.py`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from probes.answer_values import CurvePoint
from probes.load.health import UNKNOWN_HEALTH, ClientHealth, quiet_gc
from probes.load.load import Load, make_load
from probes.load.prompts import PromptSet
from probes.load.records import Ending
from probes.load.request import RequestSource, Series
from probes.scrape.identity import identify
from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec
from probes.sweep.request_time import DRAIN_MAX_S, RAMP_MAX_S
from probes.sweep.sameness import Seen
from probes.sweep.watch import GaugeWatch, Reads, idle_reading
from probes.values import Cell, Reading

POLL_MIN_S = 0.25
POLL_MAX_S = 1.0
POLL_JITTER = 0.2
"""Polls at even intervals would lock to answers of one length and see the same moment of each."""
IDENTIFY_S = 4.0
TICK_S = 0.02
SPREAD_GUESS_S = 0.5
"""Starts are spread over this where no request of the arm has been timed yet."""
RAMP_REQUESTS = 2.0
"""Request times, as known before, from the last start on which every first answer is waited for; after them
`may_go_on` of them hold the window up no longer."""
UNKNOWN_PATIENCE_S = 60.0
"""Where no request has been timed: on a slow server with short windows none may ever end in one."""
RAMP_MIN_S = 3.0
DRAIN_MIN_S = 10.0


@dataclass(frozen=True, slots=True)
class CellJob:
    """Everything one cell needs to know."""

    slot: CellSlot
    arm: ArmPlan
    model: str
    cell_s: float
    load: LoadSpec
    prompts: PromptSet
    nonce: str
    """The sweep's own; keeps salts and request ids unique."""
    max_foreign: float
    request_s: float | None
    """Time of one request at about this load, where it is known."""
    seen: Seen | None = None
    """What the arm showed before the sweep's first load; None asks the server nothing after the cell."""
    history: tuple[CurvePoint, ...] = ()
    """The baseline's earlier points; only for its own cells."""
    workers: int | None = None
    """Processes that carry the load; None decides by the rung."""


@dataclass(slots=True)
class _Taken:
    """What the steady part fills in as it goes."""

    start: Reading | None = None
    end: Reading | None = None
    samples: tuple[Reading, ...] = ()
    health: ClientHealth = UNKNOWN_HEALTH
    cut_off: int = 0


def poll_interval_s(cell_s: float) -> float:
    """Ten polls a window, between four a second and one a second: more would burden the server."""
    return max(POLL_MIN_S, min(POLL_MAX_S, cell_s / 10))


def poll_intervals_s(job: CellJob) -> Iterator[float]:
    """Endless intervals around `poll_interval_s`, other ones in each cell, the same ones whenever it is repeated."""
    every_s = poll_interval_s(job.cell_s)
    draw = random.Random(f"{job.load.seed}:{job.slot.order}")
    while True:
        yield every_s * draw.uniform(1 - POLL_JITTER, 1 + POLL_JITTER)


def patience_s(job: CellJob) -> float:
    """How long a ramp waits for the next start of a client or end of a first answer before it gives up."""
    requests_s = UNKNOWN_PATIENCE_S if job.request_s is None else RAMP_REQUESTS * job.request_s
    return min(RAMP_MAX_S, max(RAMP_MIN_S, 2 * job.cell_s, requests_s))


def start_spread_s(job: CellJob) -> float:
    """From the first client's start to the last one's: about one request's time, so that prompts do not come at once.

    Too short a time leaves a backlog of prompts in the first tokens that count; too long a one mostly costs that time.
    What keeps requests apart whatever it is are the lengths of first answers. With an even number of clients a whole
    request's time would let the first half of them end their first answers at the very phases of the second half.
    """
    if job.request_s is None:
        return SPREAD_GUESS_S
    clients = job.slot.rung
    return min(job.request_s * (1.0 if clients % 2 else 1.0 - 2.0 / clients), RAMP_MAX_S / 3)


def may_go_on(clients: int) -> int:
    """First answers that may go on when the window begins: one that goes on and on among many that end early.

    Not more, however long they take: answers that are cut bring more prompts than a steady load does. With a half of
    them in the window it came out at 0.74 to 0.94 of what is true (1,284 + 112 tokens, simulated), and where some
    answers are ten times as long as most, at 0.95.
    """
    return max(1, clients // 32)


def requests_of(job: CellJob, *, cut: bool = True) -> partial[RequestSource]:
    """Makes the sequence of a cell's requests, each time from its beginning; `cut`: clients' first answers are."""
    slot, load = job.slot, job.load
    series = Series(job.nonce, load.seed, slot.rung, slot.repeat, slot.order)
    return partial(RequestSource, job.prompts, job.model, load.sampling, series, load.form, slot.rung if cut else 0)


def make_loop(job: CellJob, *, cut: bool = True) -> Load:
    """The clients of one cell, not started."""
    return make_load(job.arm.target, requests_of(job, cut=cut), job.slot.rung, job.workers)


async def measure_cell(job: CellJob, scraper: Reads) -> Cell:
    """Run one cell to its end; faults of the server make a void cell.

    Raises ForeignTraffic when others' requests arrive.
    """
    started_at_s = time.time()
    before, idle_before = await idle_reading(scraper, job.arm.name, job.max_foreign)
    loop = make_loop(job)
    try:
        with quiet_gc():
            taken = await _steady(job, scraper, loop, before)
        taken.cut_off = await loop.drain(_drain_s(loop))
    finally:
        await loop.aclose()
    after, idle_after = await idle_reading(scraper, job.arm.name, None)
    identity = None if job.seen is None else await identify(job.arm.target, timeout_s=IDENTIFY_S)
    return assemble(
        Evidence(
            slot=job.slot,
            arm=job.arm,
            started_at_s=started_at_s,
            before=before,
            start=taken.start,
            end=taken.end,
            after=after,
            was_idle=idle_before and idle_after,
            samples=taken.samples,
            records=tuple(loop.records),
            health=taken.health,
            cut_off=taken.cut_off,
            load=job.load,
            first=job.slot.rung,
            history=job.history,
            seen=job.seen,
            identity=identity,
            chat=any(prompt.messages is not None for prompt in job.prompts.prompts),
            workers=loop.processes,
        )
    )


async def _steady(job: CellJob, scraper: Reads, loop: Load, before: Reading | None) -> _Taken:
    watch = GaugeWatch(scraper, loop, job.arm.name, job.max_foreign, before)
    taken = _Taken()
    await loop.warm()
    await _ramp(job, loop, watch)
    watch.restart()
    loop.begin_window()
    try:
        taken.start = await watch.edge()
        if taken.start is not None:
            await _poll_until(watch, taken.start.mono_s + job.cell_s, poll_intervals_s(job))
            taken.end = await watch.edge()
    finally:
        taken.health = loop.end_window()
        loop.stop_launching()
    taken.samples = tuple(watch.samples)
    return taken


async def _poll_until(watch: GaugeWatch, end_s: float, intervals_s: Iterator[float]) -> None:
    for every_s in intervals_s:
        left_s = end_s - time.monotonic()
        if left_s <= 1.5 * every_s:
            await asyncio.sleep(max(0.0, left_s))
            return
        await asyncio.sleep(every_s)
        await watch.look()


async def _ramp(job: CellJob, loop: Load, watch: GaugeWatch) -> None:
    """Start the clients and wait until every first answer has ended, or nearly: about one request's time more.

    A server that holds requests back still gets its window, and the cell its reasons: the ramp ends where nothing
    starts and nothing ends any more, and in any case after `RAMP_MAX_S`.
    """
    clients, request_s = job.slot.rung, job.request_s
    started_s = moved_s = time.monotonic()
    full_s: float | None = None
    progress = (0, 0)
    next_look_s = started_s
    bound_s = patience_s(job)
    loop.start(start_spread_s(job))
    while (now_s := time.monotonic()) < min(started_s + RAMP_MAX_S, moved_s + bound_s):
        ended = sum(0 <= record.index < clients for record in loop.records)
        if (loop.max_in_flight, ended) > progress:
            progress, moved_s = (loop.max_in_flight, ended), now_s
        if full_s is None and loop.max_in_flight >= clients:
            full_s = now_s
        waited = full_s is not None and request_s is not None and now_s - full_s >= RAMP_REQUESTS * request_s
        if clients - ended <= (may_go_on(clients) if waited else 0):
            return
        if now_s >= next_look_s:
            next_look_s = now_s + poll_interval_s(job.cell_s)
            await watch.look()
        await asyncio.sleep(TICK_S)


def _drain_s(loop: Load) -> float:
    times = [r.end_s - r.launched_s for r in loop.records if r.ending is Ending.OK]
    return min(DRAIN_MAX_S, max(DRAIN_MIN_S, 3 * max(times, default=0.0)))
