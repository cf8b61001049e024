"""Runs the real commands as a user would, with deadlines, and waits for conditions instead of sleeping."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
DEADLINE_S = 60.0


def specwatch(*words: str, cwd: Path, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "monitor.cli", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        stdin=subprocess.DEVNULL,
        check=False,
    )


async def specwatch_async(*words: str, cwd: Path, timeout_s: float = 120.0) -> tuple[int, str, str]:
    """The same beside servers that live in this event loop: exit code, stdout, stderr."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "monitor.cli",
        *words,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await child.communicate()
    except TimeoutError:
        child.kill()
        await child.wait()
        raise
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


@contextmanager
def running(*words: str, cwd: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command in the background; ended by SIGTERM, then SIGKILL."""
    with log.open("ab") as stream:
        child = subprocess.Popen(
            [sys.executable, "-m", "monitor.cli", *words],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


async def until(look: Callable[[], T | None], what: str, deadline_s: float = DEADLINE_S) -> T:
    """The first value of `look` that is neither None nor False; AssertionError with `what` after the deadline."""
    end_s = time.monotonic() + deadline_s
    while time.monotonic() < end_s:
        found = look()
        if found is not None and found is not False:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"waited {deadline_s:.0f} s in vain for {what}")
