"""Remarks that leave a cell valid: what its numbers rest on, and what a reader should know beside them; pure."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from statistics import fmean

import numpy as np

from probes.answer_values import CurvePoint
from probes.crossover.curves import rungs_of, usable
from probes.sweep.dead_flags import dead_flags
from probes.sweep.evidence import Evidence
from probes.values import Cell, Reason

RATES_APART_MAX = 0.10
"""Server counter against client usage inside the window; the client spreads tokens evenly, stalls and short windows
do not, so this is a remark only."""
LAG_OF_TTFT_MAX = 0.20
"""Above this share of the median TTFT the latencies are coarse (throughput is the server's own count)."""
CAPPED_MAX = 0.50
"""Answers cut at max_tokens are shorter and more alike than users' answers."""
DEGRADED_MIN = 0.07
"""Slower than before by this. Starts of one server differ by 2-3% and cells by 1-2%: two cells are seldom 7% apart."""
SAME_START_S = 0.5

EDGE_SLACK = log(1.03)
"""A rung measured again lies a little beside its first place."""


def remarks(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """What the numbers rest on."""
    if cell.window_s is not None and cell.server_tok_s is None:
        text = "the server shows no output-token counter that moves with every step; the client's count is used"
        yield Reason("server_counter_missing", text)
    if cell.server_tok_s and cell.output_tok_s and cell.output_tok_s != cell.server_tok_s:
        percent = 100 * (cell.output_tok_s / cell.server_tok_s - 1)
        text = f"the answers' usage says {percent:+.1f}% against the server's counter, and usage counts"
        yield Reason("counter_scaled", text)
    elif cell.server_tok_s and evidence.is_sglang and not evidence.is_clean(cell.foreign_requests):
        text = "requests failed, were cut off or were others', so SGLang's counter could not be scaled to usage"
        yield Reason("counter_not_scaled", text)
    server, client = cell.server_tok_s, cell.client_tok_s
    if server is not None and client is not None and abs(server - client) > RATES_APART_MAX * max(server, client):
        text = f"in the window the server counted {server:.0f} tok/s, the requests' own times say {client:.0f}"
        yield Reason("rates_apart", text)
    if not evidence.was_idle:
        text = "the server was not seen idle before and after the cell, so totals may hold other requests"
        yield Reason("not_idle", text)
    if evidence.cut_off:
        yield Reason("drain_cut_off", f"{evidence.cut_off} requests still ran at the end of the drain and were cut off")
    ttft = cell.ttft.p50_ms
    late = max((ms for ms in (cell.loop_lag_p99_ms, cell.dispatch_p99_ms) if ms is not None), default=None)
    if late is not None and ttft is not None and late > LAG_OF_TTFT_MAX * ttft:
        yield Reason("latency_coarse", f"our event loop was {late:.0f} ms late (p99), so latencies are coarse")


def restarted_before(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Another start of the server than the one that the sweep began with."""
    began = evidence.seen.started_at_s if evidence.seen else None
    now = evidence.readings[0].process_start_s if evidence.readings else None
    if began is not None and now is not None and abs(now - began) > SAME_START_S:
        text = "the server was started anew since the sweep began; starts of one server differ by 2-3%"
        yield Reason("restarted_before", text)


def capped(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Most answers hit a plain cap. Where lengths are shaped after live traffic the cap is each request's own."""
    share = cell.capped_share
    if evidence.load.shape is None and share is not None and share > CAPPED_MAX:
        text = f"{share:.0%} of the answers were cut off at {evidence.load.max_tokens} tokens; raise max_tokens"
        yield Reason("capped", text)


def baseline_degraded(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The baseline is slower than in its last sweep, at the same concurrency; both of one engine."""
    if cell.concurrency is None or cell.output_tok_s is None:
        return
    before, now = _earlier_tok_s(evidence.history, cell.concurrency), cell.output_tok_s / (cell.engine_count or 1)
    if before is None or now > (1 - DEGRADED_MIN) * before:
        return
    unit = "tok/s" if (cell.engine_count or 1) == 1 else "tok/s per engine"
    text = (
        f"the baseline is {1 - now / before:.0%} slower than in its last sweep: {now:.0f} {unit} at"
        f" {cell.concurrency:.1f} concurrent, {before:.0f} then; look for what changed on the machine"
    )
    yield Reason("baseline_degraded", text)


def _earlier_tok_s(history: tuple[CurvePoint, ...], concurrency: float) -> float | None:
    """Log-log between the rungs of an earlier curve; None outside of it."""
    rungs = rungs_of([point for point in history if usable(point) and not point.limited])
    if not rungs or concurrency <= 0:
        return None
    log_x = [fmean(log(point.concurrency) for point in rung) for rung in rungs]
    log_y = [fmean(log(point.output_tok_s) for point in rung) for rung in rungs]
    x = log(concurrency)
    if not log_x[0] - EDGE_SLACK <= x <= log_x[-1] + EDGE_SLACK:
        return None
    return exp(float(np.interp(x, log_x, log_y)))


def dead_flag(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The arm was started with a flag that its server ignores."""
    identity = evidence.identity or (evidence.seen.identity if evidence.seen else None)
    for text in dead_flags(evidence.arm.restart, identity.version if identity else None):
        yield Reason("dead_flag", f"in the command of arm {evidence.arm.name}, {text}")
