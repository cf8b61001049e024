"""The demo on a terminal: it opens on a fleet that is watched, and whatever ends it leaves nothing behind."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LIMIT_S = 20.0


def read_until(terminal: int, words: str) -> str:
    """What the terminal was sent up to these words."""
    seen = b""
    deadline = time.monotonic() + LIMIT_S
    while words.encode() not in seen:
        ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
        assert ready, seen[-3000:]
        seen += os.read(terminal, 65536)
    return seen.decode(errors="replace")


def rest_of(terminal: int) -> str:
    """All that is sent until nobody writes any more."""
    seen = b""
    try:
        while part := os.read(terminal, 65536):
            seen += part
    except OSError:
        pass  # Linux says so of a terminal that no process has open
    return seen.decode(errors="replace")


@pytest.mark.parametrize("how", ["SIGTERM", "closed"])
def test_it_opens_watched_and_whatever_ends_it_leaves_nothing(tmp_path: Path, how: str) -> None:
    terminal, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    # Only the leader of a terminal's own session is told when the terminal is closed.
    program = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    program += "from monitor.cli import main; main(['demo'])"
    demo = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path), "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        opened = read_until(terminal, "Demo: ")
        assert "DAEMON GONE" not in opened
        end: dict[str, Callable[[], None]] = {
            "SIGTERM": lambda: demo.send_signal(signal.SIGTERM),
            "closed": lambda: os.close(terminal),
        }
        end[how]()
        if how == "SIGTERM":
            left = rest_of(terminal)
            os.close(terminal)
            assert "\x1b[?1049l" in left, "the terminal is given back as it was"
        demo.wait(timeout=LIMIT_S)
    finally:
        demo.kill()
        demo.wait()
    assert list(tmp_path.glob("specwatch-demo-*")) == []
