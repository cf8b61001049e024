"""`specwatch stop`: abort running sweeps and see the servers they restarted put back; works without the daemon."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from monitor import exit_codes
from monitor.commands.common import config_option, fail, load_or_exit, open_or_exit, secret_or_exit
from monitor.config.errors import nearest
from monitor.config.load import Loaded
from monitor.config.model import Config
from monitor.config.targets import pool_of
from monitor.service.died import settle_dead_sweeps
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.service.restoring import RestoreResult, Restoring, journals_left, restore_orphans
from monitor.service.sweep_child import grace_s
from monitor.store.db import Store
from monitor.store.intents import add_intent, pending
from monitor.store.sweeps import running_sweeps
from monitor.who import who_am_i

POLL_S = 0.2
END_S = 60.0
"""How long a sweep that restarts nothing may take to end, unless told otherwise: its streams are closed in 2 s, but
SGLang shows up to 35 s late that it has let go of them."""


@click.command()
@click.argument("endpoint", required=False)
@config_option
@click.option(
    "--timeout-s",
    type=float,
    help="How long to wait. Default: 60 s, and as long as a restarted server may take to be put back.",
)
@click.option("--reason", default="specwatch stop", show_default=True, help="Kept with the sweep.")
def stop(endpoint: str | None, config_path: Path, timeout_s: float | None, reason: str) -> None:
    """Abort the running sweep of ENDPOINT (or of its pool), or all.

    Exit 0 once none is running and every server that a sweep restarted runs its live arm again, else 7.
    """
    loaded = load_or_exit(config_path)
    if not loaded.store_path.exists():
        _pool(loaded.config, endpoint, set())
        click.echo(f"There is no store {loaded.store_path}: no sweep was ever started with this config. The right one?")
        return
    with open_or_exit(loaded) as store:
        settle_dead_sweeps(store, time.time())
        pool = _pool(loaded.config, endpoint, {name for s in running_sweeps(store) for name in (s.pool, s.endpoint)})
        going, left = _going(store, pool), _left(loaded, pool, journals_left(loaded.store_path))
        if not going and not left:
            what = "sweep" if endpoint is None else f"sweep of {endpoint}"
            click.echo(f"No {what} is running, and nothing is left to restore (store {loaded.store_path}).")
            if _scheduled(loaded.config, pool) and holder_of(daemon_lock_path(store.path)) is not None:
                _ask(store, {pool or "": "the daemon"}, reason, "not to try a refused one again until its next time")
            return
        deadline = time.monotonic() + (timeout_s if timeout_s is not None else _patience_s(loaded, pool))
        restarted = {one.endpoint for one in left}
        if going:
            _ask(store, going, reason)
            restarted |= _wait_for_end(loaded, store, pool, deadline)
    restarted |= _restore(loaded, pool, deadline)
    if restarted:
        click.echo(f"Stopped; {', '.join(sorted(restarted))} serves its live arm again, and that is proved.")
    else:
        click.echo("Stopped. Sweeps of running servers change no server, so nothing had to be restored.")


def _patience_s(loaded: Loaded, pool: str | None) -> float:
    pools = {pool_of(e) for e in loaded.config.endpoint} if pool is None else {pool}
    return max([END_S, *(END_S + grace_s(loaded.config, name) for name in pools if _restarts(loaded.config, name))])


def _restarts(config: Config, pool: str) -> bool:
    return any(pool_of(e) == pool and any(arm.restart is not None for arm in e.arm) for e in config.endpoint)


def _scheduled(config: Config, pool: str | None) -> bool:
    """Whether a daemon may be waiting to try a refused sweep again; it does so for scheduled ones only."""
    return any(
        e.probe is not None and e.probe.schedule is not None and pool in (None, pool_of(e)) for e in config.endpoint
    )


def _ask(store: Store, going: dict[str, str], reason: str, wish: str = "to stop") -> None:
    user, host = who_am_i()
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
        click.echo(f"Asked {what} {wish}.", err=True)


def _wait_for_end(loaded: Loaded, store: Store, pool: str | None, deadline: float) -> set[str]:
    """Until no sweep runs; returns endpoints that were seen restarted meanwhile."""
    seen: set[str] = set()
    while going := _going(store, pool):
        new = {one.endpoint for one in _left(loaded, pool, journals_left(loaded.store_path))} - seen
        for name in sorted(new):
            click.echo(f"{name} was restarted by the sweep; waiting until its live arm serves again.", err=True)
        seen |= new
        if time.monotonic() > deadline:
            for what in going.values():
                click.echo(f"Still there: {what}.", err=True)
            sys.exit(exit_codes.NOT_RESTORED)
        time.sleep(POLL_S)
        settle_dead_sweeps(store, time.time())
    return seen


def _restore(loaded: Loaded, pool: str | None, deadline: float) -> set[str]:
    """Until no journal is left; puts servers back itself where nobody else does. Returns those it has put back."""
    done: set[str] = set()
    said: set[str] = set()
    while left := _left(loaded, pool, journals_left(loaded.store_path)):
        for name in sorted({one.endpoint for one in left} - said):
            said.add(name)
            click.echo(
                f"Putting {name} back to its live arm; that takes as long as the server takes to start.", err=True
            )
        results = secret_or_exit(asyncio.run, restore_orphans(loaded, time.time(), at_once=True))
        ours = _left(loaded, pool, results)
        done |= {one.endpoint for one in ours if one.state is Restoring.RESTORED}
        failed = [one for one in ours if one.state is Restoring.FAILED]
        late = time.monotonic() > deadline
        for one in failed if failed else left if late else ():
            click.echo(
                f"NOT RESTORED: {one.endpoint}: {one.reason or 'still in hand'} (journal {one.journal})", err=True
            )
        if failed or late:
            sys.exit(exit_codes.NOT_RESTORED)
        time.sleep(POLL_S)
    return done


def _left(loaded: Loaded, pool: str | None, found: Sequence[RestoreResult]) -> list[RestoreResult]:
    """Of these journals the pool's; one of an endpoint that left the config belongs to a pool of its own name."""
    pools = {e.name: pool_of(e) for e in loaded.config.endpoint}
    return [one for one in found if pool in (None, pools.get(one.endpoint, one.endpoint))]


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
