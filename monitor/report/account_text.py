"""A day's account in sentences: shares, what was suffered and gained, what other arms would have done. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.account_values import ArmDay, DayAccount, JudgedStretch, PerToken
from monitor.cost_text import ratio_text, slower_words, span_text, speedup_of
from monitor.now_values import Span
from monitor.now_words import tokens as mix_tokens
from monitor.units import age_text, number
from probes.answer_values import Verdict

MENTIONED = 0.005
"""Reasons for unknown time that took a smaller share are left out."""
MOVED = 0.03
"""Relative difference of acceptance from which it is said that the day was not like the sweep."""

MOST_STRETCHES = 8
"""Stretches told one by one: the longest."""
ONE_DAY_S = 79_200.0
"""Accounts longer than this name the day with the hour."""


def account_lines(account: DayAccount) -> list[str]:
    """Verdict first: how the time was spent, then what it cost and gained, then what else could have been done."""
    total_s = sum(p.seconds for p in (account.above, account.inside, account.below, account.idle, account.unknown))
    lines = [f"over {_time(account)}: {shares(account)}"]
    lines += [
        f"unknown: {why}, {age_text(seconds)}"
        for why, seconds in account.unknown_why
        if seconds >= MENTIONED * max(total_s, 1.0)
    ]
    if account.baseline_s:
        lines.append(f"{account.baseline} ran for {age_text(account.baseline_s)}: nothing lost and nothing gained then")
    if account.slower_above is not None:
        lines.append(f"above: {_per_token(account.slower_above, account.baseline)}")
    if account.slower_below is not None:
        lines.append(f"below: {_per_token(account.slower_below, account.baseline)}")
    lines += _ran(account)
    lines += [_arm(day, account) for day in account.arms if not _is_live(day)]
    lines += _best(account)
    lines += _lost(account)
    return lines


def shares(account: DayAccount) -> str:
    """`12% of the time above the crossover, 3% inside its interval, ...`."""
    named = (
        (account.above, "above the crossover"),
        (account.inside, "inside its interval"),
        (account.below, "below"),
        (account.idle, "idle"),
        (account.unknown, "unknown"),
    )
    return ", ".join(f"{100 * portion.share:.0f}% {words}" for portion, words in named)


def _time(account: DayAccount) -> str:
    whole = age_text(account.until_s - account.since_s)
    engines = f" of {account.engines} engines" if account.engines > 1 else ""
    swept = f" ({age_text(account.swept_s)} of engine time under sweeps left out)" if account.swept_s else ""
    return f"{whole}{engines}{swept}"


def _per_token(cost: PerToken, baseline: str) -> str:
    by_token = f"; by tokens {percent(cost.by_token)} time per token" if cost.by_token is not None else ""
    covered = "" if cost.covered > 0.995 else f"; {100 * cost.covered:.0f}% of that time lay inside what was measured"
    return f"against {baseline} {slower_words(speedup_of(cost.by_time))}{by_token}{covered}"


def percent(span: Span | None) -> str:
    """`+9.1% [+6.4, +12.0]`."""
    if span is None:
        return "unknown"
    low, high = (f"{edge:+.1f}" if edge is not None else "..." for edge in (span.low, span.high))
    return f"{span.value:+.1f}% [{low}, {high}]"


def _ran(account: DayAccount) -> list[str]:
    lines = []
    if account.live_ms_per_token is not None and account.tokens is not None:
        lines.append(
            f"what ran: {tokens(account.tokens)} tokens, {number(account.live_ms_per_token)} ms in the system for each"
        )
    measured, seen = account.acceptance_measured, account.acceptance_length
    if account.moved:
        lines += stretch_lines(account)
    elif measured is not None and seen is not None and abs(seen / measured - 1) > MOVED:
        lines.append(
            f"acceptance length was {seen:.2f} (mean of {_clock(account.since_s, account)} to "
            f"{_clock(account.until_s, account)} UTC), {measured:.2f} when swept: all is judged as swept"
        )
    lines += account.notes
    return lines


def stretch_lines(account: DayAccount) -> list[str]:
    """What the traffic was like, with the crossover that each part of the time is judged by."""
    longest = sorted(account.stretches, key=lambda one: one.first_s - one.last_s)[:MOST_STRETCHES]
    lines = [_stretch(one, account) for one in account.stretches if one in longest]
    rest = len(account.stretches) - len(lines)
    return [*lines, f"{rest} shorter stretches are in --json"] if rest else lines


def _stretch(one: JudgedStretch, account: DayAccount) -> str:
    parts = []
    if one.acceptance_length is not None:
        swept = f" ({one.acceptance_measured:.2f} when swept)" if one.acceptance_measured is not None else ""
        parts.append(f"mean acceptance length {one.acceptance_length:.2f}{swept}")
    if one.mix is not None:
        swept = f" ({mix_tokens(one.mix_measured)} when swept)" if one.mix_measured is not None else ""
        parts.append(f"mean request {mix_tokens(one.mix)} tokens{swept}")
    by = f"judged by {one.arm}'s crossover as of then, {one.said}" if one.moved else "judged by the crossover as swept"
    if one.moved and one.verdict is Verdict.INSUFFICIENT:
        by = "not judged, no sweep speaks for such traffic"
    seen = f"{', '.join(parts)}; " if parts else ""
    return f"{_clock(one.first_s, account)} to {_clock(one.last_s, account)} UTC: {seen}{by}"


def _clock(at_s: float, account: DayAccount) -> str:
    form = "%d %b %H:%M" if account.until_s - account.since_s > ONE_DAY_S else "%H:%M"
    return datetime.fromtimestamp(at_s, UTC).strftime(form)


def _is_live(day: ArmDay) -> bool:
    return day.time_per_token is not None and day.time_per_token.low == day.time_per_token.high == 1.0


def _arm(day: ArmDay, account: DayAccount) -> str:
    if day.time_per_token is None:
        why = (
            "could not have carried the load"
            if day.overload_s
            else "not known: nothing was measured that tells it at these loads"
        )
        return f"the same arrivals on {day.arm}: {why}"
    return f"the same arrivals on {day.arm}: {day_words(day)}"


def day_words(day: ArmDay) -> str:
    """Time per token, capacity, and how much of the time that holds for."""
    parts = []
    if day.time_per_token is not None:
        ms = f" ({span_text(day.ms_per_token)} ms)" if day.ms_per_token is not None else ""
        parts.append(f"{ratio_text(day.time_per_token)} times the time per token{ms}")
    if day.capacity_pct is not None:
        parts.append(f"{percent(day.capacity_pct)} capacity")
    if day.overload_s:
        parts.append(f"{age_text(day.overload_s)} in which it could not have carried the load")
    if day.covered < 0.995:
        parts.append(f"told for {100 * day.covered:.0f}% of the busy time")
    return ", ".join(parts)


def _best(account: DayAccount) -> list[str]:
    lines = []
    if account.best_static is not None:
        day = next(day for day in account.arms if day.arm == account.best_static)
        lines.append(f"best single arm: {day.arm}{_beside_what_ran(day)}")
    if account.routed is not None and account.routed.time_per_token is not None:
        whole_s = sum(account.routed_s.values())
        mix = ", ".join(
            f"{arm} {100 * seconds / whole_s:.0f}%"
            for arm, seconds in sorted(account.routed_s.items(), key=lambda item: -item[1])
        )
        lines.append(f"best arm minute by minute ({mix}): {day_words(account.routed)}")
    return lines


def _beside_what_ran(day: ArmDay) -> str:
    """Whether its lead over what ran is more than noise."""
    ratio = day.time_per_token
    if ratio is None or _is_live(day):
        return ", which ran"
    return "" if ratio.high is not None and ratio.high < 1 else ", within the noise of what ran"


def _lost(account: DayAccount) -> list[str]:
    if account.saturated_s is None:
        return ["whether requests waited is not on the page, so nothing is said of lost output"]
    if not account.saturated_s:
        return ["requests never waited for long, so no output was lost: it was what arrived"]
    waited = f"requests waited for {age_text(account.saturated_s)}"
    if account.lost_tokens is None:
        return [f"{waited}; what that lost lies outside what was measured"]
    lost = account.lost_tokens
    low, high = (tokens(edge) if edge is not None else "..." for edge in (lost.low, lost.high))
    return [f"{waited}, in which the best arm would have made {tokens(lost.value)} [{low}, {high}] tokens more"]


def tokens(count: float) -> str:
    """`86.4 M`, `12.5 k`, `930`."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(count) >= size:
            return f"{count / (1e3 if unit == ' k' else size):.1f}{unit}"
    return f"{count:.0f}"
