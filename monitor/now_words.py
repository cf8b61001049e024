"""What changed between a sweep and now, as words for alerts, terminals and screens; silent on what is unknown.

Lengths of acceptance get two decimals: a tenth of a token moves a crossover by more than its interval.
"""

from __future__ import annotations

from monitor.now_values import AsOfNow
from monitor.units import age_text, interval_text, number
from monitor.values import CrossoverNow, EndpointStatus
from probes.answer_values import BandPoint, Verdict
from probes.steptime.values import Mix

AT_MOST = 0.005
"""Two acceptance lengths this close look alike with two decimals."""


def reason_words(status: EndpointStatus) -> str:
    """Why the verdict is what it is, then in full what it cannot reckon with."""
    return "; ".join(text for text in (status.verdict_reason, *unreckoned_words(status.as_of_now)) if text)


def unreckoned_words(now: AsOfNow | None) -> list[str]:
    """What the verdict cannot reckon with, in full."""
    return [reason.text.rstrip(".") for reason in now.reasons] if now is not None and not now.decides else []


def unreckoned_short(now: AsOfNow) -> str:
    """The same for a screen, where the verdict needs the room: that the crossover stays as swept; else empty."""
    if now.decides or not now.reasons:
        return ""
    lately, was = now.acceptance_length, now.acceptance_measured
    off = ""
    if now.acceptance_moved and lately is not None and was is not None:
        off = f", likely too {'high' if lately < was else 'low'}"
    return f"no step-time model: crossover as swept{off}"


def crossover_words(crossover: CrossoverNow | AsOfNow) -> str:
    """`95.0 [80.0, 110]`, or the word for why there is no number."""
    if crossover.verdict is Verdict.CROSSES:
        return interval_text(crossover.value, crossover.low, crossover.high)
    if not crossover.band:
        return "withdrawn" if isinstance(crossover, AsOfNow) else "unknown"
    top = number(crossover.band[-1].concurrency)
    return {
        Verdict.ALWAYS_FASTER: f"none up to {top}",
        Verdict.NEVER_FASTER: f"never faster up to {top}",
    }.get(crossover.verdict, crossover.verdict.value)


def acceptance_words(now: AsOfNow) -> str:
    """`acceptance 2.10 now, 2.60 when swept`; empty where the live one is not known."""
    if now.acceptance_length is None:
        return ""
    swept = f", {now.acceptance_measured:.2f} when swept" if now.acceptance_measured is not None else ""
    return f"acceptance {now.acceptance_length:.2f} now{swept}"


def mix_words(now: AsOfNow) -> str:
    """`requests of 900+120 tokens (prompt + answer) over the last 15 min, 178+256 when swept`; empty where unknown."""
    if now.mix is None:
        return ""
    swept = f", {tokens(now.mix_measured)} when swept" if now.mix_measured is not None else ""
    return f"requests of {tokens(now.mix.mix)} tokens (prompt + answer) over the last {age_text(now.mix.span_s)}{swept}"


def tokens(mix: Mix) -> str:
    """`178+256`: computed prompt tokens and answer tokens."""
    return f"{mix.prompt_tokens:.0f}+{mix.output_tokens:.0f}"


def break_even_words(point: BandPoint) -> str:
    """`2.75 [2.61, 2.90]`: an acceptance length."""
    return f"{point.ratio:.2f} [{point.low:.2f}, {point.high:.2f}]"


def most_words(status: EndpointStatus) -> str:
    """`, and K=3 allows at most 4`, where the break-even's interval ends only there; else empty."""
    now = status.as_of_now
    if now is None or now.break_even is None or status.k is None or now.for_arm != status.live_arm:
        return ""
    most = status.k + 1
    return f", and K={status.k} allows at most {most}" if now.break_even.high >= most - AT_MOST else ""


def changed_words(now: AsOfNow) -> str:
    """What moved of acceptance and mix, now and when swept."""
    told = (acceptance_words(now) if now.acceptance_moved else "", mix_words(now) if now.mix_moved else "")
    return "; ".join(text for text in told if text)
