"""The words of `specwatch once`: one line per endpoint, verdict and reason first, the details behind them; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from monitor.now_words import (
    break_even_words,
    changed_words,
    crossover_words,
    most_words,
    unreckoned_words,
)
from monitor.service.locks import Gone
from monitor.units import age_text, band_text, interval_text, number, outcome_words
from monitor.values import EndpointStatus, LiveVerdict, SweepRecord

OWED = "not_restored"
"""The gate's code for a refusal because of a server that is not put back; it is over as soon as that one is."""
MISSED_S = 86_400.0


def status_line(status: EndpointStatus, last: Sequence[str] = ()) -> str:
    """One endpoint in one line: the verdict, the numbers it rests on, why; then what those rest on.

    `last` is what became of a sweep that gave no answer.
    """
    where, why = list(_numbers(status)), [*([status.verdict_reason] if status.verdict_reason else []), *last]
    said = [*why, *where] if status.verdict is LiveVerdict.UNKNOWN else [*where, *why]
    parts = [*said, *_alert(status), *_details(status)]
    return f"{status.verdict.value.upper():8}{status.name}  " + "; ".join(parts)


def _numbers(status: EndpointStatus) -> Iterator[str]:
    if status.concurrency is not None:
        yield f"{number(status.concurrency)} concurrent per engine"
    if (swept := status.crossover) is not None:
        known = swept.value is not None
        where = interval_text(swept.value, swept.low, swept.high) if known else crossover_words(swept)
        elsewhere = " elsewhere" if swept.imported else ""
        yield f"crossover of {swept.for_arm} {where}, measured{elsewhere} {age_text(swept.age_s)} ago"
    if (now := status.as_of_now) is not None and now.decides:
        yield f"as of now {crossover_words(now)}"
    if status.speedup_now is not None:
        yield f"speedup now {band_text(status.speedup_now)}"


def _alert(status: EndpointStatus) -> Iterator[str]:
    point = status.speedup_now
    slower = status.verdict is LiveVerdict.ABOVE or (point is not None and point.high < 1)
    if status.alerting:
        yield "alert: the whole band is beyond the tolerated loss"
    elif slower and status.alerting_reason:
        yield f"no alert: {status.alerting_reason}"


def _details(status: EndpointStatus) -> Iterator[str]:
    now = status.as_of_now
    if now is not None and now.decides:
        yield f"moved by {changed_words(now)}"
    if now is not None and now.break_even is not None:
        yield f"pays here from an acceptance of {break_even_words(now.break_even)}{most_words(status)}"
    elif now is not None and now.no_break_even is not None:
        yield now.no_break_even.text.removesuffix(".")
    if status.live_arm is not None:
        yield f"live arm {status.live_arm}"
    yield from unreckoned_words(now)


def unmeasured(newest: Sequence[SweepRecord], now_s: float, *, owed: bool) -> list[str]:
    """How a pool's newest sweep ended, where it gave no answer; `owed`: a server still waits to be put back.

    Its reason is of that time: what hindered it then may be over.
    """
    said = []
    for sweep in newest:
        if sweep.outcome in ("measured", "running"):
            continue
        ago = age_text(max(0.0, now_s - (sweep.ended_at_s if sweep.ended_at_s is not None else sweep.started_at_s)))
        why = sweep.reason
        if not owed and sweep.outcome == "refused" and OWED in sweep.ended_by.split(","):
            only = sweep.ended_by == OWED
            why = "a server was not put back then; it is now" if only else f"{why}; that server is put back now"
        outcome = outcome_words(sweep.outcome)
        said.append(f"its last sweep ({sweep.id}) gave no answer: {outcome} {ago} ago{f', {why}' if why else ''}")
    return said


def is_missed(ended: Gone, seen_s: float | None) -> bool:
    """Whether somebody may still rely on the daemon that is gone; `seen_s` is the age of its last look.

    One that died is told of until another runs, one that gave its lock back for a day: a trial of `serve` is over then.
    """
    return ended.died is not None or (seen_s is not None and seen_s < MISSED_S)


def gone_words(ended: Gone, config: Path, seen_s: float | None) -> str:
    """That a daemon has watched here and does no longer; `seen_s` is the age of its last look, good or failed."""
    how = f"The daemon ({ended.died}) died" if ended.died is not None else "The daemon is not running"
    last = f"; it last looked {age_text(max(0.0, seen_s))} ago" if seen_s is not None else ""
    return f"{how}{last}. Nobody is alerted and no sweep is scheduled until `specwatch serve --config {config}` runs."


def pause_words(until_s: float, why: str, now_s: float) -> str:
    """That no sweep starts, until when, and who wanted that why."""
    until = datetime.fromtimestamp(until_s, UTC)
    left = age_text(max(0.0, until_s - now_s))
    return f"No sweep starts before {until:%Y-%m-%d %H:%M UTC} (for {left}): {why}. `specwatch pause --resume` ends it."
