"""Runs the user's commands: in a group of their own, behind a gate, with a deadline and without a terminal.

A command may leave a server running in the background: its output goes to a file, since a pipe would break when we
go, and nothing of the group is touched once the command has ended by itself.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from probes.restart.journal import Proc
from probes.restart.procs import POLL_S, end_group, identify_process

GATE = 'read -r _ || exit 125; exec </dev/null; exec /bin/sh -c "$1"'
"""Waits for one line. Where whoever started it dies first, the pipe ends and the command is never run."""
TAIL_BYTES = 2000
TAIL_LINES = 3
TAIL_CHARS = 400


@dataclass(frozen=True, slots=True)
class HookEnd:
    """How a command ended."""

    code: int | None
    """None where it was killed for its deadline."""
    tail: str
    """Last lines of its output, for a message."""

    @property
    def ok(self) -> bool:
        return self.code == 0


class HookFailed(Exception):
    """A command could not be run or did not end well; the message names it."""


def raise_unless_ok(command: str, end: HookEnd, timeout_s: float) -> None:
    """Raises HookFailed with the command, how it ended and what it said last."""
    if end.ok:
        return
    how = f"did not end within {timeout_s:g} s and was killed" if end.code is None else f"failed with exit {end.code}"
    said = f": {end.tail}" if end.tail else ""
    raise HookFailed(f"`{command}` {how}{said}")


class Hook:
    """One command, started but waiting at its gate until `let_go`."""

    def __init__(self, command: str, *, cwd: Path, env: Mapping[str, str], log: Path | None) -> None:
        """`log` gets its output at the end; None drops it. Raises HookFailed where it cannot be started."""
        self._command = command
        self._log = log
        try:
            output = subprocess.DEVNULL if log is None else _open_log(log)
            try:
                self._from = 0 if log is None else os.fstat(output).st_size
                self._process = subprocess.Popen(
                    ["/bin/sh", "-c", GATE, "specwatch-hook", command],
                    cwd=cwd if cwd.is_dir() else Path("/"),
                    env=dict(env),
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            finally:
                if log is not None:
                    os.close(output)
        except (OSError, ValueError) as error:
            raise HookFailed(f"`{command}` cannot be started: {error}") from error
        self.proc: Proc = identify_process(self._process.pid)

    def let_go(self) -> None:
        """The command itself begins."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.close()
        except OSError as error:
            raise HookFailed(f"`{self._command}` ended before it began: {error}") from error

    def call_off(self) -> None:
        """It never runs."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    async def finish(self, timeout_s: float) -> HookEnd:
        """Wait for its end; past the deadline, or where this is cancelled, its whole group is killed."""
        end_s = time.monotonic() + timeout_s
        try:
            while self._process.poll() is None:
                if time.monotonic() > end_s:
                    await self._end()
                    return HookEnd(None, self._tail())
                await asyncio.sleep(POLL_S)
        except asyncio.CancelledError:
            await self._end()
            raise
        return HookEnd(self._process.returncode, self._tail())

    async def _end(self) -> None:
        await end_group(self._process.pid, lambda: self._process.poll() is not None)

    def _tail(self) -> str:
        if self._log is None:
            return ""
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._from, size - TAIL_BYTES))
                text = file.read(TAIL_BYTES).decode(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-TAIL_LINES:])[-TAIL_CHARS:]


def hook_env(base: Mapping[str, str], *, search_path: str, endpoint: str, arm: str, url: str) -> dict[str, str]:
    """The environment of a command: everything of ours, and what it is about."""
    return {
        **base,
        "PATH": search_path,
        "SPECWATCH_ENDPOINT": endpoint,
        "SPECWATCH_ARM": arm,
        "SPECWATCH_URL": url,
    }


def writable_log(path: Path) -> Path | None:
    """The log where it can still be written (a full disk), for a command must not fail for the lack of it."""
    try:
        log = _open_log(path)
    except OSError:
        return None
    try:
        os.write(log, b"\n")
    except OSError:
        return None
    finally:
        os.close(log)
    return path


def _open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
