"""What a sweep will cost in minutes, tokens and money, for `--plan` and `check`; pure, it reads nothing.

The gate's own estimate (`monitor/service/budget.py`) is the middle of it, so that what is said here and what the gate
later refuses cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.commands.cut_answers import cut_answers
from monitor.config.model import ProbeConfig
from monitor.service.budget import bounded, need_of, starts_s
from probes.load.prompts import BUILTIN, Prompt
from probes.load.shape import CHARS_PER_TOKEN
from probes.sweep.plan import MORE_THAN_LAST, SweepPlan, estimate

ANSWER_SHARE = 0.5
"""Of `max_tokens`: the length of a mean answer where nothing is known of the real ones."""

RUNGS_A_START = 2
"""A start for refinement measures at least the rungs on both sides of the crossing."""


@dataclass(frozen=True, slots=True)
class SweepCost:
    """What one sweep takes, watching the arms first not included."""

    cells: int
    refine_cells: int
    """At most, on top of `cells`, around the crossing."""
    seconds: float
    """The whole ladder with answers as long as they may be."""
    seconds_low: float
    """The whole ladder with answers that end at once."""
    seconds_high: float
    """With all the refinement there may be, and no more than the minutes and the money allowed."""
    output_tokens_upper: int
    output_tokens: int | None
    """By the rates of the last sweep; None where there was none."""
    prompt_tokens_upper: int
    prompt_tokens: int | None
    """As `output_tokens`."""
    answer_tokens: float
    """Mean answer that the prompt tokens rest on."""
    answer_known: bool
    """Whether that is what live traffic shows, not half of the cap."""
    answer_cut_from: float | None
    """The mean live answer, where the cap cuts it to `answer_tokens`."""
    restarts: int
    """Of the server, the one that brings the live arm back included."""
    refine_restarts: int
    """At most, on top of `restarts`, for cells around the crossing."""
    down_s: float
    """Seconds of all restarts together, in which nothing is served."""

    def price(self, per_hour: float) -> tuple[float, float]:
        """Money for `seconds` and for `seconds_high`, in the currency of `per_hour`."""
        return self.seconds / 3600 * per_hour, self.seconds_high / 3600 * per_hour


def sweep_cost(plan: SweepPlan, probe: ProbeConfig, prompts: Sequence[Prompt]) -> SweepCost:
    """Cost of a plan that sends `prompts`."""
    ladder, need = estimate(plan), need_of(plan, probe)
    at_once = estimate(replace(plan, load=replace(plan.load, max_tokens=0)))
    allowed = bounded(plan, probe, 0.0, now=True).max_minutes
    down_s = starts_s(plan, probe)
    answer, asked, known = _lengths(plan, prompts)
    likely = _likely_tokens(plan)
    per_token = asked / answer
    restarts = ladder.starts + 1 if plan.restarts else 0
    again = ladder.refine_cells_upper // RUNGS_A_START if plan.restarts else 0
    refine_s = ladder.refine_seconds_upper + again * (down_s / max(1, restarts) + plan.warmup_s)
    return SweepCost(
        cells=ladder.cells,
        refine_cells=ladder.refine_cells_upper,
        seconds=need.seconds,
        seconds_low=at_once.seconds + down_s,
        seconds_high=max(need.seconds, min(need.seconds + refine_s, 60 * allowed)),
        output_tokens_upper=need.tokens_upper,
        output_tokens=likely,
        prompt_tokens_upper=int(need.tokens_upper * per_token),
        prompt_tokens=None if likely is None else int(likely * per_token),
        answer_tokens=answer,
        answer_known=known,
        answer_cut_from=cut.live_mean if (cut := cut_answers(plan.load)) is not None else None,
        restarts=restarts,
        refine_restarts=again,
        down_s=down_s,
    )


def _lengths(plan: SweepPlan, prompts: Sequence[Prompt]) -> tuple[float, float, bool]:
    """Mean tokens of an answer and of a prompt, and whether live traffic says how long answers are.

    A user's own prompts keep their lengths, whatever live traffic's are.
    """
    shape = plan.load.shape
    characters = [len(prompt.text) if prompt.text is not None else _said(prompt) for prompt in prompts]
    asked = sum(characters) / max(1, len(characters)) / CHARS_PER_TOKEN
    if shape is None:
        return ANSWER_SHARE * plan.load.max_tokens, asked, False
    if plan.load.prompts == BUILTIN:
        asked = shape.means[0]
    answer = shape.cut_mean(plan.load.max_tokens)
    return max(1.0, answer), asked, True


def _said(prompt: Prompt) -> int:
    return sum(len(str(message.get("content", ""))) for message in prompt.messages or ())


def _likely_tokens(plan: SweepPlan) -> int | None:
    """Output tokens by the last sweep's cells; None where an arm was not measured on the first rung or below."""
    known = {one.arm for one in plan.seen if one.rung <= plan.ladder[0]}
    if any(arm.name not in known for arm in plan.arms):
        return None
    return int(estimate(plan).tokens_upper / MORE_THAN_LAST)
