"""Adds up what speculation brought and cost over a stretch of stored traffic; pure, and open about what it cannot tell.

Every minute is judged by one sweep's answer, as of the traffic around it, at its own concurrency. A sweep that is off
is off alike at every load, so intervals add as if all minutes erred the same way.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.account_values import DayAccount, EngineMinute, JudgedStretch, PerToken, Portion, Stretch
from monitor.day_answers import Answer, day_answers
from monitor.day_arms import with_arms
from monitor.live_arm import find_live_arm
from monitor.now_values import Span
from monitor.values import CrossoverNow, LiveVerdict, StoredCrossover
from monitor.verdict_now import BY_CLIENTS, place
from probes.answer_values import ArmVerdict, Axis, BandPoint, Crossover, Verdict
from probes.crossover.arrival import ALONE
from probes.crossover.estimate import speedup_at

IDLE = 0.01
"""Requests in the system, as a mean, under which nobody was served."""
NO_READING = "no reading"


@dataclass(frozen=True, slots=True)
class _Judged:
    """One minute with what the sweep says of it."""

    minute: EngineMinute
    verdict: LiveVerdict | None
    """None: idle."""
    reason: str
    arm: str | None
    speedup: BandPoint | None
    """Of a speculative live arm."""


def day_account(
    minutes: Sequence[EngineMinute],
    stored: StoredCrossover,
    declared: str | None,
    since_s: float,
    until_s: float,
    server_changes: Sequence[tuple[float, str]] = (),
    stretches: Sequence[Stretch] = (),
) -> DayAccount | None:
    """The account of all engines from `since_s` to `until_s`; None without minutes.

    `declared` is the live arm of the config. `server_changes` are the instants (ascending) from which the server showed
    another fingerprint, with that fingerprint: minutes of any other than the sweep's are unknown. `stretches` (oldest
    first) have the answer as of their own traffic: where it decides, their minutes are judged by it, all others by the
    sweep's.
    """
    if not minutes:
        return None
    swept = stored.result
    answers = day_answers(stored, stretches)
    by_time = _by_time(minutes)
    judged = [
        _judge(m, answers.at(m.at_s), declared, server_changes, len(by_time[m.at_s])) for m in minutes if not m.swept
    ]
    engines = len({m.engine for m in minutes})
    missing_s = _missing_s(by_time, until_s - since_s)
    total_s = sum(j.minute.seconds for j in judged) + missing_s
    why: dict[str, float] = defaultdict(float)
    for one in judged:
        if one.verdict is LiveVerdict.UNKNOWN:
            why[one.reason] += one.minute.seconds
    if missing_s > 0.01 * total_s:
        why[NO_READING] += missing_s
    by = {verdict: [j for j in judged if j.verdict is verdict] for verdict in (*LiveVerdict, None)}
    unknown = _portion(by[LiveVerdict.UNKNOWN], total_s)
    busy = [
        (j.minute, j.arm, answers.at(j.minute.at_s).curves)
        for j in judged
        if j.verdict is not None and j.arm is not None
    ]
    acceptance, measured = _acceptance(judged, swept.acceptance)
    account = DayAccount(
        since_s=since_s,
        until_s=until_s,
        engines=engines,
        baseline=stored.result.baseline,
        above=_portion(by[LiveVerdict.ABOVE], total_s),
        inside=_portion(by[LiveVerdict.INSIDE], total_s),
        below=_portion(by[LiveVerdict.BELOW], total_s),
        idle=_portion(by[None], total_s),
        unknown=replace(
            unknown,
            seconds=unknown.seconds + missing_s,
            share=(unknown.seconds + missing_s) / total_s if total_s else 0.0,
        ),
        unknown_why=tuple(sorted(why.items(), key=lambda item: -item[1])),
        swept_s=sum(m.seconds for m in minutes if m.swept),
        baseline_s=sum(j.minute.seconds for j in judged if j.arm == stored.result.baseline),
        slower_above=_per_token(by[LiveVerdict.ABOVE]),
        slower_below=_per_token(by[LiveVerdict.BELOW]),
        tokens=_sum(j.minute.output_tokens for j in judged),
        live_ms_per_token=_live_ms(minute for minute, _, _ in busy),
        acceptance_length=acceptance,
        acceptance_measured=measured,
        moved=any(stretch.moved for stretch in answers.stretches),
        stretches=tuple(_with_mean(stretch, judged) for stretch in answers.stretches),
        notes=answers.notes,
    )
    return with_arms(account, busy, swept.baseline)


def _judge(
    minute: EngineMinute,
    answer: Answer,
    declared: str | None,
    changes: Sequence[tuple[float, str]],
    engines: int,
) -> _Judged:
    stored, moved = answer.stored, answer.moved
    shown = shown_at(changes, minute.at_s)
    if minute.concurrency is None:
        return _Judged(minute, LiveVerdict.UNKNOWN, "the page does not say how many requests run or wait", None, None)
    if minute.concurrency < IDLE:
        return _Judged(minute, None, "", None, None)
    if shown is not None and shown != stored.fingerprint:
        return _Judged(
            minute, LiveVerdict.UNKNOWN, f"the server was not what sweep {stored.sweep_id} measured", None, None
        )
    if stored.result.axis is Axis.CLIENTS and engines > 1:
        return _Judged(minute, LiveVerdict.UNKNOWN, BY_CLIENTS, None, None)
    arm = find_live_arm(declared, stored, minute)
    if arm.name is None:
        return _Judged(minute, LiveVerdict.UNKNOWN, arm.reason, None, None)
    found = stored.result
    watched = arm.name if arm.name != found.baseline else _watched(found, declared)
    verdict = found.arms.get(watched) if watched is not None else None
    if verdict is None:
        return _Judged(
            minute, LiveVerdict.UNKNOWN, f"sweep {stored.sweep_id} has no result for {arm.name}", arm.name, None
        )
    placed, reason = place(minute.concurrency, _as_now(verdict, stored), moved=moved)
    speedup = _speedup(verdict, minute.concurrency) if arm.name == watched else None
    return _Judged(minute, placed, reason.replace("as of now", "as of that traffic"), arm.name, speedup)


def shown_at(changes: Sequence[tuple[float, str]], at_s: float) -> str | None:
    """The fingerprint that a server showed at an instant; None before the first."""
    return next((fingerprint for since_s, fingerprint in reversed(changes) if since_s <= at_s), None)


def _by_time(minutes: Sequence[EngineMinute]) -> Mapping[float, Mapping[str, float]]:
    """Seconds by engine of every minute."""
    held: dict[float, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for minute in minutes:
        held[minute.at_s][minute.engine] += minute.seconds
    return held


def _missing_s(by_time: Mapping[float, Mapping[str, float]], span_s: float) -> float:
    """Engine time in which no page could be read, at as many engines as there were otherwise.

    An engine that the page does not have (before or after a restart with another number of them) misses nothing.
    """
    seen_s = sum(max(own.values()) for own in by_time.values())
    engines = sum(sum(own.values()) for own in by_time.values()) / seen_s if seen_s else 0.0
    return max(0.0, span_s - seen_s) * engines


def _watched(found: Crossover, declared: str | None) -> str | None:
    """The arm whose crossover counts while the baseline runs: the declared one, else the one that reaches furthest."""
    if declared in found.arms:
        return declared
    reach = {
        arm: math.inf if v.verdict is Verdict.ALWAYS_FASTER else v.crossover or 0.0 for arm, v in found.arms.items()
    }
    return max(sorted(reach), key=lambda arm: reach[arm], default=None)


def _as_now(verdict: ArmVerdict, stored: StoredCrossover) -> CrossoverNow:
    return CrossoverNow(
        verdict.arm, verdict.verdict, verdict.crossover, verdict.low, verdict.high, 0.0, stored.sweep_id, False,
        verdict.speedup,
    )  # fmt: skip


def _speedup(verdict: ArmVerdict, concurrency: float) -> BandPoint | None:
    """The band at one load; one lighter than a single request is a single request with pauses."""
    lowest = verdict.speedup[0].concurrency if verdict.speedup else math.inf
    return speedup_at(verdict, max(concurrency, lowest) if lowest <= ALONE else concurrency)


def _portion(judged: Sequence[_Judged], total_s: float) -> Portion:
    seconds = sum(j.minute.seconds for j in judged)
    return Portion(seconds, seconds / total_s if total_s else 0.0, _sum(j.minute.output_tokens for j in judged))


def _sum(values: Iterable[float | None]) -> float | None:
    held = list(values)
    return sum(v for v in held if v is not None) if None not in held else None


def _per_token(judged: Sequence[_Judged]) -> PerToken | None:
    """Mean of 1 / speedup - 1 in percent where speculation ran."""
    ran = [j for j in judged if j.speedup is not None or not _off(j)]
    priced = [(j.minute, j.speedup) for j in ran if j.speedup is not None]
    if not priced:
        return None
    rows = [(m.seconds, m.output_tokens, [100 * (1 / r - 1) for r in (p.ratio, p.high, p.low)]) for m, p in priced]
    tokens = [(made, values) for _, made, values in rows if made is not None]
    counted = len(tokens) == len(rows) and sum(made for made, _ in tokens) > 0
    return PerToken(
        by_time=_mean([(seconds, values) for seconds, _, values in rows]),
        by_token=_mean(tokens) if counted else None,
        covered=sum(m.seconds for m, _ in priced) / sum(j.minute.seconds for j in ran),
    )


def _with_mean(stretch: JudgedStretch, judged: Sequence[_Judged]) -> JudgedStretch:
    """With the acceptance length of its own minutes; an answer is shared by stretches that are nearly alike."""
    own = [j for j in judged if stretch.first_s <= j.minute.at_s <= stretch.last_s and j.minute.drafts]
    drafts, accepted = _sum(j.minute.drafts for j in own), _sum(j.minute.accepted for j in own)
    if not drafts or accepted is None:
        return stretch
    return replace(stretch, acceptance_length=1.0 + accepted / drafts)


def _off(judged: _Judged) -> bool:
    return judged.minute.speculation_configured is False


def _mean(rows: Sequence[tuple[float, Sequence[float]]]) -> Span:
    weight = sum(w for w, _ in rows)
    value, low, high = (sum(w * values[i] for w, values in rows) / weight for i in range(3))
    return Span(value, low, high)


def _live_ms(minutes: Iterable[EngineMinute]) -> float | None:
    counted = [m for m in minutes if m.concurrency is not None and m.output_tokens is not None]
    tokens = sum(m.output_tokens or 0.0 for m in counted)
    return 1000 * sum((m.concurrency or 0.0) * m.seconds for m in counted) / tokens if tokens else None


def _acceptance(judged: Sequence[_Judged], swept: Mapping[str, float]) -> tuple[float | None, float | None]:
    """Mean while an arm of the sweep drafted, and the sweep's for the same arm."""
    ran = [j for j in judged if j.minute.drafts and j.arm is not None]
    drafts, accepted = _sum(j.minute.drafts for j in ran), _sum(j.minute.accepted for j in ran)
    arms = {j.arm for j in ran}
    return (
        1 + accepted / drafts if drafts and accepted is not None else None,
        swept.get(arms.pop() or "") if len(arms) == 1 else None,
    )
