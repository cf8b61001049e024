"""Hands a sweep to the running daemon and follows it through the store until its end."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from monitor import exit_codes
from monitor.service.lifeline import on_stop_signals
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.service.progress import ProgressPrinter
from monitor.service.restoring import journals_left
from monitor.service.sweep_report import sweep_of
from monitor.store.db import Store
from monitor.store.intents import add_intent, finish_intent, get_intent
from monitor.store.sweeps import load_cells, recent_sweeps
from probes.sweep.plan import SweepPlan
from probes.values import Cell

TAKE_S = 15.0
"""A daemon looks for requests twice a second; one that has not by then never will."""
STOP_S = 75.0
"""Longer than a daemon's patience with a sweep that it ends."""
POLL_S = 0.3


def hand_over(
    store: Store, plan: SweepPlan, *, now: bool, arms: Sequence[str], who: str, host: str, fresh: bool = False
) -> tuple[int | None, int]:
    """The sweep's id (None where none was started) and the exit code.

    Ctrl-C, SIGTERM or the terminal's end ask the daemon to abort it.
    """
    on_stop_signals(_interrupt)
    intent = add_intent(
        store,
        kind="sweep",
        subject=plan.pool,
        who=who,
        host=host,
        created_at_s=time.time(),
        reason="specwatch sweep",
        args={"now": now, "arms": list(arms), "fresh": fresh},
    )
    end_s: float | None = None
    printer, shown = ProgressPrinter(sys.stderr, [arm.name for arm in plan.arms]), list[Cell]()
    while True:
        try:
            with printer:
                return _follow(store, intent, end_s, printer, shown)
        except KeyboardInterrupt:
            end_s = time.monotonic() + STOP_S
            add_intent(
                store,
                kind="abort",
                subject=plan.pool,
                who=who,
                host=host,
                created_at_s=time.time(),
                reason="specwatch sweep, which asked for it, was told to stop",
                args={},
            )
            click.echo("\nAsked the daemon to stop the sweep; waiting for its end.", err=True)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _follow(
    store: Store, intent: int, end_s: float | None, printer: ProgressPrinter, shown: list[Cell]
) -> tuple[int | None, int]:
    """Until the sweep's end; not beyond `end_s` (monotonic) once it was told to stop, unless it puts a server back.

    `shown` are the cells that were printed; a later call goes on behind them.
    """
    sweep_id: int | None = None
    taken_by_s = time.monotonic() + TAKE_S
    while True:
        if sweep_id is None:
            sweep_id = next((s.id for s in recent_sweeps(store, 20) if s.plan.get("intent") == intent), None)
        if sweep_id is not None:
            for cell in load_cells(store, sweep_id)[len(shown) :]:
                printer.cell(cell)
                shown.append(cell)
            sweep = sweep_of(store, sweep_id)
            if sweep.outcome == "running" and sweep.progress is not None:
                printer.progress(sweep.progress)
            if sweep.outcome != "running":
                return sweep_id, sweep.exit_code if sweep.exit_code is not None else exit_codes.FAILED
        asked = get_intent(store, intent)
        if asked is not None and asked.done_at_s is not None and sweep_id is None:
            code = re.match(r"exit ([1-7])\b", asked.result)
            words = asked.result[code.end() :].lstrip(": ") if code is not None else asked.result
            click.echo(f"The daemon did not sweep: {words or asked.result}", err=True)
            return None, int(code[1]) if code is not None else exit_codes.FAILED
        if holder_of(daemon_lock_path(store.path)) is None:
            click.echo("\nThe daemon is gone, and its sweep ends with it.", err=True)
            if journals_left(store.path):
                click.echo("The server that it restarted is not back yet; `specwatch stop` waits for it.", err=True)
                return sweep_id, exit_codes.NOT_RESTORED
            return sweep_id, exit_codes.ABORTED
        if asked is not None and asked.claimed_at_s is None and time.monotonic() > taken_by_s:
            finish_intent(store, intent, time.time(), "nobody took it")
            click.echo(
                f"The daemon did not take the sweep; does it still serve {store.path}? Look at its log.", err=True
            )
            return None, exit_codes.FAILED
        if end_s is not None and time.monotonic() > end_s and not journals_left(store.path):
            click.echo(f"\nThe sweep has not confirmed its end within {STOP_S:.0f} s.", err=True)
            return sweep_id, exit_codes.NOT_RESTORED
        time.sleep(POLL_S)
