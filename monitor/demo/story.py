"""The demo's plot: sweep, crossover, traffic climbs, alert, traffic falls, resolution; told from the store alone.

It acts as a user would: it asks for a sweep through an intent and reads the store. It never sees the simulator's
parameters; it only turns the traffic up and down.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from monitor.config.load import Loaded
from monitor.demo.settings import ENDPOINT, POOL
from monitor.service.statuses import StoredReadings, all_statuses
from monitor.store.alerts import recent_events
from monitor.store.db import Store
from monitor.store.intents import add_intent
from monitor.store.sweeps import recent_sweeps
from monitor.units import number
from monitor.values import EndpointStatus, SweepRecord
from monitor.verdict_text import verdict_sentence
from probes.answer_values import Verdict
from probes.http import make_client
from probes.values import State

POLL_S = 0.25
CLIMB_EVERY_S = 0.8
FIRST_READING_S = 5.0


@dataclass(slots=True)
class Told:
    """What has happened so far."""

    measured: bool = False
    crosses: bool = False
    fired: bool = False
    resolved: bool = False
    bodies: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """The whole story; without a crossing there is no alert to tell of."""
        return self.measured and (not self.crosses or (self.fired and self.resolved))


class Story:
    """Tells the story once, or until the time is out."""

    def __init__(self, loaded: Loaded, store: Store, traffic_url: str, say: Callable[[str], None]) -> None:
        self._loaded = loaded
        self._store = store
        self._traffic_url = traffic_url
        self._say = say
        self.told = Told()
        self.now = "Demo: the daemon has just started."
        """What happens at this moment, in one sentence, for somebody who watches the screens."""

    async def first_reading(self) -> None:
        """Until the daemon has read its server once, or for a few seconds: before that the screens call it stale."""
        for _ in range(round(FIRST_READING_S / POLL_S)):
            if self._status().state is not State.STALE:
                return
            await asyncio.sleep(POLL_S)

    async def run(self) -> None:
        """Play it to its end; the caller sets the limit by cancelling. Where it breaks off, the screens say so."""
        try:
            await self._play()
        except Exception as error:
            self.now = f"Demo: over, for it broke off ({error or type(error).__name__}); q ends it."
            raise

    async def _play(self) -> None:
        sweep = await self._sweep()
        arm = next(iter(sweep.result.arms.values())) if sweep.result is not None else None
        if sweep.result is None or arm is None:
            self._say(f"sweep ended without a result: {sweep.outcome}: {sweep.reason}")
            self.now = "Demo: over, for the sweep gave no result; q ends it."
            return
        self.told.measured = True
        self.told.crosses = arm.verdict is Verdict.CROSSES
        self._say(f"sweep measured: {arm.arm} {verdict_sentence(arm, 'concurrent per engine')}")
        if not arm.speedup:
            self._say("no alert: nothing could be compared, so there is nothing to be above of")
            self.now = "Demo: over, for nothing could be compared; q ends it."
            return
        await self._climb(arm.speedup[-1].concurrency)
        await self._fall()

    async def _sweep(self) -> SweepRecord:
        add_intent(
            self._store,
            kind="sweep",
            subject=POOL,
            who="demo",
            host="localhost",
            created_at_s=time.time(),
            reason="demo",
            args={"now": False},
        )
        self._say("asked the daemon for a sweep; its gate watches for live load first")
        self.now = "Demo: a sweep measures both arms, speculation off and on, at rising load; 3 shows it grow."
        shown = ""
        while True:
            await asyncio.sleep(POLL_S)
            newest = next(iter(recent_sweeps(self._store, 1)), None)
            if newest is None:
                continue
            if newest.outcome != "running":
                return newest
            if (progress := newest.progress) is not None and progress.arm is not None:
                line = f"sweep: rung {progress.rung}, {progress.done_cells} of {progress.total_cells} cells done"
                if progress.rung is not None and f"rung {progress.rung}" not in shown:
                    self._say(line + (f", about {progress.eta_s:.0f} s left" if progress.eta_s else ""))
                    shown = line

    def _status(self) -> EndpointStatus:
        statuses = all_statuses(self._loaded.config, self._store, StoredReadings(self._store), time.time())
        return next(s for s in statuses if s.name == ENDPOINT)

    async def _climb(self, top: float) -> None:
        """More and more users, up to nine tenths of what was measured, until the alert fires."""
        clients, limit = 4.0, 0.9 * top
        goal = "until the alert fires" if self.told.crosses else "where no alert is to be expected"
        while True:
            await self._set_traffic(round(clients))
            more = f"; they become more, up to {limit:.0f}" if clients < limit else ""
            self.now = f"Demo: {round(clients)} users talk to {ENDPOINT}{more}, {goal}."
            await asyncio.sleep(CLIMB_EVERY_S)
            self._say(f"traffic: {round(clients)} users; {self._seen()}")
            if self._event("firing"):
                self.told.fired = True
                return
            if clients >= limit:
                if not self.told.crosses:
                    self._say("no alert: the sweep found no crossover up to here")
                    return
                continue
            clients = min(limit, clients * 2.0)

    async def _fall(self) -> None:
        await self._set_traffic(2)
        self._say("traffic falls back to 2 users")
        if self.told.fired:
            self.now = "Demo: the alert fired (4 shows it); traffic fell back to 2 users, so that it resolves."
        while self.told.fired and not self._event("resolved"):
            await asyncio.sleep(CLIMB_EVERY_S)
            self._say(f"traffic: 2 users; {self._seen()}")
        self.told.resolved = self.told.fired
        await self._set_traffic(0)
        ended = "4 shows the alert" if self.told.fired else "no alert, for there is no crossover"
        self.now = f"Demo: over, the traffic has stopped; {ended}; 3 shows the sweep, q ends the demo."

    def _seen(self) -> str:
        status = self._status()
        if status.concurrency is None:
            return f"concurrency unknown ({status.verdict_reason})"
        text = f"concurrency {number(status.concurrency)}, {status.verdict.value}"
        if status.speedup_now is not None:
            text += f", speedup {status.speedup_now.ratio:.2f}x"
        return text

    def _event(self, kind: str) -> bool:
        event = next((e for e in recent_events(self._store, 10) if e.kind == kind), None)
        if event is not None:
            self._say(f"ALERT {kind.upper()}: {event.title}")
        return event is not None

    async def _set_traffic(self, clients: int) -> None:
        async with make_client(timeout_s=5.0) as client:
            answer = await client.post(f"{self._traffic_url}/sim/traffic", json={"clients": clients})
            answer.raise_for_status()
