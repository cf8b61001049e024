"""What moved between two readings of one endpoint, engine by engine; pure: no clock, no I/O.

A counter that falls, or a page that the process of the one before cannot have written, means a restart or another
worker's page: the interval is marked and no rate is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping

from probes.engines.sglang import accepted
from probes.scrape.quantiles import gained, quantile
from probes.values import EngineKind, EngineRates, EngineReading, Histogram, Reading

COUNTERS = (
    "generation_tokens",
    "prompt_tokens",
    "finished",
    "preemptions",
    "prefix_queries",
    "prefix_hits",
    "drafts",
    "draft_tokens",
    "accepted_tokens",
    "spec_verify_calls",
)
LATENCIES = ("ttft_s", "tpot_s", "e2e_s", "queue_s")

_CLOCK_SLACK_S = 2.0
_CLOCK_SLACK_SHARE = 0.1
_SAME_START_S = 0.5


def rates_between(a: Reading, b: Reading) -> tuple[EngineRates, ...]:
    """Rates from `a` to the later `b`, for every engine of `b`.

    An engine that `a` does not have gets None everywhere; one that `b` does not have is left out.
    """
    before = {engine.engine: engine for engine in a.engines}
    dt_s, sound = _interval(a, b)
    renamed = {name for name in COUNTERS if a.matched_names.get(name) != b.matched_names.get(name)}
    replaced = _replaced(a, b)
    rates = []
    for engine in b.engines:
        old = before.get(engine.engine)
        if old is None:
            rates.append(EngineRates(engine.engine, dt_s))
        elif replaced or _fell(old, engine, renamed):
            rates.append(EngineRates(engine.engine, dt_s, reset=True))
        elif not sound:
            rates.append(EngineRates(engine.engine, dt_s))
        else:
            rates.append(_engine_rates(old, engine, dt_s, renamed, b.k if a.k == b.k else None))
    return tuple(rates)


def restarted(a: Reading, b: Reading) -> bool:
    """Whether the server was replaced between two readings, or another worker wrote the second page."""
    before = {engine.engine: engine for engine in a.engines}
    renamed = {name for name in COUNTERS if a.matched_names.get(name) != b.matched_names.get(name)}
    return _replaced(a, b) or any(
        _fell(before[engine.engine], engine, renamed) for engine in b.engines if engine.engine in before
    )


def _interval(a: Reading, b: Reading) -> tuple[float, bool]:
    """Seconds from `a` to `b`, and whether they can be divided by.

    The monotonic clock is the better one within a process. Readings from before a restart of ours or a reboot leave it
    meaningless, and a stepped or suspended wall clock parts from it: where the two disagree, no rate is made.
    """
    wall, mono = b.at_s - a.at_s, b.mono_s - a.mono_s
    if mono <= 0:
        return wall, wall > 0
    if abs(mono - wall) > max(_CLOCK_SLACK_S, _CLOCK_SLACK_SHARE * mono):
        return wall, False
    return mono, True


def _replaced(a: Reading, b: Reading) -> bool:
    """Whether one process cannot have written both pages, though every counter may have grown from one to the other.

    Only what a server fixes at its start counts. `monitor.store.replaced` says the same in SQL.
    """
    one_s, other_s = a.process_start_s, b.process_start_s
    if one_s is not None and other_s is not None and abs(one_s - other_s) > _SAME_START_S:
        return True
    if not a.engines or not b.engines:
        # A page that was not read lacks everything.
        return False
    return (
        # One API server shows its start, several sharing a page do not.
        (one_s is None) != (other_s is None)
        or _differ(a.engine_kind, b.engine_kind)
        or bool(a.model_names and b.model_names and set(a.model_names).isdisjoint(b.model_names))
        or (a.engine_kind is EngineKind.VLLM and _speculates_otherwise(a, b))
    )


def _speculates_otherwise(a: Reading, b: Reading) -> bool:
    """Of two vLLM pages: it registers its speculation series, one for each draft position, before its token counters.

    SGLang's K may change as it runs, and it shows that it drafts once it has.
    """
    return _differ(a.k, b.k) or _differ(a.speculation_configured, b.speculation_configured)


def _differ(one: object, other: object) -> bool:
    """Known on both pages and not the same."""
    return one is not None and other is not None and one != other


def _fell(old: EngineReading, new: EngineReading, renamed: set[str]) -> bool:
    for name in COUNTERS:
        before, after = getattr(old, name), getattr(new, name)
        if name not in renamed and before is not None and after is not None and after < before:
            return True
    if len(old.accepted_per_pos) == len(new.accepted_per_pos) and any(
        after < before for before, after in zip(old.accepted_per_pos, new.accepted_per_pos, strict=True)
    ):
        return True
    if old.spec_verify_calls is not None and new.spec_verify_calls is None:
        # SGLang shows it from the first request that drafted and ended, and then for as long as it runs.
        return True
    return any(
        new.histograms[name].count < histogram.count
        for name, histogram in old.histograms.items()
        if name in new.histograms
    )


def _engine_rates(old: EngineReading, new: EngineReading, dt_s: float, renamed: set[str], k: int | None) -> EngineRates:
    moved: dict[str, float | None] = {}
    for name in COUNTERS:
        before, after = getattr(old, name), getattr(new, name)
        known = before is not None and after is not None and name not in renamed
        moved[name] = after - before if known else None
    if moved["drafts"] is None and moved["spec_verify_calls"] is not None:
        moved |= _from_verify_calls(old, new, moved["spec_verify_calls"], k)

    def per_second(name: str) -> float | None:
        value = moved[name]
        return None if value is None else value / dt_s

    drafts, accepted, drafted = moved["drafts"], moved["accepted_tokens"], moved["draft_tokens"]
    length = _ratio(accepted, drafts)
    ended, answered = (_gained(old, new, name) for name in ("e2e_s", "ttft_s"))
    return EngineRates(
        engine=new.engine,
        dt_s=dt_s,
        generation_tok_s=per_second("generation_tokens"),
        prompt_tok_s=per_second("prompt_tokens"),
        finished_per_s=per_second("finished"),
        drafts_per_s=per_second("drafts"),
        draft_tok_s=per_second("draft_tokens"),
        accepted_tok_s=per_second("accepted_tokens"),
        preemptions=moved["preemptions"],
        prefix_hit_ratio=_ratio(moved["prefix_hits"], moved["prefix_queries"]),
        accepted_per_pos=_by_position(old, new, drafts),
        acceptance_length=None if length is None else 1.0 + length,
        acceptance_rate=_ratio(accepted, drafted),
        effective_k=_ratio(drafted, drafts),
        quantiles_ms=_quantiles_ms(old.histograms, new.histograms),
        in_system=None if ended is None else ended.total / dt_s,
        unanswered=None if answered is None else answered.total / dt_s,
        latency_mean_s=None if ended is None else ended.total / ended.count,
    )


def _from_verify_calls(old: EngineReading, new: EngineReading, calls: float, k: int | None) -> dict[str, float | None]:
    """What SGLang's requests that finished drafted and accepted; nothing where none did, as all count at their end."""
    answers = _gained(old, new, "generation_tokens")
    if answers is None:
        return {}
    return {
        "drafts": calls,
        "draft_tokens": None if k is None else k * calls,
        "accepted_tokens": accepted(answers.total, answers.count, calls),
    }


def _gained(old: EngineReading, new: EngineReading, name: str) -> Histogram | None:
    """What one histogram gained; None where that is nothing or not known."""
    before, after = old.histograms.get(name), new.histograms.get(name)
    found = gained(before, after) if before is not None and after is not None else None
    return found if found is not None and found.count else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _by_position(old: EngineReading, new: EngineReading, drafts: float | None) -> tuple[float, ...]:
    if not drafts or len(old.accepted_per_pos) != len(new.accepted_per_pos):
        return ()
    return tuple(
        (after - before) / drafts for before, after in zip(old.accepted_per_pos, new.accepted_per_pos, strict=True)
    )


def _quantiles_ms(
    old: Mapping[str, Histogram], new: Mapping[str, Histogram]
) -> dict[str, tuple[float | None, float | None]]:
    found: dict[str, tuple[float | None, float | None]] = {}
    for name in LATENCIES:
        if name in old and name in new:
            difference = gained(old[name], new[name])
            if difference is not None:
                found[name] = (_ms(quantile(difference, 0.5)), _ms(quantile(difference, 0.99)))
    return found


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000.0
