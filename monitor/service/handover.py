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
from monitor.service.sweep_report import sweep_of
from monitor.store.db import Store
from monitor.store.intents import add_intent, get_intent
from monitor.store.sweeps import load_cells, recent_sweeps
from probes.sweep.plan import SweepPlan

POLL_S = 0.3


def hand_over(
    store: Store, plan: SweepPlan, *, now: bool, arms: Sequence[str], who: str, host: str
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
        args={"now": now, "arms": list(arms)},
    )
    while True:
        try:
            return _follow(store, intent)
        except KeyboardInterrupt:
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


def _follow(store: Store, intent: int) -> tuple[int | None, int]:
    sweep_id: int | None = None
    seen = 0
    with ProgressPrinter(sys.stderr) as printer:
        while True:
            if sweep_id is None:
                sweep_id = next((s.id for s in recent_sweeps(store, 20) if s.plan.get("intent") == intent), None)
            if sweep_id is not None:
                cells = load_cells(store, sweep_id)
                for cell in cells[seen:]:
                    printer.cell(cell)
                seen = len(cells)
                sweep = sweep_of(store, sweep_id)
                if sweep.outcome == "running" and sweep.progress is not None:
                    printer.progress(sweep.progress)
                if sweep.outcome != "running":
                    return sweep_id, sweep.exit_code if sweep.exit_code is not None else exit_codes.FAILED
            asked = get_intent(store, intent)
            if asked is not None and asked.done_at_s is not None and sweep_id is None:
                click.echo(f"The daemon did not sweep: {asked.result}", err=True)
                code = re.match(r"exit ([1-7])\b", asked.result)
                return None, int(code[1]) if code is not None else exit_codes.FAILED
            if holder_of(daemon_lock_path(store.path)) is None:
                click.echo("The daemon is gone; the sweep may have died with it.", err=True)
                return sweep_id, exit_codes.FAILED
            time.sleep(POLL_S)
