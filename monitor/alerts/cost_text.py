"""How much a firing alert is about: per token, in capacity, and in output only where output is lost. Pure."""

from __future__ import annotations

from monitor.cost_text import slower_words, span_text, time_words
from monitor.now_values import ArmAtRate, Cost
from monitor.units import band_text, number
from monitor.values import EndpointStatus


def how_much(status: EndpointStatus) -> str:
    """One sentence that names both sides of the loss: output, and time per token."""
    speedup = status.speedup_now
    if speedup is None:
        return "unknown."
    engine = f" on engine {status.busiest_engine}, the busiest" if len(status.engines) > 1 else ""
    load = number(status.concurrency) if status.concurrency is not None else "unknown"
    said = f"{slower_words(speedup)} than without speculation, at {load} concurrent (requests in the system{engine})."
    observed = status.as_of_now.observed if status.as_of_now is not None else None
    if observed is None:
        return said
    return f"{said} The server's own output is {band_text(observed)} of what the baseline would make of this load."


def cost_details(status: EndpointStatus) -> str:
    """A few sentences; what is not known is left out."""
    return " ".join(_cost(status, status.cost)) if status.cost is not None else ""


def _cost(status: EndpointStatus, cost: Cost) -> list[str]:
    said = []
    if cost.ms_per_token is not None and status.tpot_p50_ms is not None:
        said.append(
            f"Of the {number(status.tpot_p50_ms)} ms per token (p50 now) about {span_text(cost.ms_per_token)} ms are "
            "due to it."
        )
    gain = cost.capacity_tok_s
    if gain is not None and (gain.low is None or gain.low > 0) and cost.best_arm not in (None, status.live_arm):
        more = f"{cost.best_arm} would make {span_text(gain)} tok/s more per engine"
        if cost.saturated:
            said.append(f"Requests are waiting, so output is lost too: {more}.")
        elif cost.saturated is False:
            said.append(f"Nothing waits, so no output is lost, but capacity is: at this concurrency {more}.")
        else:
            said.append(f"At this concurrency {more}; whether requests wait is not on the page.")
    there = next((one for one in cost.at_same_rate if one.arm == cost.best_arm), None)
    if not cost.saturated and there is not None and there.concurrency is not None and there.time_per_token is not None:
        said.append(
            f"If requests keep arriving as now, {there.arm} would settle at {span_text(there.concurrency)} concurrent "
            f"with {time_words(there.time_per_token)}{_why_more(status, there)}."
        )
    return said


def _why_more(status: EndpointStatus, there: ArmAtRate) -> str:
    """The same arm gains more here than at the same concurrency, which reads like a contradiction."""
    same, rate = status.speedup_now, there.time_per_token
    if same is None or rate is None or rate.value >= same.ratio:
        return ""
    return " (a larger gain than at the same concurrency: a faster server also holds fewer requests at a time)"
