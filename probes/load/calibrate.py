"""Measures the load client on this machine against a stamping server, so that it can say what its numbers are worth.

The server is a child on loopback with the same clock; true instants and ours differ only by our own delay. A growing
number of streams first, then a growing rate. Sends nothing to any other machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from probes.load.health import quiet_gc
from probes.load.load import make_load
from probes.load.prompts import BUILTIN, load_prompts
from probes.load.records import Ending, RequestRecord
from probes.load.request import RequestSource, Sampling, Series
from probes.load.trust import Step, StepResult, faults, starved
from probes.values import Target

ANSWER_S = 1.0
TTFT_S = 0.05
SETTLE_S = 0.2
AROUND_S = 1.4
"""What a step takes beside its window: connecting, settling, the last answers."""
STREAMS = (16, 64, 128, 256, 512, 1024)
PACE = 20.0
"""Tokens a second and stream on the way up: a large model under load."""
RATE_STREAMS = 256
RATE_PACES = (40.0, 80.0, 120.0, 160.0)
"""Up to 41,000 chunks a second, above what one API server of an engine sends."""
TRIES = 3
"""Of a step that fails: a hiccup of the machine is no limit of the client."""
SPARE_FILES = 64

Told = Callable[[StepResult], None]
Stamps = dict[str, tuple[float, float, float]]


class Server:
    """The child's steering lines. Raises RuntimeError where the child has ended."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child

    async def ask(self, order: str | None = None) -> Any:
        """One order, one answer; without an order the next line it says."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        if order is not None:
            self._child.stdin.write(f"{order}\n".encode())
        line = await self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"the stamping server ended with status {await self._child.wait()}")
        return json.loads(line)


@asynccontextmanager
async def stamping_server() -> AsyncIterator[tuple[Server, str]]:
    """A server child and its URL, until the block ends."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "probes.load.stamping_server"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 26,
    )
    server = Server(child)
    try:
        yield server, f"http://127.0.0.1:{await server.ask()}"
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def calibrate(seconds: float, most: int, told: Told) -> list[StepResult]:
    """Up to `most` streams, then faster; each way ends where the stamps cannot be trusted. `told` hears of each step.

    `seconds` is one step's window. Raises RuntimeError where the server ends, OSError where it cannot be started.
    """
    results: list[StepResult] = []
    most = min(most, open_files() - SPARE_FILES)
    async with stamping_server() as (server, url):

        async def climb(steps: Sequence[Step]) -> int:
            """The most streams that were fine."""
            fine = 0
            for step in steps:
                for _ in range(TRIES):
                    result = await measure_step(server, url, step, seconds)
                    if not faults(result):
                        break
                results.append(result)
                told(result)
                if faults(result) or starved(result):
                    break
                fine = step.streams
            return fine

        fine = await climb(
            [Step(streams, PACE) for streams in (*(n for n in STREAMS if n < most), min(most, STREAMS[-1]))]
        )
        if fine:
            await climb([Step(min(RATE_STREAMS, fine), pace) for pace in RATE_PACES])
    return results


def takes_s(seconds: float, most: int) -> float:
    """About how many seconds a calibration takes if it climbs to the end; one that is overrun ends earlier."""
    steps = len([n for n in STREAMS if n < most]) + 1 + len(RATE_PACES)
    return steps * (seconds + AROUND_S)


async def measure_step(server: Server, url: str, step: Step, seconds: float) -> StepResult:
    """One load, one window."""
    tokens = max(2, round(step.pace * ANSWER_S))
    await server.ask(f"set {TTFT_S} {1 / step.pace}")
    series = Series("calibrate", 1, step.streams, 0, order=0)
    source = partial(RequestSource, load_prompts(BUILTIN), "stamps", Sampling(max_tokens=tokens), series)
    load = make_load(Target("loopback", url), source, step.streams, workers=1)
    try:
        with quiet_gc():
            await load.warm()
            load.start(TTFT_S + ANSWER_S)
            await asyncio.sleep(TTFT_S + ANSWER_S + SETTLE_S)
            began_s, before = await server.ask("count")
            load.begin_window()
            await asyncio.sleep(seconds)
            health = load.end_window()
            ended_s, after = await server.ask("count")
    finally:
        await load.aclose()
    errors_ms, lags_ms = compare(load.records, await server.ask("stamps"))
    return StepResult(
        step,
        chunks_per_s=(after - before) / (ended_s - began_s),
        ttft_error_p99_ms=_p99(errors_ms),
        lag_p99_ms=_p99(lags_ms),
        loop_lag_p99_ms=health.lag_p99_ms,
        cpu_share=health.cpu_share,
        failed=sum(record.ending is Ending.ERROR for record in load.records),
    )


def compare(records: Sequence[RequestRecord], stamps: Stamps) -> tuple[list[float], list[float]]:
    """TTFT errors, and lags of the first and last token's stamps, both in ms."""
    by_index = {int(request_id.rpartition("-")[2]): times for request_id, times in stamps.items()}
    errors_ms, lags_ms = [], []
    for record in records:
        times = by_index.get(record.index)
        if times is None or record.sent_s is None or record.first_s is None or record.last_s is None:
            continue
        arrived_s, first_s, last_s = times
        errors_ms.append(1e3 * ((record.first_s - record.sent_s) - (first_s - arrived_s)))
        lags_ms += [1e3 * (record.first_s - first_s), 1e3 * (record.last_s - last_s)]
    return errors_ms, lags_ms


def open_files() -> int:
    """How many sockets this process may hold, after asking for as many as it is allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else sys.maxsize


def cores() -> int:
    """Cores that client and server share."""
    return len(os.sched_getaffinity(0))


def _p99(values: Sequence[float]) -> float | None:
    return sorted(values)[int(0.99 * (len(values) - 1))] if values else None
