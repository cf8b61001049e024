"""Pure: where live concurrency sits against a crossover, whether the alert rule can judge, and the words for both.

It compares what it is given; which crossover that is, the sweep's or the one of now, is decided before.
"""

from __future__ import annotations

from monitor.compared import withdrawn
from monitor.live_window import LiveWindow
from monitor.now_values import AsOfNow
from monitor.units import band_text, number, percent
from monitor.values import CrossoverNow, LiveVerdict
from probes.answer_values import ArmVerdict, BandPoint, Verdict
from probes.crossover import END_SLACK, speedup_at

BY_CLIENTS = "the result is by clients, not per engine, and this endpoint has several engines"


def withdrawal(now: AsOfNow | None) -> str | None:
    """Why no sweep speaks for the traffic of now, where none does."""
    if now is None or not withdrawn(now):
        return None
    return "; ".join(reason.text for reason in now.reasons).rstrip(".")


def verdict_of(
    barrier: str | None, window: LiveWindow, crossover: CrossoverNow | None, now: AsOfNow | None
) -> tuple[LiveVerdict, str]:
    """Where the concurrency sits, or why that cannot be said."""
    if barrier is not None or crossover is None or window.concurrency is None:
        return LiveVerdict.UNKNOWN, barrier or ""
    moved = now is not None and now.decides
    return place(window.concurrency, crossover, moved=moved)


def place(concurrency: float, crossover: CrossoverNow, *, moved: bool = False) -> tuple[LiveVerdict, str]:
    """Where one concurrency (per engine) sits against a crossover, and why where that is no plain matter.

    `moved` words it for a crossover as of now instead of the sweep's own.
    """
    was = "as of now is" if moved else "was"
    top = crossover.band[-1].concurrency if crossover.band else None
    if crossover.verdict is Verdict.ALWAYS_FASTER:
        if top is None or concurrency > top * END_SLACK:
            end = number(top) if top is not None else "an unknown load"
            return (
                LiveVerdict.UNKNOWN,
                f"{crossover.for_arm} {was} faster everywhere up to {end}, nothing measured beyond",
            )
        return LiveVerdict.BELOW, _against_gain(concurrency, crossover, top, was)
    if crossover.verdict is Verdict.NEVER_FASTER:
        if concurrency > 0:
            return LiveVerdict.ABOVE, f"{crossover.for_arm} {was} not faster at any concurrency measured"
        return LiveVerdict.BELOW, "no load"
    if crossover.verdict is not Verdict.CROSSES or crossover.value is None:
        side = _side(concurrency, crossover) if moved else LiveVerdict.UNKNOWN
        return side, _no_answer(crossover, moved=moved) + _SIDES.get(side, "")
    low = crossover.low if crossover.low is not None else 0.0
    if concurrency < low:
        return LiveVerdict.BELOW, ""
    if crossover.high is not None and concurrency > crossover.high:
        return LiveVerdict.ABOVE, ""
    if crossover.high is None and top is not None and concurrency > top * END_SLACK:
        return LiveVerdict.UNKNOWN, f"the crossover's upper edge is open and nothing was measured above {top:.3g}"
    return LiveVerdict.INSIDE, _inside(speedup_against(concurrency, crossover), crossover.for_arm)


def _against_gain(concurrency: float, crossover: CrossoverNow, top: float, was: str) -> str:
    """What was measured at a load where no arm lost: a tie wherever the band here reaches 1."""
    arm, low = crossover.for_arm, crossover.low
    end = low if low is not None and low < 0.999 * top else None
    gained = f"{arm} {was} faster {'at every concurrency measured' if end is None else f'up to {number(end)}'}"
    here = speedup_against(concurrency, crossover)
    if here is None:
        return f"{gained}, and nothing was measured at this load"
    tie, no_loss = "at this load the difference is inside the noise", f"no loss is sure up to {number(top)}"
    if here.low <= 1:
        return (
            f"{gained}, and {tie}"
            if end is not None and concurrency > end
            else f"{tie}; {no_loss}, the highest measured"
        )
    return gained if end is None else f"{arm} {was} faster at this load, and {no_loss}, the highest measured"


def _no_answer(crossover: CrossoverNow, *, moved: bool) -> str:
    """What a verdict without an answer says to somebody who has to decide."""
    when = "as of now" if moved else "by the sweep"
    if crossover.verdict is Verdict.INSUFFICIENT:
        return f"too little is known of {crossover.for_arm} {when} for a verdict"
    return f"{when} it is unclear whether {crossover.for_arm} is faster or slower"


def _inside(here: BandPoint | None, arm: str) -> str:
    """What the band says of a load between the edges: beside a step in the curve all of it may lie on one side of 1."""
    where = "inside the crossover's interval"
    if here is None:
        return f"{where}, and nothing was measured at this load"
    if here.high < 1:
        return f"{where}, and {arm} is slower at this load beyond the noise"
    if here.low > 1:
        return f"{where}, but {arm} is still faster at this load beyond the noise"
    return f"{where}: a tie within what the sweep could tell"


_SIDES = {
    LiveVerdict.BELOW: " at every load, but up to this one it is faster for sure",
    LiveVerdict.ABOVE: " at every load, but from this one on it is slower for sure",
}


def _side(concurrency: float, crossover: CrossoverNow) -> LiveVerdict:
    """What a band says of one concurrency where it is too wide above or below for a crossover with two edges.

    Not for a sweep's own `unclear`, which is about more than its band's width.
    """
    band = crossover.band
    here = speedup_against(concurrency, crossover)
    if here is None:
        return LiveVerdict.UNKNOWN
    if here.low > 1 and all(p.low > 1 for p in band if p.concurrency <= concurrency):
        return LiveVerdict.BELOW
    if here.high < 1 and all(p.high < 1 for p in band if p.concurrency >= concurrency):
        return LiveVerdict.ABOVE
    return LiveVerdict.UNKNOWN


def speedup_against(concurrency: float, crossover: CrossoverNow) -> BandPoint | None:
    """What the crossover's band says of one concurrency; None outside what was measured."""
    whole = ArmVerdict(crossover.for_arm, crossover.verdict, None, None, None, crossover.band, None, ())
    return speedup_at(whole, concurrency)


def contradicted(now: AsOfNow | None) -> str:
    """Why a band under the tolerated loss does not count."""
    if now is None or now.observed is None:
        return ""
    return (
        f"the live output is {band_text(now.observed)} of what the baseline would make at this load, which contradicts "
        "the sweep: sweep again"
    )


def not_borne_out(both: BandPoint, now: AsOfNow | None) -> str:
    """Why a band under the tolerated loss wakes nobody yet: what the server makes does not show that loss."""
    if now is None or now.observed is None:
        return ""
    return (
        f"the live output is {band_text(now.observed)} of what the baseline would make at this load; with the sweep "
        f"that leaves {band_text(both)}, not sure enough for an alert: sweep again if it stays so"
    )


def no_alert(verdict: LiveVerdict, speedup: BandPoint | None, tolerated_loss_pct: float) -> str:
    """Why a loss that the rule judged does not count for an alert; empty where nobody would expect one."""
    if speedup is None or not (verdict is LiveVerdict.ABOVE or speedup.high < 1):
        return ""
    # Two decimals would let a band that ends just over the limit look as if it ended on it.
    limit = f"{1 - tolerated_loss_pct / 100:.2f}"
    reaches = f"{speedup.high:.2f}x" if f"{speedup.high:.2f}" != limit else f"just over {limit}x"
    return f"the band reaches {reaches}, and a loss of {percent(tolerated_loss_pct)} is tolerated"


def not_swept(pool: str) -> str:
    """That there is nothing to compare with, and what to do about it."""
    return f"no sweep has measured this pool yet: `specwatch sweep {pool} --plan` says what one would do"


def rule_applies(
    barrier: str | None,
    speculating: bool,
    window: LiveWindow,
    speedup: BandPoint | None,
) -> tuple[bool, str]:
    """Whether the alert rule can judge this endpoint now, and if not, why.

    The rule goes by the band, so a sweep whose curve has no single crossing (`unclear`) can alert where it is slower.
    """
    if barrier is not None:
        return False, barrier
    if not speculating:
        return False, "speculation is off here, so it cannot be costing anything"
    if window.concurrency == 0:
        return True, "idle"
    if speedup is None:
        return False, f"concurrency {window.concurrency:.1f} lies outside the range that the sweep measured"
    return True, ""
