"""Whether the load was the one asked for, and whether our own client was what limited it; pure."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, stdev

from probes.load.records import Ending
from probes.sweep.evidence import Evidence
from probes.sweep.judge_server import GAUGE_SAMPLES_MIN
from probes.sweep.totals import in_system
from probes.values import Cell, Reason

FILLED_MIN = 0.90
"""Measured concurrency over clients: below it the rung was not reached."""
GAUGE_APART_MAX = 0.15
"""Polled gauges against Little's law; polling waves that move in step reads up to 20% low."""
GAUGE_APART_REQUESTS = 0.5
"""Slack of that check: at one or two clients a few polls between requests are chance."""
GAUGE_ERRORS = 2.0
"""Standard errors of the polled mean that are chance: answers of one length keep clients in step, and a poll between
their requests misses all of them at once."""
LAG_MAX_MS = 50.0
LAG_OF_REQUEST_MAX = 0.10
"""Loop lag, or delay before sending, above both 50 ms and this share of a request's time held streams back."""
CPU_SHARE_MAX = 0.90
"""Of one core: from here on a busier server could not be seen."""


def concurrency(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """What was in the system, against the clients asked for and against the server's gauges."""
    if cell.concurrency is None or not cell.engine_count:
        return
    held = cell.concurrency * cell.engine_count
    if held < FILLED_MIN * cell.rung:
        text = f"on average only {held:.1f} of {cell.rung} clients had a request in the system"
        yield Reason("concurrency_mismatch", text)
    polled = [load for r in evidence.samples if (load := in_system(r)) is not None]
    if len(polled) < GAUGE_SAMPLES_MIN:
        return
    gauge = mean(polled)
    # A report of a prefill leaves out the requests that it lets in, and SGLang's stands until the next report.
    least = 0.0 if evidence.is_sglang else held * (1.0 - _hidden_share(evidence))
    below, above = least - gauge, gauge - held
    chance = GAUGE_ERRORS * stdev(polled) / len(polled) ** 0.5
    if max(below, above) > max(GAUGE_APART_MAX * held, GAUGE_APART_REQUESTS) + chance:
        text = f"the server's gauges say {gauge:.1f} requests in the system, request times say {held:.1f}"
        yield Reason("concurrency_mismatch", text)


def _hidden_share(evidence: Evidence) -> float:
    """Share of a request's time that a gauge may miss: vLLM reports at a step's end, so a request can stay unseen
    until its first token. Matters for long prompts with short answers."""
    timed = [
        (r.first_s - r.sent_s, r.end_s - r.sent_s)
        for r in evidence.uncut
        if r.ending is Ending.OK and r.sent_s is not None and r.first_s is not None
    ]
    whole_s = sum(whole for _, whole in timed)
    return sum(first for first, _ in timed) / whole_s if whole_s > 0 else 0.0


def client_limit(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Signs that a faster client would have measured something else. Past saturation tok/s still looks right, so the
    rate is no sign."""
    late_ms = max(LAG_MAX_MS, LAG_OF_REQUEST_MAX * (cell.e2e.p50_ms or 0.0))
    if cell.window_s is not None and (cell.loop_lag_p99_ms is None or cell.client_cpu_share is None):
        yield Reason("client_limit", "how our own client did is not known, so that it may have been the limit")
    lag, dispatch = cell.loop_lag_p99_ms, cell.dispatch_p99_ms
    if lag is not None and lag > late_ms:
        text = f"our own event loop was {lag:.0f} ms late (p99): this machine is too slow or busy"
        yield Reason("client_limit", text)
    if cell.client_cpu_share is not None and cell.client_cpu_share > CPU_SHARE_MAX:
        yield Reason("client_limit", f"the load client used {cell.client_cpu_share:.0%} of a core")
    if dispatch is not None and dispatch > late_ms:
        yield Reason("client_limit", f"our requests were on the wire {dispatch:.0f} ms late (p99)")
    if cell.in_flight_mean is None or cell.concurrency is None or not cell.engine_count:
        return
    stuck = cell.in_flight_mean - cell.concurrency * cell.engine_count
    if stuck > (1 - FILLED_MIN) * cell.rung:
        yield Reason("client_limit", f"on average {stuck:.1f} requests waited inside the load client to be sent")
    # After an error a client waits before it asks again, which is not its limit.
    if cell.in_flight_mean < FILLED_MIN * cell.rung and not cell.errors:
        text = f"the load client kept only {cell.in_flight_mean:.1f} of {cell.rung} requests in flight"
        yield Reason("client_limit", text)
