"""Starts guardians and makes sure of them; a guardian outlives whoever started it, so nothing here ever ends one."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import time
from pathlib import Path

from probes.restart.paths import RestartPaths

READY = b"ready\n"
READY_S = 60.0
POLL_S = 0.05
PART_S = 10.0

_going_on: list[subprocess.Popen[bytes]] = []
"""Guardians that we no longer wait for; kept so that their end is taken note of."""


class NoGuardian(Exception):
    """It could not be started or did not get ready; the message says where its words are."""


def start_guardian(paths: RestartPaths, *, once: bool = False, hung_after_s: float = 0.0) -> subprocess.Popen[bytes]:
    """A guardian of this journal; it ends this process should it hold the lock for longer than `hung_after_s`.

    With `once` it tries once to restore, and nothing else. Raises NoGuardian.
    """
    _going_on[:] = [one for one in _going_on if one.poll() is None]
    # -P: a monitor.py in the folder that we were started in must not be taken for ours.
    command = [sys.executable, "-P", "-m", "monitor.service.guardian", str(paths.journal)]
    command += ["--once"] if once else ["--hung-after-s", f"{hung_after_s:g}"]
    try:
        log = _open_log(paths.log)
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if once else subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
    except OSError as error:
        raise NoGuardian(f"the guardian cannot be started: {error}") from error


async def until_ready(guardian: subprocess.Popen[bytes], paths: RestartPaths) -> None:
    """Return once it has loaded everything and watches. Raises NoGuardian; it is then ended, for it guards nothing."""
    assert guardian.stdout is not None
    pipe = guardian.stdout.fileno()
    end_s = time.monotonic() + READY_S
    said = b""
    try:
        while said != READY:
            if select.select([pipe], [], [], 0)[0]:
                got = os.read(pipe, len(READY) - len(said))
                said += got
                if not got:
                    raise NoGuardian(f"the guardian did not get ready; see {paths.log}")
            elif time.monotonic() > end_s:
                raise NoGuardian(f"the guardian was not ready within {READY_S:g} s; see {paths.log}")
            else:
                await asyncio.sleep(POLL_S)
    except BaseException:
        guardian.kill()
        guardian.wait()
        raise
    finally:
        guardian.stdout.close()


async def until_gone(guardian: subprocess.Popen[bytes], within_s: float = PART_S) -> bool:
    """Whether it has ended by then; one that has not goes on by itself."""
    end_s = time.monotonic() + within_s
    while guardian.poll() is None:
        if time.monotonic() > end_s:
            part_from(guardian)
            return False
        await asyncio.sleep(POLL_S)
    return True


def part_from(guardian: subprocess.Popen[bytes]) -> None:
    """Let it go on without us."""
    _going_on.append(guardian)


def _open_log(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
