"""The process that outlives a restart sweep: it sleeps until the sweep's lock falls, and restores what is owed.

`python -m monitor.service.guardian JOURNAL` says `ready` on stdout, waits for the sweep's end and then tries, ever
more rarely, until the journal is gone. With `--once` it tries once: for journals whose guardian is dead too. It runs in
a session of its own and obeys no signal but SIGKILL: between two commands nobody else would know that a server is owed.

Everything it needs is loaded before `ready`, so that an upgrade in the middle of a sweep changes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from monitor import exit_codes
from monitor.log import setup_logging
from monitor.service.guardian_process import READY
from monitor.service.locks import AlreadyHeld, Lock
from monitor.service.restart_reach import target_from
from probes.restart.ask import NoAnswer, ask_health
from probes.restart.journal import Journal, JournalError, failed_try
from probes.restart.journal_file import JournalFile
from probes.restart.paths import RestartPaths, paths_of_journal
from probes.restart.procs import identify_process, still_runs
from probes.restart.put_back import NotPutBack, PutBack
from probes.restart.steps import LONGEST_WAIT_S, next_try_s
from probes.values import Target

log = logging.getLogger("monitor.service.guardian")

TRIES = 8
"""After these somebody else must look: about two hours of them. The daemon goes on trying."""
LOOK_EVERY_S = 2.0


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 where nothing is owed any more, 6 where another process is at it, 7 where the server is not restored."""
    parser = argparse.ArgumentParser(prog="python -m monitor.service.guardian", description=__doc__)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--hung-after-s", type=float, default=0.0, help="then a parent that still holds on is killed")
    arguments = parser.parse_args(argv)
    _obey_no_signal()
    setup_logging()
    paths = paths_of_journal(arguments.journal.absolute())
    if arguments.once:
        return _once(paths)
    if arguments.hung_after_s:
        _end_parent_after(arguments.hung_after_s)
    return _watch(paths)


def _obey_no_signal() -> None:
    # A handler, not SIG_IGN: what is ignored stays ignored in every server that a command of ours starts.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)


def _end_parent_after(hung_after_s: float) -> None:
    """A sweep that is stopped or stuck holds its lock for ever; past all its limits it is as good as dead."""
    sweep = identify_process(os.getppid())

    def end(_number: int, _frame: object) -> None:
        if still_runs(sweep):
            log.error("event=sweep_hangs pid=%s after_s=%s: it is killed, and its server restored", *told)
            with suppress(OSError):
                os.kill(sweep.pid, signal.SIGKILL)

    told = (sweep.pid, hung_after_s)
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, hung_after_s)


def _load_the_rest() -> None:
    """The HTTP libraries load half of themselves with the first request, so one is sent, to a port without a server."""
    import_module("encodings.idna")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with suppress(NoAnswer):
            asyncio.run(ask_health(Target("nobody", f"http://127.0.0.1:{nobody.getsockname()[1]}")))


def _watch(paths: RestartPaths) -> int:
    _load_the_rest()
    for tried in range(TRIES):
        with Lock(paths.lock).wait(_say_ready if tried == 0 else lambda: None):
            signal.setitimer(signal.ITIMER_REAL, 0)
            if _attempt(paths):
                return 0
        if not _sleep_until_due(paths):
            return 0
    return exit_codes.NOT_RESTORED


def _once(paths: RestartPaths) -> int:
    try:
        lock = Lock(paths.lock).acquire()
    except AlreadyHeld:
        return exit_codes.RUNNING
    with lock:
        return 0 if _attempt(paths, at_once=True) else exit_codes.NOT_RESTORED


def _attempt(paths: RestartPaths, *, at_once: bool = False) -> bool:
    """Whether nothing is owed any more. The caller holds the lock."""
    file = JournalFile(paths.journal)
    if not file.exists():
        return True
    try:
        journal = file.read()
        if not at_once and next_try_s(journal, time.time()) > time.time():
            return False
        log.info("event=restoring endpoint=%s step=%s attempt=%d", paths.endpoint, journal.step, journal.attempts + 1)
        target, lost = _target(file, journal)
        asyncio.run(PutBack(file, journal, target, paths.log, _note, lost).run())
    except (JournalError, NotPutBack) as error:
        log.error("event=not_restored endpoint=%s reason=%s", paths.endpoint, error)
        return False
    log.info("event=restored endpoint=%s", paths.endpoint)
    return True


def _target(file: JournalFile, journal: Journal) -> tuple[Target, str]:
    try:
        return target_from(journal.orders.reach)
    except ValueError as error:
        failed = failed_try(journal, str(error), time.time())
        file.write(failed)
        raise NotPutBack(str(error), failed) from error


def _sleep_until_due(paths: RestartPaths) -> bool:
    """False once the journal is gone; the lock is free meanwhile, for whoever wants to try before us."""
    file = JournalFile(paths.journal)
    # A journal that cannot be read says no time; it must use up our tries all the same, or we would stay for ever.
    end_s = time.monotonic() + LONGEST_WAIT_S
    while file.exists():
        try:
            if next_try_s(file.read(), time.time()) <= time.time():
                return True
        except JournalError:
            if time.monotonic() >= end_s:
                return True
        time.sleep(LOOK_EVERY_S)
    return False


def _say_ready() -> None:
    """Told once everything is loaded and the lock file is open."""
    os.write(sys.stdout.fileno(), READY)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _note(words: str) -> None:
    log.info("event=restoring note=%s", words)


if __name__ == "__main__":
    sys.exit(main())
