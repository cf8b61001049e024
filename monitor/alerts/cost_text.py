"""How much a firing alert is about: per token, in capacity, and in output only where output is lost. Pure."""

from __future__ import annotations

from monitor.cost_text import ratio_text, span_text
from monitor.now_values import Cost
from monitor.units import number
from monitor.values import EndpointStatus


def how_much(status: EndpointStatus) -> str:
    """A few sentences; what is not known is left out."""
    speedup = status.speedup_now
    if speedup is None:
        return "unknown."
    engine = f" on engine {status.busiest_engine}, the busiest" if len(status.engines) > 1 else ""
    load = number(status.concurrency) if status.concurrency is not None else "unknown"
    said = [
        f"{_pct(1 - speedup.ratio)} [{_pct(1 - speedup.high)}, {_pct(1 - speedup.low)}] slower than without "
        f"speculation at {load} concurrent requests (running + waiting{engine})."
    ]
    if status.cost is not None:
        said += _cost(status, status.cost)
    return " ".join(said)


def _cost(status: EndpointStatus, cost: Cost) -> list[str]:
    said = []
    if cost.ms_per_token is not None and status.tpot_p50_ms is not None:
        said.append(
            f"Of the {number(status.tpot_p50_ms)} ms per token (p50 now) about {span_text(cost.ms_per_token)} ms are "
            "due to it."
        )
    gain = cost.capacity_tok_s
    if gain is not None and (gain.low is None or gain.low > 0) and cost.best_arm not in (None, status.live_arm):
        more = f"{cost.best_arm} would make {span_text(gain, signed=True)} tok/s per engine"
        if cost.saturated:
            said.append(f"Requests are waiting, so output is lost too: {more}.")
        elif cost.saturated is False:
            said.append(f"Nothing waits, so no output is lost, but capacity is: at this concurrency {more}.")
        else:
            said.append(f"At this concurrency {more}; whether requests wait is not on the page.")
    there = next((one for one in cost.at_same_rate if one.arm == cost.best_arm), None)
    if not cost.saturated and there is not None and there.concurrency is not None and there.time_per_token is not None:
        said.append(
            f"With the arrivals of now {there.arm} would sit at {span_text(there.concurrency)} concurrent, with "
            f"{ratio_text(there.time_per_token)} times the time per token."
        )
    return said


def _pct(share: float) -> str:
    return f"{100 * share:.0f}%"
