"""What the live arm costs as sentences for terminals and pages; no number without its unit and interval. Pure."""

from __future__ import annotations

from monitor.now_values import Cost, Span
from monitor.units import number
from probes.answer_values import BandPoint


def cost_lines(cost: Cost, live_arm: str, baseline: str) -> list[str]:
    """The same for people, one fact a line."""
    lines = []
    if live_arm != baseline:
        ms = f"; {span_text(cost.ms_per_token, signed=True)} ms of each token" if cost.ms_per_token is not None else ""
        lines.append(f"{live_arm} against {baseline}: {slower_words(speedup_of(cost.slower_pct))}{ms}")
    lines.extend([line] if (line := _capacity_line(cost, live_arm)) else [])
    for one in cost.at_same_rate:
        if one.concurrency is None or one.time_per_token is None:
            lines.append(f"what {one.arm} would do with the requests that arrive now: {one.reason}")
        else:
            lines.append(
                f"with the requests that arrive now {one.arm} would hold {span_text(one.concurrency)} at once per "
                f"engine, with {ratio_text(one.time_per_token)} times the time per token"
            )
    return lines


def slower_words(speedup: BandPoint) -> str:
    """A speedup as one sentence: `25% [22, 28] less output at the same concurrency (33% [28, 39] more time per token)`.

    Both, because both are called slower: output goes with the speedup and time per token with one over it.
    """
    ratios = (speedup.ratio, speedup.low, speedup.high)
    output = [100 * (r - 1) for r in ratios]
    time = [100 * (1 / r - 1) for r in (speedup.ratio, speedup.high, speedup.low)]
    return f"{_more_or_less(*output)} output at the same concurrency ({_more_or_less(*time)} time per token)"


def time_words(ratio: Span) -> str:
    """A ratio of times per token as `31% [28, 37] less time per token`; an open edge is an ellipsis."""
    edges = (100 * (edge - 1) if edge is not None else None for edge in (ratio.low, ratio.high))
    return f"{_more_or_less(100 * (ratio.value - 1), *edges)} time per token"


def _more_or_less(value: float, low: float | None, high: float | None) -> str:
    """A difference in percent, its interval in the direction that the word names."""
    word, sign = ("less", -1) if value < 0 else ("more", 1)
    edges = (low, high) if sign > 0 else (high, low)
    told = (str(round(sign * edge)) if edge is not None else "..." for edge in edges)
    return f"{round(sign * value)}% [{', '.join(told)}] {word}"


def speedup_of(more_time_pct: Span) -> BandPoint:
    """The speedup that more time per token (percent, at no concurrency in particular) comes from."""
    value, low, high = more_time_pct.value, more_time_pct.low, more_time_pct.high
    ratios = [1 / (1 + pct / 100) for pct in (value, value if high is None else high, value if low is None else low)]
    return BandPoint(0.0, *ratios)


def _capacity_line(cost: Cost, live_arm: str) -> str:
    if cost.capacity_tok_s is None:
        return ""
    if cost.best_arm == live_arm:
        return f"no measured arm has more capacity than {live_arm} at this concurrency"
    gap = f"{span_text(cost.capacity_tok_s, signed=True)} tok/s per engine"
    if cost.capacity_tok_s.low is not None and cost.capacity_tok_s.low <= 0:
        return f"{cost.best_arm} could make {gap} at this concurrency: within the noise of {live_arm}"
    if cost.saturated:
        return f"requests wait, so output is lost: {cost.best_arm} would make {gap}"
    kept = "nothing waits, so no output is lost" if cost.saturated is False else "whether output is lost is not known"
    return f"capacity lost: {cost.best_arm} could make {gap} at this concurrency; {kept}"


def span_text(span: Span | None, *, signed: bool = False) -> str:
    """`31.0 [28.0, 35.0]`; an open edge is an ellipsis."""
    if span is None:
        return "unknown"
    middle, low, high = (_edge(v, signed) for v in (span.value, span.low, span.high))
    return f"{middle} [{low}, {high}]"


def ratio_text(span: Span) -> str:
    """`0.83 [0.79, 0.88]`: ratios need their second decimal."""
    low, high = (f"{v:.2f}" if v is not None else "..." for v in (span.low, span.high))
    return f"{span.value:.2f} [{low}, {high}]"


def _edge(value: float | None, signed: bool) -> str:
    if value is None:
        return "..."
    sign = "-" if value < 0 else "+" if signed and value > 0 else ""
    return sign + number(abs(value))
