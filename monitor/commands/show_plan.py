"""What `specwatch sweep --plan` does: puts plan, cost, what could be gone on with and the gate's budgets together."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime

import click

from monitor import exit_codes
from monitor.commands.check_fit import fit_remarks
from monitor.commands.check_text import Remark, duration
from monitor.commands.common import fail, open_or_exit, secret_or_exit
from monitor.commands.held import held_remarks
from monitor.commands.plan_cost import sweep_cost
from monitor.commands.plan_text import plan_json, plan_lines, remark_lines
from monitor.config.load import Loaded
from monitor.config.model import ProbeConfig
from monitor.config.targets import probe_of
from monitor.service.budget import need_of
from monitor.service.resuming import Resumable, resumable
from monitor.service.sweep_plan import plan_for
from monitor.store.db import Store
from monitor.store.sweeps import load_cells, pool_sweeps
from monitor.units import age_text
from probes.load.prompts import PromptFileError, load_prompts
from probes.sweep.gate import Need
from probes.sweep.plan import SweepPlan, estimate
from probes.sweep.resume import signature, usable

_LOOK_BACK = 50
"""Newest sweeps of the pool among which a broken-off one is looked for."""


def show_plan(loaded: Loaded, subject: str, arms: Sequence[str], *, now: bool, fresh: bool, as_json: bool) -> None:
    """Print it; exit 2 where something is wrong, or where the gate would refuse the sweep whenever it came."""
    with open_or_exit(loaded, readonly=True) if loaded.store_path.exists() else nullcontext() as store:
        plan: SweepPlan = secret_or_exit(plan_for, loaded, subject, arms, store)
        endpoint, probe = probe_of(loaded.config, plan.endpoint)
        broken = _broken_off(store, plan, probe) if store is not None and not fresh else None
        held = held_remarks(loaded, store, plan, probe, now=now) if store is not None else []
    try:
        prompts = load_prompts(plan.load.prompts)
    except PromptFileError as error:
        fail(str(error))
    cost = sweep_cost(plan, probe, prompts.prompts)
    need = _left(plan, probe, broken) if broken is not None else None
    at = datetime.now(UTC)
    remarks = list(fit_remarks(plan, probe, at, skip_window=now, need=need))
    if broken is not None and need is not None:
        remarks.append(_goes_on(broken, estimate(plan).cells, need))
    remarks += held
    if as_json:
        click.echo(json.dumps(plan_json(plan, cost, remarks), indent=1))
    else:
        for line in (*plan_lines(plan, endpoint, probe, cost, at, skip_gate=now), *remark_lines(remarks)):
            click.echo(line)
        click.echo(f"Nothing was sent. Its result would go into {loaded.store_path}; drop --plan to run it.")
    if any(remark.is_problem for remark in remarks):
        sys.exit(exit_codes.CONFIG)


def _broken_off(store: Store, plan: SweepPlan, probe: ProbeConfig) -> Resumable | None:
    """What could be gone on with if the servers are still the same; they are not asked here."""
    sweeps = pool_sweeps(store, plan.pool, _LOOK_BACK)
    return resumable(
        sweeps,
        lambda sweep_id: usable(plan, load_cells(store, sweep_id)),
        signature=signature(plan),
        fingerprint=next((sweep.fingerprint for sweep in sweeps if sweep.fingerprint), ""),
        now_s=time.time(),
        within_s=3600 * probe.resume_hours,
    )


def _left(plan: SweepPlan, probe: ProbeConfig, broken: Resumable) -> Need:
    used = broken.sweep.tally.get("tokens")
    return need_of(plan, probe, broken.cells, used if isinstance(used, int) else 0)


def _goes_on(broken: Resumable, cells: int, need: Need) -> Remark:
    ended_s = broken.sweep.ended_at_s if broken.sweep.ended_at_s is not None else broken.sweep.started_at_s
    return Remark.note(
        f"sweep {broken.sweep.id} was broken off {age_text(max(0.0, time.time() - ended_s))} ago with "
        f"{len(broken.cells)} of {cells} cells measured: this one goes on with them if the servers are the same, and "
        f"about {duration(need.seconds)} are left; --fresh measures everything anew"
    )
