"""What somebody who was woken can do about an alert, most useful first; pure, and it invents no number.

Every measured arm is weighed at the live concurrency, as of now where that decides: the live arm's loss may be removed
by a smaller K that beats the baseline by nothing.
"""

from __future__ import annotations

from monitor.acceptance import SAME_ACCEPTANCE
from monitor.compared import arms_compared, compared_in, moved_in
from monitor.live_mix import mix_moved
from monitor.now_values import AsOfNow
from monitor.now_words import tokens
from monitor.units import band_text, number
from monitor.values import EndpointStatus, StoredCrossover
from probes.answer_values import BandPoint, Verdict
from probes.crossover import speedup_at
from probes.steptime.fit import NO_STEP_MODEL

LEVEL = 0.02
"""An arm whose middle is this close to 1 is level with the baseline; it is the margin of a sweep's own verdicts."""


def choices(status: EndpointStatus, measured: StoredCrossover | None) -> list[str]:
    """One sentence each, without a full stop."""
    live = status.live_arm or "the live arm"
    baseline = measured.result.baseline if measured is not None else "off"
    found = [*_causes(status), *_other_arm(status, measured, baseline, live)]
    found.append(f"switch speculation off, or route this traffic to servers that run {baseline}")
    crossover = compared_in(status)
    # The lower edge of any other verdict is no load under which it pays.
    low = crossover.low if crossover is not None and crossover.verdict is Verdict.CROSSES else None
    found.append(
        f"scale out: under {number(low)} concurrent per engine {live} pays again"
        if low is not None
        else "scale out, if this much load per engine is not wanted anyway"
    )
    found.append("leave it, if neither latency nor capacity is a concern now: nothing is broken")
    return found


def best_alternative(status: EndpointStatus, measured: StoredCrossover | None) -> tuple[str, BandPoint] | None:
    """The arm besides the live one that may be level with the baseline or better here, and its speedup.

    The fastest; of those that noise cannot tell from it, the one with the smallest K. None where every known one is
    clearly slower than the baseline.
    """
    if measured is None or status.concurrency is None:
        return None
    floor = status.speedup_now.ratio if status.speedup_now is not None else 0.0
    points = {
        arm: point
        for arm, point in _points(status, measured).items()
        if point is not None and point.high >= 1 and point.ratio > floor
    }
    if not points:
        return None
    top = max(points.values(), key=lambda point: point.ratio)
    alike = [arm for arm, point in points.items() if point.ratio >= top.low and point.high >= top.ratio]
    chosen = min(alike, key=lambda arm: (_k_of(measured, arm), -points[arm].ratio))
    return chosen, points[chosen]


def _points(status: EndpointStatus, measured: StoredCrossover) -> dict[str, BandPoint | None]:
    """Every arm's speedup here but those of the live arm and the baseline; None where it is not known."""
    arms, load = arms_compared(measured, status.as_of_now), status.concurrency
    others = measured.result.arms.keys() - {status.live_arm, measured.result.baseline}
    return {arm: speedup_at(arms[arm], load) if arm in arms and load is not None else None for arm in sorted(others)}


def _other_arm(status: EndpointStatus, measured: StoredCrossover | None, baseline: str, live: str) -> list[str]:
    if measured is None or status.concurrency is None:
        return ["a smaller K may pay at this load: not known, no sweep speaks for it"]
    chosen = best_alternative(status, measured)
    if chosen is not None:
        return [_run(status, measured, *chosen, baseline, live)]
    points = _points(status, measured)
    if not points:
        return [] if status.k == 1 else ["a smaller K may pay at this load: not known, the sweep had no arm with one"]
    smaller = status.k is None or any(_k_of(measured, arm) < status.k for arm in points)
    unmeasured = "" if smaller or status.k == 1 else "; a smaller K may pay: the sweep had no arm with one"
    if unknown := [arm for arm, point in points.items() if point is None]:
        where = "with the traffic of now" if moved_in(status) else "at this load"
        return [f"how {' and '.join(unknown)} would do {where} is not known{unmeasured}"]
    told = ", ".join(f"{arm} {band_text(point)}" for arm, point in points.items())
    no_way_out = ", so a smaller K is no way out" if smaller and status.k not in (None, 1) else unmeasured
    here = f"{baseline} at {_load(status)} concurrent"
    return [f"every other measured arm is slower than {here} too ({told}){no_way_out}"]


def _run(
    status: EndpointStatus, measured: StoredCrossover, arm: str, point: BandPoint, baseline: str, live: str
) -> str:
    k = measured.arm_k.get(arm)
    lower = k is not None and status.k is not None and k < status.k
    if point.low > 1:
        rank, removes = f"is faster than {baseline} here", "removes the loss"
    elif point.ratio >= 1 - LEVEL:
        rank, removes = f"is level with {baseline} here", "removes the loss too"
    else:
        rank, removes = f"may be level with {baseline} here", "may remove the loss"
    verdict = arms_compared(measured, status.as_of_now)[arm]
    below = (
        f" and faster below {number(verdict.low)}"
        if point.low <= 1 and verdict.verdict is Verdict.CROSSES and verdict.low
        else ""
    )
    return (
        f"run arm {arm} (K={k if k is not None else 'unknown'}): it {rank} "
        f"({'reckoned for now' if moved_in(status) else 'measured'} {band_text(point)}; "
        f"{live} {band_text(status.speedup_now)}){below}: "
        f"{'lowering K' if lower else 'that'} {removes}"
    )


def _causes(status: EndpointStatus) -> list[str]:
    """What changed since the sweep; where that made the loss, finding out why comes before any setting."""
    now = status.as_of_now
    if now is None or not (now.decides or any(reason.code == NO_STEP_MODEL for reason in now.reasons)):
        return []
    found = []
    if (was := now.acceptance_measured) and now.acceptance_length is not None:
        change = now.acceptance_length / was - 1
        if change < -SAME_ACCEPTANCE:
            found.append(
                f"acceptance fell from {was:.2f} to {now.acceptance_length:.2f}: look at what changed "
                "(prompts, drafter, deploy) first"
            )
    return found + _mix_cause(now)


def _mix_cause(now: AsOfNow) -> list[str]:
    if now.mix is None or now.mix_measured is None or not mix_moved(now.mix, now.mix_measured):
        return []
    return [
        f"requests went from {tokens(now.mix_measured)} to {tokens(now.mix.mix)} tokens (prompt + answer): look at who "
        "sends them (clients, prompts, routing) first"
    ]


def _k_of(measured: StoredCrossover, arm: str) -> float:
    k = measured.arm_k.get(arm)
    return float(k) if k is not None else float("inf")


def _load(status: EndpointStatus) -> str:
    return number(status.concurrency) if status.concurrency is not None else "unknown"
