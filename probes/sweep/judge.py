"""Says why a cell does not count (void) or counts with a remark (note): stable codes, plain sentences; pure.

Every limit stands below with its reason. Limits are relative to the window, the step or the request time where they
can be, so that a quick look with half-second windows is judged by the same rules as a night's sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import mean, stdev

from probes.load.records import Ending
from probes.scrape.rates import restarted
from probes.sweep.evidence import Evidence
from probes.sweep.totals import in_system
from probes.sweep.verify import arm_reasons
from probes.values import Cell, Reason

ERROR_SHARE_MAX = 0.02
"""Above this share of failed requests the load was not the planned one."""
TOKEN_MISMATCH_MAX = 0.02
"""Server counter against client usage, idle to idle."""
RATES_APART_MAX = 0.10
"""Server counter against client usage inside the window; the client spreads tokens evenly, stalls and short windows
do not, so this is a remark only."""
FILLED_MIN = 0.90
"""Measured concurrency over clients: below it the rung was not reached."""
GAUGE_APART_MAX = 0.15
"""Polled gauges against Little's law; polling waves that move in step reads up to 20% low."""
GAUGE_APART_REQUESTS = 0.5
"""Slack of that check: at one or two clients a few polls between requests are chance."""
GAUGE_ERRORS = 2.0
"""Standard errors of the polled mean that are chance: answers of one length keep clients in step, and a poll between
their requests misses all of them at once."""
GAUGE_SAMPLES_MIN = 8
"""Polls below which the gauges' mean says nothing."""
PREFIX_HITS_MAX = 0.05
"""Every request is salted, so the target is 0."""
ENGINES_APART_MAX = 0.15
LAG_MAX_MS = 50.0
LAG_OF_REQUEST_MAX = 0.10
"""Loop lag above both 50 ms and this share of a request's time held streams back."""
LAG_OF_TTFT_MAX = 0.20
"""Above this share of the median TTFT the latencies are coarse (throughput is the server's own count)."""
CPU_SHARE_MAX = 0.90
"""Of one core: from here on a busier server could not be seen."""
STREAM_TOKENS_MIN = 5.0
"""Tokens per stream in the window: the counter moves in steps, fewer would round by more than 20%."""
KV_FULL = 0.95
PREEMPTED_SHARE = 0.01
"""Preemptions per finished request above which the KV space, not the ladder, sets the running batch."""
WAITING_SHARE = 0.10
"""Waiting requests in every poll, and on average this share of the concurrency: the batch is full."""

Check = Callable[[Cell, Evidence], Iterator[Reason]]


def judge(cell: Cell, evidence: Evidence) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """(void, notes)."""
    void = tuple(reason for check in _VOID for reason in check(cell, evidence))
    arm_void, arm_notes = arm_reasons(cell, evidence)
    notes = tuple(reason for check in _NOTES for reason in check(cell, evidence))
    return (*arm_void, *void), (*arm_notes, *notes)


def _no_window(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if cell.window_s is None:
        yield Reason("no_window", "the metrics page could not be read at the edges of the window")


def _counter_reset(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if any(restarted(a, b) for a, b in pairwise(evidence.readings)):
        yield Reason("counter_reset", "a counter fell: the server restarted, or two servers answer on one address")


def _foreign(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if cell.foreign_requests:
        text = f"{cell.foreign_requests:g} requests that are not ours finished on the server during the cell"
        yield Reason("foreign_traffic", text)


def _errors(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if cell.errors > ERROR_SHARE_MAX * (cell.requests + cell.errors):
        yield Reason("errors", _error_text(cell, evidence))


def _few_errors(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if 0 < cell.errors <= ERROR_SHARE_MAX * (cell.requests + cell.errors):
        yield Reason("few_errors", _error_text(cell, evidence))


def _error_text(cell: Cell, evidence: Evidence) -> str:
    (worst, _count), *_ = Counter(r.error for r in evidence.records if r.ending is Ending.ERROR).most_common(1)
    return f"{cell.errors} of {cell.requests + cell.errors} requests failed; most often: {worst}"


def _usage(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if cell.client_tokens is None:
        text = "the server sends no usage with stream_options.include_usage, so tokens cannot be counted"
        yield Reason("no_usage", text)


def _mismatch(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    ours, theirs = cell.client_tokens, cell.server_tokens
    if ours is None or theirs is None or cell.server_tok_s is None or not evidence.was_idle:
        return
    if cell.foreign_requests or any(r.ending is not Ending.OK for r in evidence.records):
        return
    if abs(ours - theirs) > TOKEN_MISMATCH_MAX * max(ours, theirs):
        text = f"the server counted {theirs:.0f} output tokens over the cell, its answers' usage says {ours}"
        yield Reason("token_mismatch", text)


def _too_few(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if not cell.requests:
        yield Reason("too_few_requests", "no request finished during the cell; max_tokens may be too high for cell_s")
    if cell.window_s is None or cell.output_tok_s is None:
        return
    streams = max(1.0, (cell.concurrency or 0.0) * (cell.engine_count or 1))
    tokens = cell.output_tok_s * cell.window_s
    if tokens < STREAM_TOKENS_MIN * streams:
        text = f"only {tokens:.0f} tokens came out of {streams:.0f} streams in the window; raise cell_s"
        yield Reason("too_few_tokens", text)


def _concurrency(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
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
    least = held * (1.0 - _hidden_share(evidence))
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
        for r in evidence.records
        if r.ending is Ending.OK and r.sent_s is not None and r.first_s is not None
    ]
    whole_s = sum(whole for _, whole in timed)
    return sum(first for first, _ in timed) / whole_s if whole_s > 0 else 0.0


def _prefix(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if cell.prefix_hit_ratio is not None and cell.prefix_hit_ratio > PREFIX_HITS_MAX:
        text = (
            f"{cell.prefix_hit_ratio:.0%} of prompt tokens came from the prefix cache, though every request is salted"
        )
        yield Reason("prefix_hits", text)


def _uneven(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if (cell.engine_count or 1) < 2 or len(evidence.samples) < GAUGE_SAMPLES_MIN:
        return
    loads: dict[str, list[float]] = {}
    for reading in evidence.samples:
        for engine in reading.engines:
            if engine.running is not None:
                loads.setdefault(engine.engine, []).append(engine.running + (engine.waiting or 0.0))
    means = {name: sum(values) / len(values) for name, values in loads.items()}
    if not means:
        return
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if means[high] - means[low] > ENGINES_APART_MAX * sum(means.values()) / len(means):
        text = f"engine {high} held {means[high]:.1f} requests, engine {low} {means[low]:.1f}: more than 15% apart"
        yield Reason("engines_uneven", text)


def _client(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    lag, e2e = cell.loop_lag_p99_ms, cell.e2e.p50_ms
    if lag is not None and lag > max(LAG_MAX_MS, LAG_OF_REQUEST_MAX * (e2e or 0.0)):
        yield Reason(
            "client_limit", f"our own event loop was {lag:.0f} ms late (p99): this machine is too slow or busy"
        )
    if cell.client_cpu_share is not None and cell.client_cpu_share > CPU_SHARE_MAX:
        yield Reason("client_limit", f"the load client used {cell.client_cpu_share:.0%} of a core")
    if cell.in_flight_mean is None or cell.concurrency is None or not cell.engine_count:
        return
    stuck = cell.in_flight_mean - cell.concurrency * cell.engine_count
    if stuck > (1 - FILLED_MIN) * cell.rung:
        yield Reason("client_limit", f"on average {stuck:.1f} requests waited inside the load client to be sent")


def _limited(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    why = []
    if cell.preemptions:
        yield Reason("preemptions", f"the server preempted requests {cell.preemptions:g} times")
        if cell.preemptions > PREEMPTED_SHARE * cell.requests:
            why.append("preemptions")
    if cell.kv_usage_max is not None and cell.kv_usage_max > KV_FULL:
        why.append(f"KV cache {cell.kv_usage_max:.0%} full")
    if _kept_waiting(evidence):
        why.append(f"{cell.waiting_mean:.1f} requests waiting per engine")
    if why:
        yield Reason("limited", f"admission is the limit here: {', '.join(why)}")


def _kept_waiting(evidence: Evidence) -> bool:
    waits = [[engine.waiting or 0.0 for engine in reading.engines] for reading in evidence.samples]
    waiting = [sum(engines) for engines in waits]
    load = sum(in_system(reading) or 0.0 for reading in evidence.samples)
    return len(waiting) >= 3 and min(waiting) >= 1 and sum(waiting) > WAITING_SHARE * load


def _remarks(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    if cell.window_s is not None and cell.server_tok_s is None:
        text = "the server shows no output-token counter that moves with every step; the client's count is used"
        yield Reason("server_counter_missing", text)
    server, client = cell.server_tok_s, cell.client_tok_s
    if server is not None and client is not None and abs(server - client) > RATES_APART_MAX * max(server, client):
        text = f"in the window the server counted {server:.0f} tok/s, the requests' own times say {client:.0f}"
        yield Reason("rates_apart", text)
    if not evidence.was_idle:
        text = "the server was not seen idle before and after the cell, so totals may hold other requests"
        yield Reason("not_idle", text)
    if evidence.cut_off:
        yield Reason("drain_cut_off", f"{evidence.cut_off} requests still ran at the end of the drain and were cut off")
    lag, ttft = cell.loop_lag_p99_ms, cell.ttft.p50_ms
    if lag is not None and ttft is not None and lag > LAG_OF_TTFT_MAX * ttft:
        yield Reason("latency_coarse", f"our event loop was {lag:.0f} ms late (p99), so latencies are coarse")


_VOID: tuple[Check, ...] = (
    _no_window,
    _counter_reset,
    _foreign,
    _errors,
    _usage,
    _mismatch,
    _too_few,
    _concurrency,
    _prefix,
    _uneven,
    _client,
)
_NOTES: tuple[Check, ...] = (_limited, _few_errors, _remarks)
