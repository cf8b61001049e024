"""`specwatch watch`: the dashboard over a daemon's store, or in local mode where no daemon runs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click

from monitor.commands.common import config_option, fail, load_or_exit, open_or_exit, secret_or_exit
from monitor.config.load import Loaded
from monitor.log import setup_logging
from monitor.service.daemon import SERVING
from monitor.service.feed import LocalScraper, StoreFeed
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.store.db import open_store

SERVE_START_S = 20.0
LAST_WORDS = 5
"""Lines of a daemon that did not start which are shown."""
OWN_DAEMON_ENDS = (
    "Viewer closed, and the daemon that it started ends with it: nobody watches now. "
    "`specwatch serve` would, also without a viewer."
)


@click.command()
@config_option
@click.option("--serve", is_flag=True, help="Run the whole service while the dashboard is open.")
@click.option("--readonly", is_flag=True, help="Hide everything that asks for a change.")
def watch(config_path: Path, serve: bool, readonly: bool) -> None:
    """Watch the fleet. Without a daemon it only scrapes for itself: no alerts, no scheduled sweeps."""
    loaded = load_or_exit(config_path)
    if not loaded.config.endpoint:
        fail(f"{loaded.path}: no [[endpoint]], so there is nothing to watch. Add one; config.toml shows every key.")
    if not sys.stdout.isatty():
        fail("`specwatch watch` needs a terminal; `specwatch once` gives the same facts as text or JSON.")
    with ExitStack() as stack:
        _log_beside(loaded.store_path)
        daemon = holder_of(daemon_lock_path(loaded.store_path))
        goodbye = None
        if serve and daemon is None:
            stack.callback(_end, _start_daemon(loaded))
            daemon = holder_of(daemon_lock_path(loaded.store_path))
            goodbye = OWN_DAEMON_ENDS
        # A viewer that may not change anything must do with a store, or a folder, that it cannot write.
        store = stack.enter_context(open_or_exit(loaded, readonly=readonly and loaded.store_path.exists()))
        if daemon is not None:
            asyncio.run(_show(StoreFeed(loaded, store), readonly, goodbye))
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="specwatch-watch-")))
            readings = stack.enter_context(open_store(folder / "readings.db"))
            scraper = secret_or_exit(LocalScraper, loaded, readings)
            asyncio.run(_show_local(StoreFeed(loaded, store, readings), scraper, readonly))


def _log_beside(store: Path) -> None:
    """The screen owns the terminal, so the log goes beside the store; nowhere where that cannot be written."""
    try:
        setup_logging(file=store.with_name(store.name + ".watch.log"))
    except OSError:
        setup_logging(file=Path(os.devnull))


async def _show(feed: StoreFeed, readonly: bool, goodbye: str | None = None) -> None:
    from monitor.tui.app import SpecwatchApp

    await SpecwatchApp(feed, readonly=readonly, goodbye=goodbye).run_async()


async def _show_local(feed: StoreFeed, scraper: LocalScraper, readonly: bool) -> None:
    scraping = asyncio.create_task(scraper.run())
    try:
        await _show(feed, readonly)
    finally:
        scraping.cancel()
        await asyncio.gather(scraping, return_exceptions=True)


def _start_daemon(loaded: Loaded) -> subprocess.Popen[bytes]:
    log = loaded.store_path.with_name(loaded.store_path.name + ".serve.log")
    with log.open("ab") as stream:
        begins = stream.tell()
        daemon = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "monitor.cli",
                "serve",
                "--config",
                str(loaded.path),
                "--parent",
                str(os.getpid()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    deadline = time.monotonic() + SERVE_START_S
    while not _serving(log, begins):
        if daemon.poll() is not None or time.monotonic() > deadline:
            how = _ended(daemon.poll())
            _end(daemon)
            words = "\n".join(_written(log, begins)[-LAST_WORDS:]) or "none"
            fail(f"The daemon did not start: {how}. Its last words (all of them in {log}):\n{words}", 1)
        time.sleep(0.1)
    return daemon


def _ended(status: int | None) -> str:
    if status is None:
        return f"it did not serve within {SERVE_START_S:.0f} s"
    return f"it was killed by {signal.Signals(-status).name}" if status < 0 else f"it exited with status {status}"


def _written(log: Path, begins: int) -> list[str]:
    """What a daemon wrote since its own start."""
    with log.open("rb") as stream:
        stream.seek(begins)
        return [row for row in stream.read().decode(errors="replace").splitlines() if row.strip()]


def _serving(log: Path, begins: int) -> bool:
    """It holds its lock before it can still fail, so the lock says too little."""
    return any(f"event={SERVING} " in row for row in _written(log, begins))


def _end(daemon: subprocess.Popen[bytes]) -> None:
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(timeout=20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
