"""`specwatch stop`: abort running sweeps and wait until they are really over; works without the daemon."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from monitor.commands.common import config_option, load_or_exit, open_or_exit, who_am_i
from monitor.service.died import settle_dead_sweeps
from monitor.store.intents import add_intent
from monitor.store.sweeps import running_sweeps

EXIT_NOT_RESTORED = 7
POLL_S = 0.2


@click.command()
@click.argument("endpoint", required=False)
@config_option
@click.option("--timeout-s", default=30.0, show_default=True, help="How long to wait for the sweep's end.")
@click.option("--reason", default="specwatch stop", show_default=True, help="Kept with the sweep.")
def stop(endpoint: str | None, config_path: Path, timeout_s: float, reason: str) -> None:
    """Abort the running sweep of ENDPOINT (or of its pool), or all; exit 0 once none is running."""
    loaded = load_or_exit(config_path)
    user, host = who_am_i()
    with open_or_exit(loaded) as store:
        settle_dead_sweeps(store, time.time())
        running = [s for s in running_sweeps(store) if endpoint in (None, s.pool, s.endpoint)]
        if not running:
            click.echo("No sweep is running." if endpoint is None else f"No sweep of {endpoint} is running.")
            return
        for sweep in running:
            add_intent(
                store,
                kind="abort",
                subject=sweep.pool,
                who=user,
                host=host,
                created_at_s=time.time(),
                reason=reason,
                args={"sweep_id": sweep.id},
            )
            click.echo(f"Asked sweep {sweep.id} of {sweep.pool} (pid {sweep.pid}) to stop.", err=True)
        ids = {s.id for s in running}
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            settle_dead_sweeps(store, time.time())
            if not ids & {s.id for s in running_sweeps(store)}:
                click.echo("Stopped. Sweeps of running servers change no server, so nothing had to be restored.")
                return
            time.sleep(POLL_S)
        left = [s for s in running_sweeps(store) if s.id in ids]
        for sweep in left:
            click.echo(f"Sweep {sweep.id} of {sweep.pool} still runs as pid {sweep.pid} on {sweep.host}.", err=True)
        sys.exit(EXIT_NOT_RESTORED)
