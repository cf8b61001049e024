"""`specwatch sweep`: one sweep, here or handed to the daemon that serves this store; `--plan` sends nothing."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import click

from monitor import exit_codes
from monitor.commands.common import (
    config_option,
    fail,
    load_or_exit,
    open_or_exit,
    secret_or_exit,
)
from monitor.commands.show_plan import show_plan
from monitor.config.load import Loaded
from monitor.log import setup_logging
from monitor.service.handover import hand_over
from monitor.service.lifeline import on_stop_signals, parent_gone, parent_option
from monitor.service.locks import AlreadyHeld, Lock, daemon_lock_path, holder_of, sweep_lock_path
from monitor.service.progress import ProgressPrinter
from monitor.service.progress_log import ProgressLog
from monitor.service.sweep_gate import left_in
from monitor.service.sweep_plan import plan_for
from monitor.service.sweep_report import sweep_json, sweep_lines, sweep_of
from monitor.service.sweep_run import Caller, run_stored_sweep
from monitor.store.db import Store
from monitor.who import who_am_i
from probes.load.loop import run
from probes.load.prompts import PromptFileError, load_prompts
from probes.sweep.plan import SweepPlan

log = logging.getLogger(__name__)


@click.command()
@click.argument("pool_or_endpoint")
@config_option
@click.option("--now", is_flag=True, help="Skip the gate's window, live-load and KV limits; a pause still holds.")
@click.option("--plan", "plan_only", is_flag=True, help="Say what it would do and cost, and do nothing.")
@click.option("--fresh", is_flag=True, help="Measure everything anew; do not go on with a sweep that was broken off.")
@click.option("--arm", "arms", multiple=True, help="Only these arms (and the baseline).")
@click.option("--json", "as_json", is_flag=True, help="The whole result on stdout, machine-readable.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The same into a file.")
@click.option("--direct", is_flag=True, hidden=True)
@click.option("--trigger", default="command", hidden=True)
@click.option("--who", hidden=True)
@click.option("--intent", type=int, hidden=True)
@parent_option
def sweep(
    pool_or_endpoint: str,
    config_path: Path,
    now: bool,
    plan_only: bool,
    fresh: bool,
    arms: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    direct: bool,
    trigger: str,
    who: str | None,
    intent: int | None,
    parent: int | None,
) -> None:
    """Measure the crossover of POOL_OR_ENDPOINT.

    Exit 0 measured, 2 config, 3 refused by the gate, 4 aborted by traffic or stop, 5 an arm is not what it claims or no
    cell is valid, 6 already running, 7 not restored.
    """
    setup_logging()
    loaded = load_or_exit(config_path)
    if plan_only:
        show_plan(loaded, pool_or_endpoint, arms, now=now, fresh=fresh, as_json=as_json)
        return
    with open_or_exit(loaded) as store:
        plan = secret_or_exit(plan_for, loaded, pool_or_endpoint, arms, store)
        _check_files(plan, out)
        daemon = holder_of(daemon_lock_path(loaded.store_path))
        if daemon is not None and not direct:
            user, host = who_am_i()
            click.echo(f"A daemon ({daemon}) serves this store; handing the sweep over.", err=True)
            sweep_id, code = hand_over(store, plan, now=now, arms=arms, who=user, host=host, fresh=fresh)
        else:
            user, host = who_am_i()
            caller = Caller(trigger, who or f"{user}@{host}", intent, now, fresh)
            sweep_id, code = _run_here(loaded, store, plan, caller, parent)
        if sweep_id is None:
            sys.exit(code)
        _give(store, sweep_id, as_json, out)
        if plan.restarts and code not in (exit_codes.REFUSED, exit_codes.NOT_RESTORED):
            _say_restored(loaded, store, plan, sweep_id, parent)
        sys.exit(code)


def _say_restored(loaded: Loaded, store: Store, plan: SweepPlan, sweep_id: int, parent: int | None) -> None:
    """Whoever took production away should not have to look whether it is back; no more is said than is known."""
    if left_in(loaded.config, store, plan.pool):
        return
    started = sweep_of(store, sweep_id).tally.get("starts")
    proved = f"{plan.endpoint} runs {plan.live_arm} again, and that is proved; nothing" if started else "Nothing"
    if parent is None:
        click.echo(f"{proved} is left to restore.", err=True)
    else:
        log.info("event=restored endpoint=%s text=%r", plan.endpoint, f"{proved} is left to restore.")


def _check_files(plan: SweepPlan, out: Path | None) -> None:
    """Faults that would cost a whole sweep if they were found at its start or its end."""
    try:
        load_prompts(plan.load.prompts)
    except PromptFileError as error:
        fail(str(error))
    if out is not None and not os.access(out.parent, os.W_OK):
        fail(f"--out {out}: the folder {out.parent} is not there or cannot be written.")


def _run_here(loaded: Loaded, store: Store, plan: SweepPlan, caller: Caller, parent: int | None) -> tuple[int, int]:
    try:
        lock = Lock(sweep_lock_path(loaded.store_path, plan.pool)).acquire()
    except AlreadyHeld as error:
        fail(
            f"A sweep of {plan.pool} is already running ({error.holder}); `specwatch stop` ends it.", exit_codes.RUNNING
        )
    asked: list[str] = []

    def ask(number: int, _frame: object) -> None:
        if asked:
            _force(number)
        asked.append(f"stopped by {signal.Signals(number).name}")

    def interrupted() -> str | None:
        if asked:
            return asked[0]
        return "the daemon that started it is gone" if parent_gone(parent) else None

    on_stop_signals(ask)
    # A daemon's child writes into the daemon's log.
    arms = [arm.name for arm in plan.arms]
    told = ProgressPrinter(sys.stderr, arms) if parent is None else ProgressLog(plan.pool)
    with lock, told as printer:
        work = run_stored_sweep(
            loaded,
            store,
            plan,
            caller,
            interrupted=interrupted,
            show=printer.progress,
            on_cell=printer.cell,
        )
        try:
            ended = run(work)
        except PromptFileError as error:
            fail(str(error))
    return ended.sweep_id, ended.exit_code


def _force(number: int) -> NoReturn:
    """A second signal: leave at once; the next process marks the sweep as died."""
    sys.exit(128 + number)


def _give(store: Store, sweep_id: int, as_json: bool, out: Path | None) -> None:
    if out is not None:
        temporary = out.with_name(out.name + ".part")
        temporary.write_text(json.dumps(sweep_json(store, sweep_id), indent=1) + "\n")
        temporary.replace(out)
        click.echo(f"wrote {out}", err=True)
    if as_json:
        click.echo(json.dumps(sweep_json(store, sweep_id), indent=1))
        return
    for line in sweep_lines(sweep_of(store, sweep_id)):
        click.echo(line)
