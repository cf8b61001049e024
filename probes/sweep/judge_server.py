"""What the server did wrong in a cell, or did for others: restarts, foreign traffic, errors, odd counts; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from probes.load.records import Ending
from probes.scrape.rates import restarted
from probes.sweep.evidence import Evidence
from probes.sweep.sameness import Seen, arm_changed
from probes.values import Cell, Reason

ERROR_SHARE_MAX = 0.02
"""Above this share of failed requests the load was not the planned one."""
TOKEN_MISMATCH_MAX = 0.02
"""Server counter against client usage, idle to idle."""
FOREIGN_PROMPT_SLACK = 1.0
"""Prompt tokens for each request of ours: some servers count a start token that usage leaves out."""
PAGE_UNKNOWN = 64.0
"""SGLang counts whole pages of each prompt; a page's size before its page shows it."""
SGLANG_ENDS_APART = (1.0, 2.0)
"""Tokens of each answer, and tokens times K if that is more, by which SGLang's counter of decode steps is off. It
leaves out the first token, takes in what the last step drafted beyond the end (up to K) and, with steps overlapped, a
whole step more (up to K + 1)."""
BLOCK_UNKNOWN = 16.0
PREFIX_OFF_MAX = 0.05
"""Share of prompt tokens by which the prefix cache may be off its target."""
TEMPLATE_TOKENS_MAX = 80.0
"""Most that a chat template puts before the first word of any request, where no salt can reach: role marks, a date, a
default system prompt (5 blocks; Llama 3 has 36 tokens, gpt-oss about 70). It hits for users as it does for us."""
RATES_CONTRADICT = 2.0
"""Server counter over client usage inside the window, or the reverse. The client spreads a request's tokens evenly;
windows shorter than one request read up to 1.5 times apart."""
STREAM_TOKENS_MIN = 5.0
"""Tokens per stream in the window: the counter moves in steps, fewer would round by more than 20%."""
ENGINES_APART_MAX = 0.15
GAUGE_SAMPLES_MIN = 8
"""Polls below which a gauge's mean says nothing."""


def no_window(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The page could not be read where it had to be."""
    if cell.window_s is None:
        yield Reason("no_window", "the metrics page could not be read at the edges of the window")


def counter_reset(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Another process answered, or two."""
    if any(restarted(a, b) for a, b in pairwise(evidence.readings)):
        text = "a counter fell, or the page is another process's: the server restarted, or two answer on one address"
        yield Reason("counter_reset", text)


def changed(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The server is not the one that the sweep began with."""
    if evidence.seen is None or not evidence.readings:
        return
    identity = evidence.identity or evidence.seen.identity
    k = identity.k if cell.k is None else cell.k
    # SGLang shows the K in force, and adaptive speculation changes that as it runs.
    now = Seen(identity, evidence.readings[-1].cache_config, None if evidence.is_sglang else k)
    if difference := arm_changed(evidence.seen, now):
        what, before, after = difference
        text = f"the server is not the one the sweep began with: its {what} was {before} and is {after}"
        yield Reason("server_changed", text)


def foreign(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Requests or prompt tokens that were not ours, by the counters from idle to idle."""
    if cell.foreign_requests:
        text = f"{cell.foreign_requests:g} requests that are not ours finished on the server during the cell"
        yield Reason("foreign_traffic", text)
        return
    tokens = cell.foreign_prompt_tokens
    slack = FOREIGN_PROMPT_SLACK
    if evidence.is_sglang:
        slack += _block_tokens(evidence, PAGE_UNKNOWN) - 1
    # Some engines count a preempted request's prompt again.
    if tokens is not None and not cell.preemptions and tokens > slack * len(evidence.records):
        text = f"the server read {tokens:.0f} prompt tokens that are not ours during the cell"
        yield Reason("foreign_traffic", text)


def errors(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Too many requests failed."""
    if cell.errors > ERROR_SHARE_MAX * (cell.requests + cell.errors):
        yield Reason("errors", _error_text(cell, evidence))


def few_errors(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Some requests failed."""
    if 0 < cell.errors <= ERROR_SHARE_MAX * (cell.requests + cell.errors):
        yield Reason("few_errors", _error_text(cell, evidence))


def _error_text(cell: Cell, evidence: Evidence) -> str:
    (worst, _count), *_ = Counter(r.error for r in evidence.records if r.ending is Ending.ERROR).most_common(1)
    return f"{cell.errors} of {cell.requests + cell.errors} requests failed; most often: {worst}"


def no_usage(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Answers without token counts."""
    if cell.client_tokens is None:
        text = "the server sends no usage with stream_options.include_usage, so tokens cannot be counted"
        yield Reason("no_usage", text)


def token_mismatch(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Counter and answers disagree about what came out."""
    ours, theirs = cell.client_tokens, cell.server_tokens
    if ours is None or theirs is None or cell.server_tok_s is None or not evidence.is_clean(cell.foreign_requests):
        return
    at_least, times_k = SGLANG_ENDS_APART
    ends = max(at_least, times_k * (cell.k or 0)) * cell.requests if evidence.is_sglang else 0.0
    if abs(ours - theirs) > max(TOKEN_MISMATCH_MAX * max(ours, theirs), ends):
        text = f"the server counted {theirs:.0f} output tokens over the cell, its answers' usage says {ours}"
        yield Reason("token_mismatch", text)


def contradicted(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Two counts of one window of which one is twice the other: whichever is wrong, it is no measurement."""
    server, client = cell.server_tok_s, cell.client_tok_s
    if server is None or client is None:
        return
    if max(server, client) > RATES_CONTRADICT * min(server, client):
        text = f"in the window the server counted {server:.0f} tok/s and the requests' own times say {client:.0f}"
        yield Reason("rates_contradict", text)


def too_few(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Too little came out to be a rate."""
    if not any(record.ending is Ending.OK for record in evidence.uncut):
        yield Reason("too_few_requests", "no whole answer ended during the cell; max_tokens may be too high for cell_s")
    if cell.window_s is None or cell.output_tok_s is None:
        return
    streams = max(1.0, (cell.concurrency or 0.0) * (cell.engine_count or 1))
    tokens = cell.output_tok_s * cell.window_s
    if tokens < STREAM_TOKENS_MIN * streams:
        text = f"only {tokens:.0f} tokens came out of {streams:.0f} streams in the window; raise cell_s"
        yield Reason("too_few_tokens", text)


def prefix_hits(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """The prefix cache gave another share of the prompts than the load was made for."""
    target, ratio = evidence.load.prefix_hit_target, cell.prefix_hit_ratio
    if ratio is None:
        if target > PREFIX_OFF_MAX and evidence.readings:
            text = (
                f"{target:.0%} of prompt tokens should come from the prefix cache, but the server shows no use of one;"
                " set prefix_hit_ratio = 0"
            )
            yield Reason("prefix_hits", text)
        return
    if (
        not target - PREFIX_OFF_MAX - _hits_lost(target, evidence)
        <= ratio
        <= target + PREFIX_OFF_MAX + _template_hits(evidence)
    ):
        aim = f"where {target:.0%} were aimed at" if target else "though every request is salted"
        yield Reason("prefix_hits", f"{ratio:.0%} of prompt tokens came from the prefix cache, {aim}")


def _hits_lost(target: float, evidence: Evidence) -> float:
    """Share of prompt tokens that cannot hit although it is shared: the first request's on each engine, and the last
    block of every prompt where a drafter wants its hidden states (EAGLE and MTP on vLLM compute it again)."""
    prompts = [record.prompt_tokens for record in evidence.records if record.prompt_tokens]
    if not prompts or not target:
        return 0.0
    first = target * max(prompts) * (evidence.engine_count or 1)
    last = _block_tokens(evidence, BLOCK_UNKNOWN) * len(prompts) if evidence.arm.speculative else 0.0
    return min(target, (first + last) / sum(prompts))


def _template_hits(evidence: Evidence) -> float:
    """Share of prompt tokens that may hit although nothing of ours is shared."""
    prompts = [record.prompt_tokens for record in evidence.records if record.prompt_tokens]
    return TEMPLATE_TOKENS_MAX * len(prompts) / sum(prompts) if evidence.chat and prompts else 0.0


def _block_tokens(evidence: Evidence, unknown: float) -> float:
    shown = evidence.readings[-1].cache_config.get("block_size", "") if evidence.readings else ""
    return float(shown) if shown.isascii() and shown.isdigit() else unknown


def uneven(cell: Cell, evidence: Evidence) -> Iterator[Reason]:
    """Data-parallel engines that did not share the load: batch limits apply to each."""
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
