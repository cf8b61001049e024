"""`specwatch once`: every endpoint against its crossover, for scripts and for a quick look without a screen."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from monitor.commands.common import config_option, fail, load_or_exit, names_or_exit, open_or_exit, secret_or_exit
from monitor.commands.once_text import gone_words, is_missed, pause_words, status_line, unmeasured
from monitor.config.load import Loaded
from monitor.cost import cost_json
from monitor.now_values import AsOfNow
from monitor.now_words import reason_words
from monitor.service.locks import daemon_lock_path, gone, holder_of
from monitor.service.not_restored import not_restored_words, unrestored
from monitor.service.once import look_once
from monitor.service.sweep_gate import left_in
from monitor.store.db import Store
from monitor.store.intents import active_pause
from monitor.store.readings import latest_reading
from monitor.store.sweeps import pool_sweeps
from monitor.values import CrossoverNow, EndpointStatus, LiveVerdict
from probes.answer_values import BandPoint


@click.command()
@click.argument("endpoint", required=False)
@config_option
@click.option("--json", "as_json", is_flag=True, help="Machine-readable, one object.")
def once(endpoint: str | None, config_path: Path, as_json: bool) -> None:
    """Compare every endpoint with its crossover, once; ENDPOINT is an endpoint or a pool, without one all.

    BELOW: not above the crossover: speculation pays here or is no worse, as far as was measured. INSIDE: neither is
    sure. ABOVE: it costs, or would if it were on. UNKNOWN: nothing can be said, and why.

    Exit 1 if any is above, else 2 if any is unknown or a sweep left its server in one of its arms, else 0.
    """
    loaded = load_or_exit(config_path)
    if not loaded.config.endpoint:
        fail(f"{loaded.path}: no [[endpoint]], so there is nothing to look at.")
    names = names_or_exit(loaded, endpoint)
    with open_or_exit(loaded, readonly=True) if loaded.store_path.exists() else nullcontext() as store:
        try:
            statuses = secret_or_exit(asyncio.run, look_once(loaded, store, names))
            ended = _unmeasured(loaded, store, {s.pool for s in statuses if s.crossover is None}) if store else {}
            standing = list(_standing(loaded, store, time.time()))
        except Exception as error:
            # Exit 1 means "above": whatever goes wrong here must never be read as that.
            fail(f"Could not look: {type(error).__name__}: {error}")
    watched = holder_of(daemon_lock_path(loaded.store_path)) is not None
    left = [one for one in unrestored(loaded.config, loaded.store_path, watched=watched) if one.endpoint in names]
    for one in left:
        click.echo(f"NOT RESTORED: {one.endpoint} {not_restored_words(one)}", err=True)
    for line in standing:
        click.echo(line, err=True)
    if as_json:
        seen = {"endpoints": [status_json(s) for s in statuses], "not_restored": [one.endpoint for one in left]}
        click.echo(json.dumps(seen, indent=1))
    else:
        for status in statuses:
            click.echo(status_line(status, ended.get(status.pool, ())))
    verdicts = {s.verdict for s in statuses}
    # What a server in another arm than production's shows says nothing of production: unknown.
    sys.exit(1 if LiveVerdict.ABOVE in verdicts else 2 if left or LiveVerdict.UNKNOWN in verdicts else 0)


def _unmeasured(loaded: Loaded, store: Store, pools: Collection[str]) -> dict[str, list[str]]:
    """By pool, how its newest sweep ended where it gave no answer; what is owed is asked as the gate asks it."""
    now_s = time.time()
    return {
        pool: unmeasured(pool_sweeps(store, pool, 1), now_s, owed=bool(left_in(loaded.config, store, pool)))
        for pool in pools
    }


def _standing(loaded: Loaded, store: Store | None, now_s: float) -> Iterator[str]:
    """What somebody who relies on the daemon should know: that it is gone, that sweeps are paused."""
    ended = gone(daemon_lock_path(loaded.store_path))
    if ended is not None:
        found = [latest_reading(store, e.name) for e in loaded.config.endpoint] if store is not None else []
        seen_s = max((one.reading.at_s for one in found if one is not None), default=None)
        age_s = now_s - seen_s if seen_s is not None else None
        if is_missed(ended, age_s):
            yield gone_words(ended, loaded.path, age_s)
    if store is not None and (paused := active_pause(store, now_s)) is not None:
        yield pause_words(*paused, now_s)


def status_json(status: EndpointStatus) -> dict[str, Any]:
    """One endpoint in the shape that scripts rely on."""
    return {
        "name": status.name,
        "pool": status.pool,
        "state": status.state.value,
        "reason": status.reason,
        "engine": status.engine_kind.value if status.engine_kind else None,
        "version": status.version,
        "engines": [
            {
                "engine": e.engine,
                "running": e.running,
                "waiting": e.waiting,
                "kv_usage": e.kv_usage,
                "concurrency": e.concurrency,
            }
            for e in status.engines
        ],
        "running_max": status.running_max,
        "concurrency": status.concurrency,
        "speculation": {
            "configured": status.speculation_configured,
            "drafting": status.drafting,
            "k": status.k,
            "acceptance_length": status.acceptance_length,
        },
        "live_arm": status.live_arm,
        "live_arm_reason": status.live_arm_reason,
        "crossover": _crossover_json(status.crossover),
        "verdict": status.verdict.value,
        "verdict_reason": reason_words(status),
        "alerting": status.alerting,
        "alerting_reason": status.alerting_reason,
        "speedup_now": status.speedup_now.ratio if status.speedup_now else None,
        "as_of_now": as_of_now_json(status.as_of_now) if status.as_of_now else None,
        "cost": cost_json(status.cost),
        "age_s": status.age_s,
    }


def _crossover_json(now: CrossoverNow | None) -> dict[str, Any] | None:
    if now is None:
        return None
    return {
        "for_arm": now.for_arm,
        "verdict": now.verdict.value,
        "value": now.value,
        "low": now.low,
        "high": now.high,
        "age_s": now.age_s,
        "imported": now.imported,
    }


def as_of_now_json(now: AsOfNow) -> dict[str, Any]:
    """What the sweep's answer becomes at the live acceptance and mix; `decides` says whether the verdict goes by it."""
    return {
        "for_arm": now.for_arm,
        "decides": now.decides,
        "verdict": now.verdict.value,
        "value": now.value,
        "low": now.low,
        "high": now.high,
        "acceptance_length": now.acceptance_length,
        "acceptance_swept": now.acceptance_measured,
        "break_even_acceptance": _point_json(now.break_even),
        "no_break_even": now.no_break_even.code if now.no_break_even is not None else None,
        "mix": None
        if now.mix is None
        else {**asdict(now.mix.mix), "requests": now.mix.requests, "span_s": now.mix.span_s},
        "mix_swept": asdict(now.mix_measured) if now.mix_measured is not None else None,
        "observed": _point_json(now.observed),
        "reasons": [{"code": reason.code, "text": reason.text} for reason in now.reasons],
    }


def _point_json(point: BandPoint | None) -> dict[str, float] | None:
    if point is None:
        return None
    return {"concurrency": point.concurrency, "value": point.ratio, "low": point.low, "high": point.high}
