"""A process that carries a load by workers and is there to be killed: `python -m tests.support.load_parent URL`.

Writes the workers' process ids once all streams run, then waits for ever.
"""

from __future__ import annotations

import asyncio
import sys

from probes.load.workers.loop import WorkerLoop
from probes.values import Target
from tests.support.loads import Numbers
from tests.support.waiting import until

STREAMS = 4


async def main(url: str) -> None:
    """Start the load and stay."""
    load = WorkerLoop(Target("t", url), Numbers, STREAMS, 2)
    await load.warm()
    load.start(0.0)
    await until(lambda: load.in_flight == STREAMS)
    sys.stdout.write(" ".join(str(pid) for pid in load.pids) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
