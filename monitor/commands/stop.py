"""`specwatch stop`: abort running sweeps and wait until they are really over; works without the daemon."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from monitor import exit_codes
from monitor.commands.common import config_option, fail, load_or_exit, open_or_exit
from monitor.config.errors import nearest
from monitor.config.model import Config
from monitor.config.targets import pool_of
from monitor.service.died import settle_dead_sweeps
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.store.db import Store
from monitor.store.intents import add_intent, pending
from monitor.store.sweeps import running_sweeps
from monitor.who import who_am_i

POLL_S = 0.2


@click.command()
@click.argument("endpoint", required=False)
@config_option
@click.option("--timeout-s", default=30.0, show_default=True, help="How long to wait for the sweep's end.")
@click.option("--reason", default="specwatch stop", show_default=True, help="Kept with the sweep.")
def stop(endpoint: str | None, config_path: Path, timeout_s: float, reason: str) -> None:
    """Abort the running sweep of ENDPOINT (or of its pool), or all; exit 0 once none is running."""
    loaded = load_or_exit(config_path)
    if not loaded.store_path.exists():
        _pool(loaded.config, endpoint, set())
        click.echo(f"There is no store {loaded.store_path}: no sweep was ever started with this config. The right one?")
        return
    user, host = who_am_i()
    with open_or_exit(loaded) as store:
        settle_dead_sweeps(store, time.time())
        pool = _pool(loaded.config, endpoint, {name for s in running_sweeps(store) for name in (s.pool, s.endpoint)})
        going = _going(store, pool)
        if not going:
            what = "sweep" if endpoint is None else f"sweep of {endpoint}"
            click.echo(f"No {what} is running (store {loaded.store_path}).")
            return
        for subject, what in going.items():
            add_intent(
                store,
                kind="abort",
                subject=subject,
                who=user,
                host=host,
                created_at_s=time.time(),
                reason=reason,
                args={},
            )
            click.echo(f"Asked {what} to stop.", err=True)
        deadline = time.monotonic() + timeout_s
        while left := _going(store, pool):
            if time.monotonic() > deadline:
                for what in left.values():
                    click.echo(f"Still there: {what}.", err=True)
                sys.exit(exit_codes.NOT_RESTORED)
            time.sleep(POLL_S)
            settle_dead_sweeps(store, time.time())
        click.echo("Stopped. Sweeps of running servers change no server, so nothing had to be restored.")


def _pool(config: Config, name: str | None, running: set[str]) -> str | None:
    """The pool that is meant; a name that is nobody's must not read like "nothing runs"."""
    if name is None:
        return None
    pools = {endpoint.name: pool_of(endpoint) for endpoint in config.endpoint}
    known = {*pools, *pools.values(), *running}
    if name not in known:
        close = nearest(name, sorted(known))
        fail(
            f"{name} is neither an endpoint nor a pool of this config" + (f"; did you mean {close}?" if close else ".")
        )
    return pools.get(name, name)


def _going(store: Store, pool: str | None) -> dict[str, str]:
    """By pool, what runs, or is about to because a daemon has been asked for it."""
    asked = pending(store, "sweep") if holder_of(daemon_lock_path(store.path)) is not None else []
    going = {i.subject: f"the sweep of {i.subject} that {i.who} asked for" for i in asked}
    for sweep in running_sweeps(store):
        going[sweep.pool] = f"sweep {sweep.id} of {sweep.pool} (pid {sweep.pid} on {sweep.host})"
    return {subject: what for subject, what in going.items() if pool in (None, subject)}
