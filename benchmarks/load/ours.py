"""Our load client as a sweep's cell uses it, under the benchmark's jobs; `--uvloop` puts it on the faster event loop.

With `every_chunk` each piece of an answer is kept with the stamp the client gave it and taken apart after the window,
so that looking at single chunks costs next to nothing while it counts.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from functools import partial

from benchmarks.load.driver import CpuClock, Work, serve
from benchmarks.load.jobs import MODEL, PROMPT, Job, Sample
from probes.load.health import quiet_gc
from probes.load.load import make_load
from probes.load.prompts import parse_prompts
from probes.load.records import Ending
from probes.load.request import RequestSource, Sampling, Series
from probes.load.stream import Flight
from probes.values import Target

PROMPTS = parse_prompts("benchmark", json.dumps({"prompt": PROMPT}).encode())
STAMPED = re.compile(rb'"id":"cmpl-[0-9a-f]+-([^"]+)","object"')
"""The id of a content chunk; the usage chunk at the end carries no stamp."""

Reads = list[tuple[float, bytes]]


async def measure(job: Job) -> Sample:
    """One sample."""
    source = partial(
        RequestSource, PROMPTS, MODEL, Sampling(max_tokens=job.chunks), Series(job.tag, 1, job.streams, 0, order=0)
    )
    target = Target("mock", job.url, ca_file=job.ca_file)
    load = make_load(target, source, job.streams, job.processes)
    reads = _keep_reads() if job.every_chunk else _keep_none()
    try:
        with quiet_gc():
            await load.warm()
            load.start(job.spread_s)
            await asyncio.sleep(job.spread_s + job.settle_s)
            start_s, clock = time.monotonic(), CpuClock()
            load.begin_window()
            await asyncio.sleep(job.window_s)
            end_s, spent = time.monotonic(), clock.spent()
            health = load.end_window()
    finally:
        await load.aclose()
    sample = Sample(start_s, end_s, spent.ran_s, spent.waited_s, health.lag_p99_ms)
    for record in load.records:
        if record.ending is Ending.OK and record.sent_s is not None and record.first_s is not None:
            if job.spread_s or record.index < job.streams:
                sample.requests.append((f"specwatch-{job.tag}-0-{record.index}", record.sent_s, record.first_s))
        elif record.ending is Ending.ERROR:
            sample.errors.append(record.error)
    sample.chunks.update(_chunks(reads, job.chunks))
    return sample


_plain_read = Flight.read


def _keep_reads() -> Reads:
    reads: Reads = []

    def keep(flight: Flight, chunk: bytes) -> None:
        if flight.seen_s is not None:
            reads.append((flight.seen_s, chunk))
        _plain_read(flight, chunk)

    Flight.read = keep  # type: ignore[method-assign, assignment]
    return reads


def _keep_none() -> Reads:
    Flight.read = _plain_read  # type: ignore[method-assign]
    return []


def _chunks(reads: Reads, whole: int) -> dict[str, list[float]]:
    """Stamps by request; only of answers seen whole, so that the n-th stamp is the n-th chunk's."""
    stamps: dict[str, list[float]] = {}
    for seen_s, data in reads:
        for found in STAMPED.finditer(data):
            stamps.setdefault(found[1].decode(), []).append(seen_s)
    return {request_id: seen for request_id, seen in stamps.items() if len(seen) == whole}


def run(work: Work) -> Sample:
    """On the loop that was asked for, whatever is installed."""
    if "--uvloop" in sys.argv:
        import uvloop

        return uvloop.run(work)
    return asyncio.run(work)


if __name__ == "__main__":
    serve(measure, run)
