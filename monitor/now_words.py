"""What changed between a sweep and now, as words for alerts, terminals and screens; silent on what is unknown.

Lengths of acceptance get two decimals: a tenth of a token moves a crossover by more than its interval.
"""

from __future__ import annotations

from monitor.now_values import AsOfNow
from monitor.units import age_text, interval_text, number
from monitor.values import CrossoverNow
from probes.answer_values import BandPoint, Verdict
from probes.steptime.values import Mix


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
    """`requests of 900+120 tokens over the last 15 min, 178+256 when swept` (prompt + answer); empty where the mix is
    not known."""
    if now.mix is None:
        return ""
    swept = f", {tokens(now.mix_measured)} when swept" if now.mix_measured is not None else ""
    return f"requests of {tokens(now.mix.mix)} tokens over the last {age_text(now.mix.span_s)}{swept}"


def tokens(mix: Mix) -> str:
    """`178+256`: computed prompt tokens and answer tokens."""
    return f"{mix.prompt_tokens:.0f}+{mix.output_tokens:.0f}"


def break_even_words(point: BandPoint) -> str:
    """`2.75 [2.61, 2.90]`: an acceptance length."""
    return f"{point.ratio:.2f} [{point.low:.2f}, {point.high:.2f}]"


def changed_words(now: AsOfNow) -> str:
    """Acceptance and mix, now and when swept, whichever are known."""
    return "; ".join(text for text in (acceptance_words(now), mix_words(now)) if text)


def span_words(now: AsOfNow) -> str:
    """`seen in 240 requests`: what the live mix rests on."""
    return "" if now.mix is None else f"seen in {now.mix.requests:.0f} requests"
