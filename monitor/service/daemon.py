"""The daemon: scrape, store, evaluate, deliver, schedule, export, until told to stop.

Composition only. Every decision lives elsewhere as a pure function; one failing part is logged and tried again, and
never takes the others down.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from monitor.alerts.channels import Channel, open_channels
from monitor.alerts.outbox import deliver_due
from monitor.config.load import Loaded
from monitor.config.targets import endpoint_target, parse_duration
from monitor.exporter import Exporter
from monitor.service.alerting import evaluate_alerts
from monitor.service.died import settle_dead_sweeps
from monitor.service.lifeline import until_parent_gone
from monitor.service.not_restored import tell_not_restored, unrestored
from monitor.service.restoring import Restoring, restore_orphans
from monitor.service.scheduled import ScheduledSweeps
from monitor.service.scraping import ScrapeLoops
from monitor.service.statuses import StoredReadings, each_status, fingerprint_of, sweep_on, sweeps_in_force
from monitor.service.sweep_child import SweepChildren
from monitor.store.db import Store
from monitor.store.identities import save_identity
from monitor.store.intents import claim_next, finish_intent, pending
from monitor.store.outbox import recent_deliveries
from monitor.store.readings import append_readings
from monitor.store.retention import prune
from monitor.values import Intent
from probes.values import Identity, Reading, State

log = logging.getLogger(__name__)

SERVING = "serving"
"""The event in the log from which on nothing hinders the start any more."""

FLUSH_S = 1.0
PRUNE_S = 3600.0
RESTORE_S = 60.0
RESTORE_FIRST_S = 60.0
"""How long scraping waits for servers to be put back at the daemon's start. One that takes minutes to load its model is
restored all the same, while the daemon already watches the other endpoints."""
INTENT_MAX_AGE_S = 60.0
"""A sweep that was asked for while no daemon ran is not started hours later, when nobody expects load any more."""


class Daemon:
    """One store, one config, all loops."""

    def __init__(self, loaded: Loaded, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._loaded = loaded
        self._config = loaded.config
        self._store = store
        self._clock = clock
        self._pending: list[Reading] = []
        self._newest: dict[str, Reading] = {}
        self._identities: dict[str, tuple[Identity, str]] = {}
        self._endpoints = {e.name: e for e in loaded.config.endpoint}
        self._targets = {e.name: endpoint_target(e) for e in loaded.config.endpoint}
        self._channels: Mapping[str, Channel] = open_channels(loaded.config.channel)
        self._children = SweepChildren(loaded.path, loaded.config)
        self._scheduled = ScheduledSweeps(loaded.config, store, self._children, clock)
        self._exporter = Exporter()
        self._group: asyncio.TaskGroup | None = None
        self._stop: asyncio.Event | None = None
        self._looked = asyncio.Event()
        """The first look for servers to put back is over."""
        self._first = asyncio.Event()
        """An endpoint was read for the first time: nobody should be told for long that nothing is known of it."""
        self._inode = store.path.stat().st_ino
        self._failure = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; then readings in memory are flushed and running sweeps are ended and marked."""
        self._stop = stop
        self._settle()
        scrape = self._config.scrape
        loops = ScrapeLoops(
            self._targets,
            interval_s=scrape.interval_s,
            timeout_s=scrape.timeout_s,
            max_bytes=scrape.max_page_bytes,
            gzip=scrape.gzip,
            on_reading=self._on_reading,
            on_identity=self._on_identity,
        )
        if self._config.serve.metrics_port:
            self._listen(self._config.serve.metrics_host, self._config.serve.metrics_port)
        log.info("event=%s store=%s", SERVING, self._store.path)
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                group.create_task(self._every(RESTORE_S, self._restore), name="restore")
                group.create_task(self._every(FLUSH_S, self._flush), name="flush")
                every_s = self._config.alerts.evaluate_every_s
                group.create_task(self._every(every_s, self._evaluate, self._first), name="evaluate")
                group.create_task(self._every(1.0, self._deliver), name="deliver")
                group.create_task(self._every(PRUNE_S, self._prune), name="prune")
                await self._first_of_all(stop)
                group.create_task(loops.run(), name="scrape")
                group.create_task(self._every(0.5, self._take_intents), name="intents")
                self._scheduled.start(group)
                await stop.wait()
                raise _Stopping
        except* _Stopping:
            pass
        finally:
            self._scheduled.shutdown()
            await self._children.end_all()
            if not self._failure:
                await self._flush()
                settle_dead_sweeps(self._store, self._clock())
                await self._last_words()
            self._exporter.stop()
            for channel in self._channels.values():
                await channel.aclose()
        if self._failure:
            raise OSError(self._failure)

    async def _first_of_all(self, stop: asyncio.Event) -> None:
        """Servers that a dead sweep left are put back before anything else, but the others are not long unwatched."""
        waits = [asyncio.ensure_future(self._looked.wait()), asyncio.ensure_future(stop.wait())]
        try:
            await asyncio.wait(waits, timeout=RESTORE_FIRST_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _listen(self, host: str, port: int) -> None:
        try:
            self._exporter.start(host, port)
        except OSError as error:
            raise OSError(
                f"[serve] metrics_host and metrics_port: {host}:{port} cannot be listened on "
                f"({error.strerror or error}); free it, or choose another port (0 switches the page off)"
            ) from error

    def _same_file(self) -> bool:
        try:
            return self._store.path.stat().st_ino == self._inode
        except OSError:
            return False

    def _settle(self) -> None:
        """Write the end of what an earlier daemon left open."""
        settle_dead_sweeps(self._store, self._clock())
        for intent in pending(self._store, "sweep"):
            if intent.claimed_at_s is not None:
                finish_intent(self._store, intent.id, self._clock(), "exit 1: the daemon that took it died")

    async def _every(
        self, period_s: float, work: Callable[[], Awaitable[None]], wake: asyncio.Event | None = None
    ) -> None:
        """Do it again and again, `wake` sooner."""
        failing = ""
        while True:
            try:
                await work()
                failing = ""
            except Exception as error:
                # One line per distinct fault: a full disk must not fill the log as well.
                text = f"{type(error).__name__}: {error}"
                if text != failing:
                    log.exception("event=loop_failed part=%s", work.__name__.strip("_"))
                    failing = text
            await _rest(period_s, wake)

    def _on_reading(self, reading: Reading) -> None:
        before = self._newest.get(reading.endpoint)
        if before is None or before.state is not reading.state:
            log.info("event=state endpoint=%s state=%s reason=%r", reading.endpoint, reading.state, reading.reason)
        if before is None:
            self._first.set()
        self._newest[reading.endpoint] = reading
        self._pending.append(reading)

    def _on_identity(self, name: str, identity: Identity) -> None:
        endpoint = self._endpoints[name]
        reading = self._newest.get(name)
        print_ = fingerprint_of(endpoint, identity, reading if reading and reading.state is State.OK else None)
        if print_ is not None:
            self._identities[name] = (identity, print_)

    async def _flush(self) -> None:
        if not self._same_file():
            # Writing on would go into a file that nobody else can see.
            self._failure = f"the store {self._store.path} was removed or replaced under the running daemon"
            log.critical("event=store_gone path=%s", self._store.path)
            if self._stop is not None:
                self._stop.set()
            return
        while self._identities:
            name, (identity, print_) = next(iter(self._identities.items()))
            save_identity(self._store, name, self._clock(), identity, print_)
            del self._identities[name]
        if not self._pending:
            return
        readings, self._pending = self._pending, []
        sweeps = sweeps_in_force(self._config, self._store, self._clock())
        tags = {
            name: sweep_on(self._config, endpoint, sweeps, self._clock()) for name, endpoint in self._endpoints.items()
        }
        try:
            append_readings(self._store, readings, tags)
        except Exception:
            # Keep a minute or so for when the disk comes back; older than that is lost, which a gap shows.
            self._pending = (readings + self._pending)[-2000:]
            raise

    async def _evaluate(self) -> None:
        now_s = self._clock()
        # First of all, so that no other part's fault can silence it.
        left = unrestored(self._config, self._store.path, watched=True, newest=self._newest)
        loudest = tell_not_restored(self._config, self._store, left, now_s)
        await self._flush()
        statuses = []
        for status in each_status(self._config, self._store, StoredReadings(self._store), now_s):
            statuses.append(status)
            # A scrape that comes back meanwhile gets its instant: fifty endpoints at once would hold the loop for long.
            await asyncio.sleep(0)
        states = {**evaluate_alerts(self._config, self._store, statuses, now_s), **loudest}
        deliveries = recent_deliveries(self._store, 200)
        self._exporter.update(statuses, states, deliveries, now_s, [one.endpoint for one in left])

    async def _last_words(self) -> None:
        """A sweep that ended with us may have left its server; nobody else would tell of it."""
        left = unrestored(self._config, self._store.path, watched=False, newest=self._newest)
        if left:
            tell_not_restored(self._config, self._store, left, self._clock())
            await self._deliver()

    async def _restore(self) -> None:
        """Put back what dead sweeps left; may take as long as a server takes to start."""
        try:
            # A start may be a reboot or a repair: whatever failed before is tried again without waiting.
            found = await restore_orphans(self._loaded, self._clock(), at_once=not self._looked.is_set())
        finally:
            self._looked.set()
        for one in found:
            if one.state in (Restoring.RESTORED, Restoring.FAILED):
                level = logging.INFO if one.state is Restoring.RESTORED else logging.CRITICAL
                log.log(level, "event=restore endpoint=%s state=%s reason=%r", one.endpoint, one.state, one.reason)

    async def _deliver(self) -> None:
        await deliver_due(self._store, self._channels, self._clock())

    async def _prune(self) -> None:
        # In a thread: the first round after a long pause may take many seconds, and scrapes go on meanwhile.
        keep_s = parse_duration(self._config.store.keep_readings)
        await asyncio.to_thread(prune, self._store, self._clock(), keep_s)

    async def _take_intents(self) -> None:
        settle_dead_sweeps(self._store, self._clock())
        while (intent := claim_next(self._store, "sweep", self._clock())) is not None:
            assert self._group is not None
            self._group.create_task(self._run_intent(intent), name=f"sweep {intent.subject}")

    async def _run_intent(self, intent: Intent) -> None:
        # Above us is the group of all loops: one sweep that cannot be started or noted must not end them.
        try:
            result = await self._sweep_for(intent)
        except Exception as error:
            log.exception("event=intent_failed intent=%s pool=%s", intent.id, intent.subject)
            result = f"exit 1: it could not be started: {error}"
        try:
            finish_intent(self._store, intent.id, self._clock(), result)
        except Exception:
            log.exception("event=intent_not_noted intent=%s pool=%s", intent.id, intent.subject)

    async def _sweep_for(self, intent: Intent) -> str:
        age_s = self._clock() - intent.created_at_s
        if age_s > INTENT_MAX_AGE_S:
            return f"exit 1: no daemon ran when it was asked for, {age_s:.0f} s ago; ask again"
        if self._children.busy(intent.subject):
            return "exit 6: a sweep of this pool is already running; `specwatch stop` ends it"
        arms = intent.args.get("arms", ())
        code = await self._children.run(
            intent.subject,
            trigger="intent",
            who=f"{intent.who}@{intent.host}",
            now=bool(intent.args.get("now")),
            fresh=bool(intent.args.get("fresh")),
            arms=tuple(str(a) for a in arms) if isinstance(arms, list) else (),
            intent=intent.id,
        )
        return f"exit {code}"


async def _rest(period_s: float, wake: asyncio.Event | None) -> None:
    if wake is None:
        await asyncio.sleep(period_s)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(period_s):
            await wake.wait()
            # Others that are read for the first time as well come within the same second.
            await asyncio.sleep(min(FLUSH_S, period_s))
    wake.clear()


class _Stopping(Exception):
    """Ends the task group from inside: a TaskGroup has no cancel of its own."""


async def serve_until_signal(daemon: Daemon, parent: int | None = None) -> None:
    """Run the daemon until SIGTERM, SIGINT, the terminal's end, or that of the process `parent` that started it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Under nohup a hang-up is to be ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop.set)
    if parent is not None:
        lifeline = asyncio.create_task(until_parent_gone(parent))
        lifeline.add_done_callback(lambda _task: stop.set())
    await daemon.run(stop)
