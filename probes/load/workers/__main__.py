"""`python -m probes.load.workers`: one worker process; started by `WorkerLoop` and of no use by hand."""

from __future__ import annotations

import os
import signal

from probes.load.loop import run
from probes.load.workers.child import serve

if __name__ == "__main__":
    # Ctrl-C reaches the whole process group; the parent decides when the load ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reports = os.dup(1)
    # A stray print must not end up among the reports.
    os.dup2(2, 1)
    run(serve(0, reports))
