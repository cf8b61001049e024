"""`specwatch serve`: the daemon in the foreground, one per store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from monitor import exit_codes
from monitor.commands.common import config_option, fail, load_or_exit, open_or_exit, secret_or_exit
from monitor.log import setup_logging
from monitor.service.daemon import Daemon, serve_until_signal
from monitor.service.lifeline import parent_option
from monitor.service.locks import AlreadyHeld, Lock, daemon_lock_path


@click.command()
@config_option
@click.option("--verbose", is_flag=True, help="Log debug lines too.")
@parent_option
def serve(config_path: Path, verbose: bool, parent: int | None) -> None:
    """Scrape, store, alert and run scheduled sweeps until SIGTERM."""
    setup_logging(verbose=verbose)
    loaded = load_or_exit(config_path)
    if not loaded.config.endpoint:
        fail(f"{loaded.path}: no [[endpoint]], so there is nothing to watch. Add one; config.toml shows every key.")
    store = open_or_exit(loaded)
    try:
        lock = Lock(daemon_lock_path(loaded.store_path)).acquire()
    except AlreadyHeld as error:
        fail(f"A daemon already serves {loaded.store_path} ({error.holder}); stop it first.", exit_codes.RUNNING)
    with store, lock:
        daemon = secret_or_exit(Daemon, loaded, store)
        try:
            asyncio.run(serve_until_signal(daemon, parent))
        except* OSError as group:
            fail(f"Cannot serve: {group.exceptions[0]}", 1)
