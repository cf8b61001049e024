"""Our load client as a sweep's cell uses it, under the benchmark's jobs; `--uvloop` puts it on the faster event loop.

With `every_chunk` each socket read is kept with its instant and taken apart after the window, so that the stamps of
single chunks cost next to nothing while it counts.
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
from probes.load.wire.connection import Wire
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
    reads = _keep_reads() if job.every_chunk else []
    try:
        with quiet_gc():
            await load.warm()
            load.start(job.spread_s)
            await asyncio.sleep(job.spread_s + job.settle_s)
            start_s, clock = time.monotonic(), CpuClock()
            load.begin_window()
            await asyncio.sleep(job.window_s)
            end_s, cpu_s = time.monotonic(), clock.spent_s()
            health = load.end_window()
    finally:
        await load.aclose()
    sample = Sample(start_s, end_s, cpu_s, health.lag_p99_ms)
    for record in load.records:
        if record.ending is Ending.OK and record.sent_s is not None and record.first_s is not None:
            if job.spread_s or record.index < job.streams:
                sample.requests.append((f"specwatch-{job.tag}-0-{record.index}", record.sent_s, record.first_s))
        elif record.ending is Ending.ERROR:
            sample.errors.append(record.error)
    for at_s, data in reads:
        for found in STAMPED.finditer(data):
            sample.chunks.setdefault(found[1].decode(), []).append(at_s)
    return sample


_plain_read = Wire.data_received


def _keep_reads() -> Reads:
    reads: Reads = []

    def keep(wire: Wire, data: bytes) -> None:
        reads.append((time.monotonic(), data))
        _plain_read(wire, data)

    Wire.data_received = keep  # type: ignore[method-assign, assignment]
    return reads


def run(work: Work) -> Sample:
    """On the loop that was asked for, whatever is installed."""
    if "--uvloop" in sys.argv:
        import uvloop

        return uvloop.run(work)
    return asyncio.run(work)


if __name__ == "__main__":
    serve(measure, run)
