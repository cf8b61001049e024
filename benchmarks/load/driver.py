"""The frame around a client under test: jobs come in as lines on stdin, samples go out as files; one process for all.

Starting an interpreter per sample would cost more time than the samples. Standard library only.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.load.jobs import Job, Sample

Work = Coroutine[Any, Any, Sample]


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that processes ran, and that they were ready to run while others had the core."""

    ran_s: float
    waited_s: float


@dataclass(slots=True)
class CpuClock:
    """Time of this process and of every process below it, from the kernel's own nanosecond accounting."""

    _start: tuple[int, int] = field(default_factory=lambda: _ran_and_waited_ns(os.getpid()))

    def spent(self) -> Spent:
        """Since this clock was made."""
        ran_ns, waited_ns = _ran_and_waited_ns(os.getpid())
        return Spent((ran_ns - self._start[0]) / 1e9, (waited_ns - self._start[1]) / 1e9)


def _ran_and_waited_ns(pid: int) -> tuple[int, int]:
    ran_ns = waited_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        ran, waited, _ = map(int, (task / "schedstat").read_text().split())
        below = [_ran_and_waited_ns(int(child)) for child in (task / "children").read_text().split()]
        ran_ns += ran + sum(pair[0] for pair in below)
        waited_ns += waited + sum(pair[1] for pair in below)
    return ran_ns, waited_ns


def serve(client: Callable[[Job], Work], run: Callable[[Work], Sample]) -> None:
    """Answer jobs until stdin ends. Each line holds the job and the file that takes its sample."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a socket a stream
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        order = json.loads(line)
        sample = run(client(Job(**order["job"])))
        Path(order["path"]).write_text(json.dumps(asdict(sample)), encoding="utf-8")
        del sample
        gc.collect()
        sys.stdout.write(f"{time.monotonic()}\n")
        sys.stdout.flush()
