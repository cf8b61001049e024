"""What the dashboard draws from: the store a daemon writes, or (local mode) this process's own scrapes.

Local mode writes nothing anywhere that outlives it: no alert, no scheduled sweep; its readings live in a private file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from monitor.config.load import Loaded
from monitor.config.targets import endpoint_target, pool_of
from monitor.schedule import next_fire
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.service.not_restored import unrestored
from monitor.service.scraping import ScrapeLoops
from monitor.service.statuses import StoredReadings, all_statuses, fingerprint_of
from monitor.store.alerts import load_alert_states, recent_events
from monitor.store.db import Store
from monitor.store.history import history
from monitor.store.identities import save_identity
from monitor.store.intents import acknowledged, active_pause, add_intent, finished_since
from monitor.store.outbox import recent_deliveries
from monitor.store.readings import append_readings, latest_reading
from monitor.store.sweeps import get_sweep, latest_crossover, load_cells, recent_sweeps
from monitor.values import AlertTerms, Snapshot, SweepRecord
from monitor.who import who_am_i
from probes.values import Cell, Identity, Reading, Target

HISTORY_S = 900.0
HISTORY_POINTS = 180
RECENT_SWEEPS = 50
ASKED_S = 60.0
"""How long it is told what became of a sweep that somebody asked for."""


class StoreFeed:
    """Snapshots of a store; `readings` is another one where this process scrapes for itself."""

    def __init__(self, loaded: Loaded, store: Store, readings: Store | None = None) -> None:
        self._loaded = loaded
        self._store = store
        self._readings = readings if readings is not None else store
        self._local = readings is not None
        self._older: dict[int, tuple[Cell, ...]] = {}

    async def snapshot(self) -> Snapshot:
        """Built in a thread: a busy disk must not freeze the screen."""
        return await asyncio.to_thread(self._build)

    def _build(self) -> Snapshot:
        now_s = time.time()
        config, store = self._loaded.config, self._store
        sweeps = self._sweeps()
        holder = holder_of(daemon_lock_path(self._loaded.store_path))
        paused = active_pause(store, now_s)
        alerts = tuple(load_alert_states(store).values())
        return Snapshot(
            at_s=now_s,
            endpoints=all_statuses(config, store, StoredReadings(self._readings), now_s),
            history={
                e.name: tuple(history(self._readings, e.name, now_s - HISTORY_S, HISTORY_POINTS, now_s))
                for e in config.endpoint
            },
            sweeps=tuple(sweeps),
            cells=self._cells(sweeps),
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

    def _sweeps(self) -> list[SweepRecord]:
        """The newest ones, and of each pool the one in force, however many gave no answer since; newest first."""
        recent = recent_sweeps(self._store, RECENT_SWEEPS)
        answered = {sweep.pool for sweep in recent if sweep.result is not None}
        for pool in sorted({pool_of(e) for e in self._loaded.config.endpoint} - answered):
            last = latest_crossover(self._store, pool, None)
            found = get_sweep(self._store, last.sweep_id) if last is not None else None
            recent += [found] if found is not None else []
        return sorted(recent, key=lambda sweep: (sweep.started_at_s, sweep.id), reverse=True)

    def _cells(self, sweeps: Sequence[SweepRecord]) -> dict[int, tuple[Cell, ...]]:
        """Of each pool's newest sweep always; of older ones what was read so far and one more: those do not change.

        Answers first: the one in force is what somebody looks for behind a sweep that gave none.
        """
        sent = [sweep for sweep in sweeps if sweep.outcome != "refused"]
        newest = {sweep.pool: sweep.id for sweep in reversed(sent)}
        older = {s.id: s.result is not None for s in sent if s.id != newest[s.pool]}
        self._older = {sweep_id: cells for sweep_id, cells in self._older.items() if sweep_id in older}
        unread = [sweep_id for sweep_id in older if sweep_id not in self._older]
        for sweep_id in sorted(unread, key=lambda one: not older[one])[:1]:
            self._older[sweep_id] = tuple(load_cells(self._store, sweep_id))
        return self._older | {sweep_id: tuple(load_cells(self._store, sweep_id)) for sweep_id in newest.values()}

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
