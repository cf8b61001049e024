"""Joins readings, identities and crossovers into the status of every endpoint; reads the store, decides nothing.

Two sources of readings: a store (daemon, viewers) and memory (`once`, which must not write).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from monitor.config.model import Config, EndpointConfig, ProbeConfig
from monitor.config.targets import parse_duration, pool_of
from monitor.live_mix import MIX_SPAN_S, NEWEST_SPAN_S, newest_mix
from monitor.now_values import LiveMix
from monitor.service.locks import holder_of, sweep_lock_path
from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.store.db import Store
from monitor.store.identities import load_identity
from monitor.store.readings import latest_reading, live_spans, load_readings
from monitor.store.sweeps import latest_crossover, sweeps_since
from monitor.values import GATE_PHASE, EndpointStatus, StoredCrossover, StoredReading, SweepRecord
from probes.scrape.fingerprint import fingerprint
from probes.scrape.rates import restarted
from probes.values import Identity, Reading, State


class Readings(Protocol):
    """Where recent readings and identities come from."""

    def window(self, endpoint: str, since_s: float) -> Sequence[StoredReading]:
        """Oldest first; the newest one is included even where it is older."""
        ...

    def stretch(self, endpoint: str, since_s: float, newest_s: float) -> tuple[Reading, Reading, Reading] | None:
        """First and last page of the newest stretch of own traffic, no sweep and no server start in between, and before
        the last its first page of at most `newest_s` seconds earlier."""
        ...

    def identity(self, endpoint: EndpointConfig) -> tuple[Identity | None, str | None]:
        """The server's identity and fingerprint, where known."""
        ...


@dataclass(frozen=True, slots=True)
class StoredReadings:
    """Readings that a daemon wrote."""

    store: Store

    def window(self, endpoint: str, since_s: float) -> Sequence[StoredReading]:
        found = load_readings(self.store, endpoint, since_s)
        if not found:
            newest = latest_reading(self.store, endpoint)
            return [newest] if newest is not None else []
        return found

    def stretch(self, endpoint: str, since_s: float, newest_s: float) -> tuple[Reading, Reading, Reading] | None:
        spans = live_spans(self.store, endpoint, since_s, 1)
        if not spans:
            return None
        first_s, last_s = spans[0]
        lately = live_spans(self.store, endpoint, max(first_s, last_s - newest_s), 1)
        instants = (first_s, lately[0][0] if lately else first_s, last_s)
        pages = [r.reading for at_s in instants for r in load_readings(self.store, endpoint, at_s, at_s)]
        return (pages[0], pages[1], pages[2]) if len(pages) == len(instants) else None

    def identity(self, endpoint: EndpointConfig) -> tuple[Identity | None, str | None]:
        found = load_identity(self.store, endpoint.name)
        return (found[0], found[1]) if found is not None else (None, None)


class MemoryReadings:
    """Readings held in this process only: `once` writes nothing."""

    def __init__(self, keep: int = 2000) -> None:
        self._keep = keep
        self._readings: dict[str, deque[StoredReading]] = {}
        self._identities: dict[str, Identity] = {}

    def add(self, reading: Reading, sweep_id: int | None = None) -> None:
        """Remember one reading."""
        self._readings.setdefault(reading.endpoint, deque(maxlen=self._keep)).append(StoredReading(reading, sweep_id))

    def add_identity(self, endpoint: str, identity: Identity) -> None:
        """Remember what a server said of itself."""
        self._identities[endpoint] = identity

    def window(self, endpoint: str, since_s: float) -> Sequence[StoredReading]:
        held = self._readings.get(endpoint, ())
        return [r for r in held if r.reading.at_s >= since_s] or list(held)[-1:]

    def stretch(self, endpoint: str, since_s: float, newest_s: float) -> tuple[Reading, Reading, Reading] | None:
        good = [r.reading for r in self.window(endpoint, since_s) if r.reading.state is State.OK]
        if len(good) < 2:
            return None
        return good[0], next(page for page in good if page.at_s >= good[-1].at_s - newest_s), good[-1]

    def identity(self, endpoint: EndpointConfig) -> tuple[Identity | None, str | None]:
        identity = self._identities.get(endpoint.name)
        if identity is None:
            return None, None
        good = (r.reading for r in reversed(self._readings.get(endpoint.name, ())) if r.reading.state is State.OK)
        return identity, fingerprint_of(endpoint, identity, next(good, None))


def fingerprint_of(endpoint: EndpointConfig, identity: Identity, reading: Reading | None) -> str | None:
    """The fingerprint of what the endpoint serves now; None until a page and the model are known."""
    if reading is None or identity.model_root is None:
        return None
    return fingerprint(identity, reading.cache_config, endpoint.hardware, endpoint.revision)


def live_settings(config: Config) -> LiveSettings:
    """The live part of the config in seconds."""
    return LiveSettings(
        live_window_s=config.scrape.live_window_s,
        stale_after_s=config.scrape.stale_after_s,
        max_age_s=parse_duration(config.alerts.max_age),
        tolerated_loss_pct=config.alerts.tolerated_loss_pct,
    )


def all_statuses(config: Config, store: Store | None, readings: Readings, now_s: float) -> tuple[EndpointStatus, ...]:
    """The status of every configured endpoint, in the file's order."""
    return tuple(each_status(config, store, readings, now_s))


def each_status(config: Config, store: Store | None, readings: Readings, now_s: float) -> Iterator[EndpointStatus]:
    """The same one at a time: one takes up to tens of milliseconds, between which a loop can do its other work."""
    settings = live_settings(config)
    sweeps = sweeps_in_force(config, store, now_s) if store is not None else []
    ended = sweeps_since(store, now_s - MIX_SPAN_S) if store is not None else []
    for endpoint in config.endpoint:
        pool = pool_of(endpoint)
        held = readings.window(endpoint.name, now_s - settings.live_window_s)
        identity, print_ = readings.identity(endpoint)
        sweep = sweep_in_force(config, endpoint, sweeps, now_s)
        probe = endpoint.probe or pool_probe(config, pool)
        yield endpoint_status(
            EndpointInputs(
                name=endpoint.name,
                pool=pool,
                declared_live_arm=probe.live_arm if probe is not None else None,
                declared_baseline=probe.baseline if probe is not None else None,
                readings=held,
                identity=identity,
                fingerprint=print_,
                crossover=newest_crossover(store, pool, print_),
                sweep_id=sweep.id if sweep is not None else None,
                settled_at_s=_settled_at_s(config, sweep) if sweep is not None else None,
                mix=_mix(readings, endpoint.name, held, _own_since_s(config, endpoint, ended, now_s)),
            ),
            settings,
            now_s,
        )


def _mix(readings: Readings, endpoint: str, held: Sequence[StoredReading], since_s: float) -> LiveMix | None:
    """The live mix of the server that runs now; one that has just started has not shown its own yet."""
    stretch = readings.stretch(endpoint, since_s, NEWEST_SPAN_S)
    newest = next((r.reading for r in reversed(held) if r.reading.state is State.OK), None)
    if stretch is None or newest is None or (newest.at_s > stretch[2].at_s and restarted(stretch[2], newest)):
        return None
    return newest_mix(*stretch)


def _own_since_s(config: Config, endpoint: EndpointConfig, sweeps: Sequence[SweepRecord], now_s: float) -> float:
    """Since when an endpoint has had nothing but its own traffic, as far back as the mix looks.

    Readings say so themselves in a daemon's store; those that a viewer took for itself do not.
    """
    since_s = now_s - MIX_SPAN_S
    settle_s = max((e.probe.settle_s for e in config.endpoint if e.probe is not None), default=0.0)
    for sweep in sweeps:
        if sweep.ended_at_s is not None and sweep_on(config, endpoint, [sweep], sweep.ended_at_s) is not None:
            since_s = max(since_s, sweep.ended_at_s + settle_s)
    return since_s


def pool_probe(config: Config, pool: str) -> ProbeConfig | None:
    """What the pool's probing endpoint declares of its arms."""
    return next((e.probe for e in config.endpoint if e.probe is not None and pool_of(e) == pool), None)


def newest_crossover(store: Store | None, pool: str, print_: str | None) -> StoredCrossover | None:
    """The newest answer for this very server, else the pool's newest of any kind (shown, then not compared)."""
    if store is None:
        return None
    return latest_crossover(store, pool, print_) or latest_crossover(store, pool, None)


def sweeps_in_force(config: Config, store: Store, now_s: float) -> list[SweepRecord]:
    """Sweeps that load servers now or whose load has not settled yet. One that was killed holds no lock any more."""
    settle_s = max((e.probe.settle_s for e in config.endpoint if e.probe is not None), default=0.0)
    return [
        sweep
        for sweep in sweeps_since(store, now_s - settle_s)
        if sweep.ended_at_s is not None or holder_of(sweep_lock_path(store.path, sweep.pool)) is not None
    ]


def sweep_on(config: Config, endpoint: EndpointConfig, sweeps: Sequence[SweepRecord], now_s: float) -> int | None:
    """The sweep that loads this endpoint's server now, or did within its settle time."""
    found = sweep_in_force(config, endpoint, sweeps, now_s)
    return found.id if found is not None else None


def sweep_in_force(
    config: Config, endpoint: EndpointConfig, sweeps: Sequence[SweepRecord], now_s: float
) -> SweepRecord | None:
    """The same as it is stored."""
    for sweep in sweeps:
        probing = next((e for e in config.endpoint if e.name == sweep.endpoint), None)
        if probing is None or probing.probe is None:
            continue
        ended_s = sweep.ended_at_s
        if ended_s is not None and now_s - ended_s > probing.probe.settle_s:
            continue
        if sweep.outcome == "refused" or (sweep.progress is not None and sweep.progress.phase == GATE_PHASE):
            continue
        servers = {server_of(arm.url or probing.url) for arm in probing.arm}
        if server_of(endpoint.url) in servers:
            return sweep
    return None


def _settled_at_s(config: Config, sweep: SweepRecord) -> float | None:
    """When the settle time of a sweep is over; None while it runs."""
    settle_s = next((e.probe.settle_s for e in config.endpoint if e.name == sweep.endpoint and e.probe), 0.0)
    return None if sweep.ended_at_s is None else sweep.ended_at_s + settle_s


def server_of(url: str) -> tuple[str, int, str]:
    """Host, port and path of an address, so that two spellings of one server are one."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return ("127.0.0.1" if host in ("localhost", "::1") else host, port, parts.path.rstrip("/"))
