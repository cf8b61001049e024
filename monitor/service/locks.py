"""Lock files beside the store, so that one daemon runs per store and one sweep per pool, across processes.

The kernel drops the lock when its holder dies, however it dies; the file's text only says who holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

LOOKS = 5
LOOK_S = 0.02
"""Somebody who only asks who holds a lock has it for some microseconds; a taker must not mistake that for a holder."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as the file says."""

    pid: int
    host: str

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"


class AlreadyHeld(Exception):
    """Somebody else holds the lock."""

    def __init__(self, path: Path, holder: Holder | None) -> None:
        super().__init__(f"{path.name} is held by {holder or 'another process'}")
        self.holder = holder


class Lock:
    """An exclusive lock for the life of a `with` block (and of the process)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self) -> Self:
        """Take the lock or raise AlreadyHeld, after a tenth of a second at most."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for left in reversed(range(LOOKS)):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if not left:
                    os.close(fd)
                    raise AlreadyHeld(self._path, _read(self._path)) from None
                time.sleep(LOOK_S)
        return self._holding(fd)

    def wait(self, ready: Callable[[], None]) -> Self:
        """Take the lock, sleeping until its holder gives it back or is dead; `ready` is called before the sleep."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        ready()
        fcntl.flock(fd, fcntl.LOCK_EX)
        return self._holding(fd)

    def release(self) -> None:
        """Give the lock back; the file stays, since unlinking it would race with the next holder."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            with contextlib.suppress(OSError):  # as above; closing is what gives it back
                os.ftruncate(fd, 0)
            os.close(fd)

    def _holding(self, fd: int) -> Self:
        self._fd = fd
        with contextlib.suppress(OSError):  # the text is for people; a full disk must not cost the lock
            os.ftruncate(fd, 0)
            os.write(fd, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        return self

    def __enter__(self) -> Self:
        return self if self._fd is not None else self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def holder_of(path: Path) -> Holder | None:
    """Who holds this lock right now; None where nobody does."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _read(path) or Holder(0, "unknown")
    else:
        return None
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True)
class Gone:
    """A lock that nobody holds any more."""

    died: Holder | None
    """Who held it last, where that process is known not to have given it back; None where nothing is known of it."""


def gone(path: Path) -> Gone | None:
    """What became of the last holder; None where somebody holds it, or nobody ever did as far as one can see."""
    last = _read(path)
    if holder_of(path) is not None or not os.access(path, os.R_OK):
        return None
    # A holder may have come or gone between the looks: only what stands there before and after was left by a dead one.
    return Gone(last if _read(path) == last else None)


def daemon_lock_path(store_path: Path) -> Path:
    """The daemon's lock of one store."""
    return store_path.with_name(store_path.name + ".serve.lock")


def sweep_lock_path(store_path: Path, pool: str) -> Path:
    """The sweep lock of one pool of one store."""
    return store_path.with_name(f"{store_path.name}.sweep-{re.sub(r'[^A-Za-z0-9._-]', '_', pool)}.lock")


def noprobe_path(store_path: Path) -> Path:
    """While this file exists no sweep starts and a running one stops before its next cell."""
    return store_path.with_name(store_path.name + ".noprobe")


def _read(path: Path) -> Holder | None:
    try:
        data = json.loads(path.read_text())
        return Holder(int(data["pid"]), str(data["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
