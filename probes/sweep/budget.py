"""Keeps count of what a sweep may still spend, minutes and output tokens; pure, with the clock as an argument."""

from __future__ import annotations

from collections.abc import Sequence

from probes.sweep.plan import CellSlot, StreamRate, SweepPlan, cell_tokens_upper, loaded_s
from probes.values import Cell

MORE_THAN_SEEN = 1.25
"""Slack over what a cell of the same arm made per client: answers differ in length from cell to cell, and the first
cell of a rung has a longer ramp."""


class Budget:
    """Of one sweep that began at `now_s` (monotonic); `tokens` is what has been spent so far."""

    def __init__(self, plan: SweepPlan, now_s: float, resumed: Sequence[Cell] = ()) -> None:
        self._plan = plan
        self.end_s = now_s + 60 * plan.max_minutes
        self.tokens = sum(cell_tokens(plan, cell) for cell in resumed)

    def spend(self, tokens: int) -> None:
        """Output tokens that were made for this sweep."""
        self.tokens += tokens

    def out_of_time(self, now_s: float) -> str | None:
        """Why the minutes are over, or None while they are not."""
        return f"the budget of {self._plan.max_minutes:g} minutes ran out" if now_s > self.end_s else None

    def too_short_for(self, seconds: float, now_s: float) -> str | None:
        """Why something of `seconds` would not end within the minutes, or None where it would."""
        if now_s + seconds <= self.end_s:
            return None
        return f"of {self._plan.max_minutes:g} minutes {max(0.0, self.end_s - now_s) / 60:.1f} are left"

    def out_of_tokens(self, cells: Sequence[Cell], slots: Sequence[CellSlot]) -> str | None:
        """Why the tokens do not suffice for the next cells, or None where they do."""
        limit = self._plan.max_total_tokens
        if limit is None:
            return None
        needed = sum(tokens_upper(self._plan, cells, slot) for slot in slots)
        if self.tokens + needed <= limit:
            return None
        return (
            f"the budget of {limit} output tokens holds no further cell: {self.tokens} are spent, up to {needed} needed"
        )


def cell_tokens(plan: SweepPlan, cell: Cell) -> int:
    """Output tokens of a finished cell: the server's count, else the client's, else the most it can have been.

    Where others were served too, the client's comes first: their tokens are not on our bill.
    """
    counts = [cell.server_tokens, cell.client_tokens]
    known = [count for count in (reversed(counts) if cell.foreign_requests else counts) if count is not None]
    return int(known[0]) if known else int(cell_tokens_upper(plan, cell.arm, cell.rung))


def stream_rates(cells: Sequence[Cell], cell_s: float, max_tokens: int) -> tuple[StreamRate, ...]:
    """What the fastest valid cell of each arm and rung, of windows of `cell_s`, made per stream and second.

    And the longest median of a request's time there.
    """
    fastest: dict[tuple[str, int], float] = {}
    request_s: dict[tuple[str, int], float] = {}
    for cell in cells:
        tokens = cell.client_tokens if cell.server_tokens is None else cell.server_tokens
        place = cell.arm, cell.rung
        if cell.valid and tokens:
            rate = tokens / (cell.rung * loaded_s(cell_s, max_tokens))
            fastest[place] = max(rate, fastest.get(place, 0.0))
        if cell.valid and cell.e2e.p50_ms is not None:
            request_s[place] = max(cell.e2e.p50_ms / 1e3, request_s.get(place, 0.0))
    return tuple(StreamRate(*place, rate, request_s.get(place)) for place, rate in sorted(fastest.items()))


def tokens_upper(plan: SweepPlan, cells: Sequence[Cell], slot: CellSlot) -> int:
    """The most tokens the next cell can make: a stream is never faster for having more beside it."""
    below = [c for c in cells if c.arm == slot.arm and c.rung <= slot.rung and cell_tokens(plan, c) > 0]
    if not below:
        return int(cell_tokens_upper(plan, slot.arm, slot.rung))
    nearest = max(c.rung for c in below)
    per_client = max(cell_tokens(plan, c) / c.rung for c in below if c.rung == nearest)
    return int(MORE_THAN_SEEN * per_client * slot.rung)
