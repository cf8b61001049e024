"""What the dashboard draws from: the store a daemon writes, or (local mode) this process's own scrapes.

Local mode writes nothing anywhere that outlives it: no alert, no scheduled sweep; its readings live in a private file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from monitor.config.load import Loaded
from monitor.config.targets import endpoint_target, pool_of
from monitor.schedule import next_fire
from monitor.service.feed_history import Histories
from monitor.service.feed_readings import ViewedReadings
from monitor.service.feed_sweeps import ToldCells, told_sweeps
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.service.not_restored import unrestored
from monitor.service.scraping import ScrapeLoops
from monitor.service.statuses import all_statuses, fingerprint_of
from monitor.store.alerts import load_alert_states, recent_events
from monitor.store.db import Store
from monitor.store.identities import save_identity
from monitor.store.intents import acknowledged, active_pause, add_intent, finished_since
from monitor.store.outbox import recent_deliveries
from monitor.store.readings import append_readings, latest_reading
from monitor.values import AlertTerms, LiveVerdict, Snapshot
from monitor.who import who_am_i
from probes.values import Identity, Reading, Target

ASKED_S = 60.0
"""How long it is told what became of a sweep that somebody asked for."""
URGENT = frozenset({LiveVerdict.ABOVE, LiveVerdict.INSIDE})
"""Endpoints with these verdicts are looked at first, so their charts come first."""


class StoreFeed:
    """Snapshots of a store; `readings` is another one where this process scrapes for itself."""

    def __init__(self, loaded: Loaded, store: Store, readings: Store | None = None) -> None:
        self._loaded = loaded
        self._store = store
        self._readings = readings if readings is not None else store
        self._local = readings is not None
        self._histories = Histories(self._readings, [e.name for e in loaded.config.endpoint])
        self._viewed = ViewedReadings(self._readings, len(loaded.config.endpoint))
        self._cells = ToldCells(store)
        self._building: asyncio.Task[Snapshot] | None = None

    async def snapshot(self) -> Snapshot:
        """Built in a thread: a busy disk must not freeze the screen. Whoever asks while one is built gets that one.

        A thread cannot be stopped: somebody who gave up waiting and asks again would have a second one beside it.
        """
        if self._building is None:
            self._building = asyncio.create_task(asyncio.to_thread(self._build))
            self._building.add_done_callback(self._built)
        return await asyncio.shield(self._building)

    def _built(self, task: asyncio.Task[Snapshot]) -> None:
        self._building = None
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not complain where nobody waits any more

    def _build(self) -> Snapshot:
        now_s = time.time()
        config, store = self._loaded.config, self._store
        sweeps = told_sweeps(store, (pool_of(e) for e in config.endpoint))
        holder = holder_of(daemon_lock_path(self._loaded.store_path))
        paused = active_pause(store, now_s)
        alerts = tuple(load_alert_states(store).values())
        statuses = all_statuses(config, store, self._viewed, now_s)
        return Snapshot(
            at_s=now_s,
            endpoints=statuses,
            history=self._histories.read(now_s, {s.name for s in statuses if s.verdict in URGENT}),
            sweeps=tuple(sweeps),
            cells=self._cells.read(sweeps),
            alerts=alerts,
            events=tuple(recent_events(store, 50)),
            deliveries=tuple(recent_deliveries(store, 50)),
            mode="daemon" if holder is not None else "local" if self._local else "daemon_gone",
            daemon=str(holder) if holder is not None else "",
            paused_until_s=paused[0] if paused is not None else None,
            pause_reason=paused[1] if paused is not None else "",
            next_sweep_at_s=self._next_sweeps(now_s) if holder is not None else {},
            terms=AlertTerms(
                tolerated_loss_pct=config.alerts.tolerated_loss_pct,
                clear_loss_pct=config.alerts.clear_loss_pct,
                keep_firing_for_s=config.alerts.keep_firing_for_s,
            ),
            unrestored=unrestored(config, self._loaded.store_path, watched=holder is not None),
            acks=acknowledged(store, [a.alert_id for a in alerts if a.alert_id is not None]),
            unprobed=frozenset(pool_of(e) for e in config.endpoint)
            - {pool_of(e) for e in config.endpoint if e.probe is not None},
            asked=tuple(finished_since(store, "sweep", now_s - ASKED_S)),
        )

    def _next_sweeps(self, now_s: float) -> dict[str, float]:
        due: dict[str, float] = {}
        for endpoint in self._loaded.config.endpoint:
            if endpoint.probe is not None and endpoint.probe.schedule is not None:
                at = next_fire(endpoint.probe.schedule, endpoint.probe.timezone, datetime.fromtimestamp(now_s, UTC))
                if at is not None:
                    due[pool_of(endpoint)] = at.timestamp()
        return due

    async def request(self, kind: str, subject: str, reason: str, args: Mapping[str, object]) -> str:
        """Leave an intent for the daemon; a sweep needs one, an abort reaches the sweep process by itself."""
        if kind == "sweep" and holder_of(daemon_lock_path(self._loaded.store_path)) is None:
            raise RuntimeError("no daemon is running to start it; use `specwatch sweep` in another terminal")
        user, host = who_am_i()
        add_intent(
            self._store,
            kind=kind,
            subject=subject,
            who=user,
            host=host,
            created_at_s=time.time(),
            reason=reason,
            args=dict(args),
        )
        return {
            "sweep": f"asked the daemon to sweep {subject}; its gate decides",
            "abort": f"asked the sweep of {subject} to stop",
            "ack": "acknowledged: everybody sees that you look after this alert",
        }.get(kind, f"noted: {kind} {subject}")


class LocalScraper:
    """Scrapes into a private store while the dashboard is open. Raises ConfigError where a secret cannot be read."""

    def __init__(self, loaded: Loaded, readings: Store) -> None:
        self._loaded = loaded
        self._readings = readings
        self._endpoints = {e.name: e for e in loaded.config.endpoint}
        self._targets: dict[str, Target] = {e.name: endpoint_target(e) for e in loaded.config.endpoint}

    async def run(self) -> None:
        """Until cancelled."""
        scrape = self._loaded.config.scrape
        await ScrapeLoops(
            self._targets,
            interval_s=scrape.interval_s,
            timeout_s=scrape.timeout_s,
            max_bytes=scrape.max_page_bytes,
            gzip=scrape.gzip,
            on_reading=self._keep,
            on_identity=self._know,
        ).run()

    def _keep(self, reading: Reading) -> None:
        append_readings(self._readings, [reading], {})

    def _know(self, name: str, identity: Identity) -> None:
        newest = latest_reading(self._readings, name)
        print_ = fingerprint_of(self._endpoints[name], identity, newest.reading if newest is not None else None)
        if print_ is not None:
            save_identity(self._readings, name, time.time(), identity, print_)
