"""A simulated server in virtual time that was swept and then carries traffic which a test lets drift; no sockets.

Its pages go through the engine adapter into a store, and every 15 s the daemon's evaluation runs over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from monitor.config.model import Config
from monitor.service.alerting import evaluate_alerts
from monitor.service.statuses import StoredReadings, all_statuses
from monitor.store.alerts import recent_events
from monitor.store.db import Store
from monitor.store.identities import save_identity
from monitor.store.readings import append_readings
from monitor.values import AlertEvent, EndpointStatus
from probes.answer_values import Axis
from probes.crossover import cells_to_points, estimate
from probes.crossover.whole import completed
from probes.engines.detect import look, new_parser
from probes.sim.engine import Engine
from probes.sim.metrics_page import PageState, render
from probes.sim.model import PROMPT_TOKENS
from probes.sim.request import Request
from probes.sim.spec import SimSpec
from probes.sim.truth import ClosedLoop, throughput_tok_s
from probes.values import Cell, Identity, Reading
from tests.support.stored_sweeps import begun, measured
from tests.support.sweep_cells import cell

START_S = 1_800_000_000.0
SCRAPE_S = 5.0
EVALUATE_S = 15.0
LADDER = (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96)
REQUEST_STEPS = 20_000
"""Half a percent of sampling error per point."""
ON = SimSpec(k=3, crossover=24.0, start_noise=0.0, step_noise=0.0, prefix_caching=False, time_scale=4.0)
OFF = replace(ON, k=0)


@cache
def swept_cells() -> tuple[Cell, ...]:
    """What a sweep of both servers measures, without noise."""
    cells: list[Cell] = []
    for spec in (OFF, ON):
        accepted = sum(spec.acceptance[: spec.k])
        for clients in LADDER:
            tok_s = throughput_tok_s(spec, clients, request_steps=REQUEST_STEPS)
            drafts = tok_s * 45.0 / (1 + accepted)
            for repeat in range(2):
                cells.append(
                    cell(
                        spec.arm,
                        clients,
                        repeat,
                        len(cells),
                        output_tok_s=tok_s,
                        prompt_tokens_mean=float(PROMPT_TOKENS),
                        output_tokens_mean=spec.mean_output_tokens,
                        prefix_hit_ratio=0.0,
                        drafts=drafts if spec.k else None,
                        draft_tokens=drafts * spec.k if spec.k else None,
                        accepted_tokens=drafts * accepted if spec.k else None,
                        k=spec.k or None,
                        engine_count=1,
                        steps=None,
                        notes=(),
                    )
                )
    return tuple(cells)


def store_sweep(store: Store, cells: Sequence[Cell], fingerprint: str) -> None:
    """The answer of those cells, as the sweep process leaves it."""
    arm_k = {"off": None, "k3": 3}
    found = estimate(cells_to_points(cells), baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    sweep = begun(store, START_S - 7200.0)
    measured(store, sweep, START_S - 3600.0, completed(found, cells, arm_k), arm_k, fingerprint=fingerprint)


@dataclass
class Production:
    """The server with speculation under closed-loop traffic, scraped and judged as time goes on."""

    config: Config
    store: Store
    clients: int
    spec: SimSpec = ON
    prompt_tokens: int = PROMPT_TOKENS
    now_s: float = 0.0
    seen: list[EndpointStatus] = field(default_factory=list)

    def __post_init__(self) -> None:
        save_identity(self.store, "chat", START_S, Identity(version=self.spec.version, model_root="m"), "f1")
        store_sweep(self.store, swept_cells(), "f1")
        self._engine = Engine(self.spec)
        self._parser = new_parser()
        self._loop = ClosedLoop(self._engine, self.clients, self._request)

    def _request(self, now_s: float) -> Request:
        return Request(self.prompt_tokens, 4096 - self.prompt_tokens, self._engine.natural_stop(), now_s)

    def drift(self, *, acceptance: tuple[float, ...] | None = None, prompt_tokens: int | None = None) -> None:
        """Let other traffic come from now on; the server itself, its counters included, stays."""
        self.prompt_tokens = prompt_tokens or self.prompt_tokens
        if acceptance is not None:
            counters = self._engine.counters
            self._engine = Engine(replace(self.spec, acceptance=acceptance))
            self._engine.counters = counters
            then_s = self._loop.now_s
            self._loop = ClosedLoop(self._engine, self.clients, self._request)
            self._loop.now_s = then_s

    def run(self, seconds: float) -> EndpointStatus:
        """Let it serve for so long; the last status."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += SCRAPE_S
            while self._loop.now_s < self.now_s:
                self._loop.step()
            append_readings(self.store, [self._page()], {})
            if self.now_s % EVALUATE_S == 0:
                self.seen.append(self._evaluate())
        return self.seen[-1]

    def events(self) -> list[AlertEvent]:
        """What was told so far, oldest first."""
        return recent_events(self.store, 50)[::-1]

    def _evaluate(self) -> EndpointStatus:
        at_s = START_S + self.now_s
        statuses = all_statuses(self.config, self.store, StoredReadings(self.store), at_s)
        evaluate_alerts(self.config, self.store, statuses, at_s)
        return statuses[0]

    def _page(self) -> Reading:
        body = render(self.spec, [self._engine], PageState(started_at_s=START_S - 9000.0, answered={}))
        found = look(body, self._parser)
        assert found.facts is not None
        return found.facts.reading("chat", START_S + self.now_s, self.now_s, found.state)
