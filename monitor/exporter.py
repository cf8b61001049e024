"""Our own /metrics page, so that existing Prometheus and Grafana set-ups can use what specwatch knows.

The only importer of prometheus_client; its own registry, filled from the newest evaluation, never from a live query.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from monitor.values import AlertPhase, AlertState, Delivery, EndpointStatus, LiveVerdict
from probes.answer_values import BandPoint
from probes.values import State


class Exporter(Collector):
    """Holds the newest statuses and renders them on request, in the HTTP server's own thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statuses: Sequence[EndpointStatus] = ()
        self._alerts: Mapping[tuple[str, str], AlertState] = {}
        self._unrestored: Sequence[str] = ()
        self._waiting = 0
        self._dead = 0
        self._at_s: float | None = None
        self._server: WSGIServer | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def start(self, host: str, port: int) -> None:
        """Listen; raises OSError where the port is taken."""
        self._server, _thread = start_http_server(port, addr=host, registry=self.registry)

    def stop(self) -> None:
        """Close the port."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def update(
        self,
        statuses: Sequence[EndpointStatus],
        alerts: Mapping[tuple[str, str], AlertState],
        deliveries: Sequence[Delivery],
        now_s: float,
        unrestored: Sequence[str] = (),
    ) -> None:
        """Replace what the page shows; `unrestored` names endpoints whose server was not put back after a sweep."""
        with self._lock:
            self._unrestored = unrestored
            self._statuses, self._alerts, self._at_s = statuses, alerts, now_s
            self._waiting = sum(d.delivered_at_s is None and d.dead_at_s is None for d in deliveries)
            self._dead = sum(d.dead_at_s is not None and not d.superseded for d in deliveries)

    def collect(self) -> Iterable[Metric]:
        """Families in a fixed order; a value that is not known has no sample."""
        with self._lock:
            statuses, alerts, at_s = self._statuses, self._alerts, self._at_s
            waiting, dead, unrestored = self._waiting, self._dead, self._unrestored
        yield from _endpoint_metrics(statuses)
        yield from _crossover_metrics(statuses)
        yield from _as_of_now_metrics(statuses)
        firing = GaugeMetricFamily("specwatch_alert_firing", "1 while the alert fires.", labels=["endpoint", "rule"])
        for (endpoint, rule), state in sorted(alerts.items()):
            firing.add_metric([endpoint, rule], float(state.phase is AlertPhase.FIRING))
        yield firing
        left = GaugeMetricFamily(
            "specwatch_not_restored",
            "1 where a sweep's restart was not undone.",
            labels=["endpoint"],
        )
        for endpoint in sorted({*(status.name for status in statuses), *unrestored}):
            left.add_metric([endpoint], float(endpoint in unrestored))
        yield left
        yield GaugeMetricFamily("specwatch_deliveries_waiting", "Notices not yet delivered.", value=waiting)
        yield GaugeMetricFamily("specwatch_deliveries_dead", "Recent notices given up on.", value=dead)
        if at_s is not None:
            yield GaugeMetricFamily("specwatch_last_evaluation_timestamp_seconds", "Unix time.", value=at_s)


def _endpoint_metrics(statuses: Sequence[EndpointStatus]) -> Iterable[Metric]:
    labels = ["endpoint", "pool"]
    state = GaugeMetricFamily("specwatch_endpoint_state", "1 for the current state.", labels=[*labels, "state"])
    age = GaugeMetricFamily("specwatch_reading_age_seconds", "Age of the newest good reading.", labels=labels)
    load = GaugeMetricFamily(
        "specwatch_concurrency", "Running plus waiting, mean over the live window.", labels=[*labels, "engine"]
    )
    accepted = GaugeMetricFamily("specwatch_acceptance_length_tokens", "1 + accepted / drafts.", labels=labels)
    drafting = GaugeMetricFamily("specwatch_drafting", "1 where speculation drafts.", labels=labels)
    for status in statuses:
        who = [status.name, status.pool]
        for one in State:
            state.add_metric([*who, one.value], float(status.state is one))
        if status.age_s is not None:
            age.add_metric(who, status.age_s)
        for engine in status.engines:
            if engine.concurrency is not None:
                load.add_metric([*who, engine.engine], engine.concurrency)
        if status.acceptance_length is not None:
            accepted.add_metric(who, status.acceptance_length)
        if status.drafting is not None:
            drafting.add_metric(who, float(status.drafting))
    yield from (state, age, load, accepted, drafting)


def _crossover_metrics(statuses: Sequence[EndpointStatus]) -> Iterable[Metric]:
    labels = ["endpoint", "pool"]
    verdict = GaugeMetricFamily(
        "specwatch_verdict", "1 for where the load sits against the crossover.", labels=[*labels, "verdict"]
    )
    crossover = GaugeMetricFamily(
        "specwatch_crossover_concurrency",
        "Crossover per engine; bound is value, low or high.",
        labels=[*labels, "arm", "bound"],
    )
    age = GaugeMetricFamily("specwatch_crossover_age_seconds", "Since it was measured.", labels=[*labels, "arm"])
    speedup = GaugeMetricFamily(
        "specwatch_speedup_ratio", "Live arm over baseline at the live concurrency.", labels=[*labels, "bound"]
    )
    headroom = GaugeMetricFamily("specwatch_headroom_ratio", "Crossover's lower edge over live.", labels=labels)
    for status in statuses:
        who = [status.name, status.pool]
        for one in LiveVerdict:
            verdict.add_metric([*who, one.value], float(status.verdict is one))
        if (now := status.crossover) is not None:
            age.add_metric([*who, now.for_arm], now.age_s)
            for bound, value in (("value", now.value), ("low", now.low), ("high", now.high)):
                if value is not None:
                    crossover.add_metric([*who, now.for_arm, bound], value)
        _add_point(speedup, who, status.speedup_now)
        if status.headroom is not None:
            headroom.add_metric(who, status.headroom)
    yield from (verdict, crossover, age, speedup, headroom)


def _as_of_now_metrics(statuses: Sequence[EndpointStatus]) -> Iterable[Metric]:
    labels = ["endpoint", "pool"]
    decides = GaugeMetricFamily(
        "specwatch_as_of_now_decides",
        "1 where verdict and alert go by the crossover as of now, 0 where by the sweep's.",
        labels=labels,
    )
    crossover = GaugeMetricFamily(
        "specwatch_crossover_now_concurrency",
        "Crossover per engine at the live acceptance and mix; bound is value, low or high.",
        labels=[*labels, "arm", "bound"],
    )
    break_even = GaugeMetricFamily(
        "specwatch_break_even_acceptance_tokens",
        "Acceptance length at which the arm equals the baseline at the live concurrency.",
        labels=[*labels, "arm", "bound"],
    )
    swept = GaugeMetricFamily("specwatch_acceptance_swept_tokens", "What the sweep had.", labels=[*labels, "arm"])
    mix = GaugeMetricFamily(
        "specwatch_mix_tokens", "Mean computed prompt and answer tokens of live requests.", labels=[*labels, "kind"]
    )
    observed = GaugeMetricFamily(
        "specwatch_observed_speedup_ratio",
        "Live output over what the baseline would make at the live concurrency and mix.",
        labels=[*labels, "bound"],
    )
    for status in statuses:
        if (now := status.as_of_now) is None:
            continue
        who = [status.name, status.pool]
        decides.add_metric(who, float(now.decides))
        for bound, value in (("value", now.value), ("low", now.low), ("high", now.high)):
            if value is not None:
                crossover.add_metric([*who, now.for_arm, bound], value)
        _add_point(break_even, [*who, now.for_arm], now.break_even)
        if now.acceptance_measured is not None:
            swept.add_metric([*who, now.for_arm], now.acceptance_measured)
        if now.mix is not None:
            mix.add_metric([*who, "prompt"], now.mix.mix.prompt_tokens)
            mix.add_metric([*who, "output"], now.mix.mix.output_tokens)
        _add_point(observed, who, now.observed)
    yield from (decides, crossover, break_even, swept, mix, observed)


def _add_point(family: GaugeMetricFamily, labels: list[str], point: BandPoint | None) -> None:
    if point is not None:
        for bound, value in (("value", point.ratio), ("low", point.low), ("high", point.high)):
            family.add_metric([*labels, bound], value)
