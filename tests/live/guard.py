"""Runs one command and ends its whole process group when our own standard input closes, so that no server outlives
a test run that was interrupted, killed or crashed. Knows nothing of vLLM; standard library only.

`python guard.py COMMAND...`: the starter holds the write end of stdin open for as long as the command may run.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

GRACE_S = 15.0


def end_group(process: subprocess.Popen[bytes]) -> None:
    """TERM, then after a grace period KILL, to every process of the command's group; workers included."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> int:
    """The command's exit status, or 0 where we ended it."""
    # Ctrl-C reaches the starter, whose death closes our stdin; reacting to both would cut the grace period short.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    ended = False
    while process.poll() is None:
        readable, _, _ = select.select([0], [], [], 0.5)
        if readable and not os.read(0, 4096):
            ended = True
            break
    end_group(process)
    return 0 if ended else process.returncode


if __name__ == "__main__":
    sys.exit(main())
