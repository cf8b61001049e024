"""The frame around a client under test: jobs come in as lines on stdin, samples go out as files; one process for all.

Starting an interpreter per sample would cost more time than the samples. Standard library only.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.load.jobs import Job, Sample

Work = Coroutine[Any, Any, Sample]


@dataclass(slots=True)
class CpuClock:
    """CPU seconds of this process and of every process below it, from the kernel's own nanosecond accounting."""

    started: float = field(default_factory=lambda: _cpu_s(os.getpid()))

    def spent_s(self) -> float:
        """Since this clock was made."""
        return _cpu_s(os.getpid()) - self.started


def _cpu_s(pid: int) -> float:
    spent_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent_ns += int((task / "schedstat").read_text().split()[0])
        children = (task / "children").read_text().split()
        spent_ns += sum(int(1e9 * _cpu_s(int(child))) for child in children)
    return spent_ns / 1e9


def serve(client: Callable[[Job], Work], run: Callable[[Work], Sample]) -> None:
    """Answer jobs until stdin ends. Each line holds the job and the file that takes its sample."""
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
