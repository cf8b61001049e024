"""`specwatch import FILE... --pool POOL`: stores results from elsewhere, so that live traffic is compared with them.

It reads files and asks the pool's server what it is; it sends no load, and changes no server.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from monitor.commands.common import config_option, fail, load_or_exit, open_or_exit, secret_or_exit
from monitor.commands.results import read_or_exit, result_options
from monitor.config.errors import nearest
from monitor.config.load import Loaded
from monitor.config.model import EndpointConfig
from monitor.config.targets import parse_duration, pool_of
from monitor.service.importing import (
    Measured,
    NotImportable,
    measured_at,
    must_have,
    names,
    present_server,
    remarks,
    whose,
)
from monitor.service.sweep_report import sweep_json, sweep_lines, sweep_of
from monitor.store.db import Store
from monitor.store.imports import AlreadyImported, ImportedSweep, NotImported, forget_imported, insert_imported
from monitor.store.sweeps import latest_crossover
from monitor.units import age_text, outcome_words
from monitor.verdict_text import no_verdict_because
from monitor.who import who_am_i
from probes.answer_values import Crossover
from probes.imports import Imported, answer
from probes.values import Reason


@click.command("import")
@result_options
@config_option
@click.option("--pool", help="The pool (or one of its endpoints) that the results speak for.")
@click.option(
    "--assume-same", is_flag=True, help="Take them for the pool's present server although the files speak against it."
)
@click.option(
    "--forget", type=int, metavar="SWEEP_ID", help="Undo: remove this imported answer; the one before counts again."
)
@click.option("--json", "as_json", is_flag=True, help="The stored sweep on stdout, machine-readable.")
def import_(
    files: tuple[Path, ...],
    arms: tuple[tuple[str, Path], ...],
    baseline: str | None,
    engines: int | None,
    config_path: Path,
    pool: str | None,
    assume_same: bool,
    forget: int | None,
    as_json: bool,
) -> None:
    """Store results measured elsewhere, so that live traffic of POOL is compared with them.

    FILES as for `specwatch crossover`. `--forget SWEEP_ID` undoes an import. Exit 0 stored (or forgotten), 2 where a
    file, the config or the server keeps it from that.
    """
    if forget is not None:
        if files or arms or baseline or engines or pool or assume_same or as_json:
            fail("--forget SWEEP_ID takes no files and no other option than --config.")
        _forget(load_or_exit(config_path), forget)
        return
    if pool is None:
        fail("Say which pool the results speak for: --pool POOL.")
    loaded = load_or_exit(config_path)
    endpoint = _endpoint(loaded, pool)
    imported = read_or_exit(files, arms, baseline, engines)
    live_arm = endpoint.probe.live_arm if endpoint.probe is not None else None
    if imported.origin is not None and imported.origin.outcome != "measured":
        ended = outcome_words(imported.origin.outcome)
        fail(f"{imported.origin.path}: the sweep ended as {ended}; only a measured one is stored.")
    with open_or_exit(loaded) as store:
        present = secret_or_exit(present_server, loaded, store, endpoint)
        try:
            must_have(live_arm, imported, pool_of(endpoint))
            fingerprint, assumed = whose(imported, present, endpoint.name, assume_same=assume_same)
        except NotImportable as error:
            fail(str(error))
        measured = measured_at(imported, time.time())
        found = answer(imported)
        if why := no_verdict_because(found):
            fail(f"These results give no verdict, so nothing was stored. {why}")
        for remark in (*assumed, *remarks(imported, present, measured)):
            click.echo(f"note: {remark}", err=True)
        sweep = _sweep(imported, found, endpoint, fingerprint, measured, assumed, live_arm)
        try:
            sweep_id = insert_imported(store, sweep)
        except AlreadyImported as error:
            fail(f"{error}.")
        stored = f"Stored in {store.path} as sweep {sweep_id} of pool {sweep.pool}"
        click.echo(f"{stored}; `specwatch import --forget {sweep_id}` undoes it.", err=True)
        for remark in _unused(loaded, store, sweep, sweep_id):
            click.echo(f"note: {remark}", err=True)
        if as_json:
            click.echo(json.dumps(sweep_json(store, sweep_id), indent=1))
            return
        for line in sweep_lines(sweep_of(store, sweep_id)):
            click.echo(line)


def _forget(loaded: Loaded, sweep_id: int) -> None:
    with open_or_exit(loaded) as store:
        try:
            pool = forget_imported(store, sweep_id)
        except NotImported as error:
            fail(f"{error}.")
        left = latest_crossover(store, pool, None)
        now = "no answer is left" if left is None else f"the newest answer is now that of sweep {left.sweep_id}"
        click.echo(f"Forgot sweep {sweep_id}, imported for pool {pool}; {now}.")


def _endpoint(loaded: Loaded, pool: str) -> EndpointConfig:
    """The endpoint that stands for a pool: the one that is swept, else the first."""
    endpoints = loaded.config.endpoint
    named = next((pool_of(e) for e in endpoints if pool in (e.name, pool_of(e))), None)
    of_pool = [e for e in endpoints if pool_of(e) == named]
    if not of_pool:
        known = sorted({name for e in endpoints for name in (e.name, pool_of(e))})
        close = nearest(pool, known)
        cure = f"did you mean {close}?" if close else f"known: {', '.join(known) or 'none'}"
        fail(f"{loaded.path}: --pool {pool} is neither an endpoint nor a pool of this config; {cure}")
    return next((e for e in of_pool if e.probe is not None), of_pool[0])


def _unused(loaded: Loaded, store: Store, sweep: ImportedSweep, sweep_id: int) -> list[str]:
    """Why live traffic will not be compared with it although its server is right."""
    found: list[str] = []
    newest = latest_crossover(store, sweep.pool, sweep.fingerprint)
    if newest is not None and newest.sweep_id != sweep_id:
        newer = age_text(newest.measured_at_s - sweep.ended_at_s)
        found.append(f"sweep {newest.sweep_id} is {newer} newer; live traffic is compared with that one.")
    if time.time() - sweep.ended_at_s > parse_duration(loaded.config.alerts.max_age):
        age = age_text(time.time() - sweep.ended_at_s)
        found.append(f"it is {age} old and has expired (alerts.max_age = {loaded.config.alerts.max_age}).")
    return found


def _sweep(
    imported: Imported,
    found: Crossover,
    endpoint: EndpointConfig,
    fingerprint: str,
    measured: Measured,
    assumed: tuple[str, ...],
    live_arm: str | None,
) -> ImportedSweep:
    user, host = who_am_i()
    origin = imported.origin
    with_ = " and ".join(imported.tools) or "a table"
    when = datetime.fromtimestamp(measured.last_s).astimezone()
    told = f"Measured elsewhere with {with_}, last run {when:%Y-%m-%d %H:%M %Z} by {measured.told_by}"
    what = f"{told}; imported by {user}@{host} from {names(imported.files)}."
    notes = (
        Reason("imported", what),
        *(Reason("assumed_server", text[0].upper() + text[1:]) for text in assumed),
        *(Reason("imported_note", text) for text in imported.notes),
    )
    arms = {imported.baseline, *found.arms}
    return ImportedSweep(
        pool=pool_of(endpoint),
        endpoint=endpoint.name,
        started_at_s=measured.first_s,
        ended_at_s=measured.last_s,
        reason=f"imported from {names(imported.files)} ({with_})",
        who=f"{user}@{host}",
        pid=os.getpid(),
        host=host,
        fingerprint=fingerprint,
        baseline=imported.baseline,
        live_arm=live_arm if live_arm in arms else None,
        files={hashlib.sha256(path.read_bytes()).hexdigest(): path.name for path in imported.files},
        plan=origin.plan if origin is not None else {},
        result=replace(found, notes=(*notes, *found.notes)),
        arm_k=imported.arm_k,
        identities=origin.identities if origin is not None else {},
        cells=imported.cells,
        is_whole_sweep=origin is not None,
    )
