"""How well runs were made: too short, mostly ramp and drain, cut off, on other requests than the baseline's; pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from probes.imports.rows import Row
from probes.values import Reason

SHORT_S = 10.0
"""Runs of 9 to 20 s flipped a published verdict that runs of a minute corrected; below this none is taken unmarked."""
WAVES = 2
"""Requests a client below which a closed loop never comes to a steady load."""
UNDERFILLED = 0.8
"""A closed loop whose mean in the system is below this share of its clients ran mostly in ramp and drain."""
CUT_SHARE = 0.9
"""Request-seconds of finished requests below which the estimate of the others' tokens deserves a word."""
SAME_LENGTH = 0.2
"""Answers that stop by themselves differ a little from arm to arm; by more than this, the prompts were others."""


def faults_of_runs(arm: str, rows: Sequence[Row]) -> list[Reason]:
    """What makes an arm's runs poor measurements of any load."""
    found: list[Reason] = []
    short = [row for row in rows if row.duration_s is not None and row.duration_s < SHORT_S]
    if short:
        text = f"{len(short)} of {len(rows)} runs of {arm} lasted less than {SHORT_S:g} s; short runs flip verdicts."
        found.append(Reason("short_runs", text))
    cut = [row for row in rows if row.finished_share is not None and row.finished_share < CUT_SHARE]
    if cut:
        worst_share = min(row.finished_share or 0.0 for row in cut)
        text = (
            f"{len(cut)} of {len(rows)} runs of {arm} ended in the middle of requests (up to "
            f"{100 * (1 - worst_share):.0f}% of the load), whose tokens are estimated. Longer runs help."
        )
        found.append(Reason("cut_off", text))
    waves = [row for row in rows if row.completed is not None and row.clients and row.completed < WAVES * row.clients]
    if waves:
        text = (
            f"{len(waves)} of {len(rows)} runs of {arm} sent fewer than {WAVES} requests a client, so most of the run "
            "was ramp and drain. Send at least five."
        )
        return [*found, Reason("one_wave", text)]
    thin = [
        row for row in rows if row.in_flight is not None and row.clients and row.in_flight < UNDERFILLED * row.clients
    ]
    if thin:
        worst = min(thin, key=lambda row: (row.in_flight or 0.0) / (row.clients or 1.0))
        text = (
            f"{len(thin)} of {len(rows)} runs of {arm} were mostly ramp and drain: {worst.clients:g} clients held only "
            f"{worst.in_flight:.3g} requests in the mean. Send at least five requests a client."
        )
        found.append(Reason("underfilled", text))
    return found


def other_lengths(arm: str, rows: Sequence[Row], baseline: str, base: Sequence[Row]) -> list[Reason]:
    """Longer prompts or answers change what a token costs, so arms must be measured with the same."""
    for what, of in (("prompt", "prompt_tokens_mean"), ("output", "output_tokens_mean")):
        own, theirs = ([v for row in group if (v := getattr(row, of)) is not None] for group in (rows, base))
        if own and theirs and abs(fmean(own) / fmean(theirs) - 1) > SAME_LENGTH:
            text = (
                f"{arm} was measured with {fmean(own):.0f} {what} tokens in the mean and {baseline} with "
                f"{fmean(theirs):.0f}: part of the difference is theirs, not speculation's."
            )
            return [Reason("other_lengths", text)]
    return []


def made_up_prompts(arm: str, rows: Sequence[Row]) -> list[Reason]:
    """Random or synthetic text, where a file tells."""
    if not any(row.made_up for row in rows):
        return []
    text = f"{arm} was measured with made-up prompts; drafts of real text are accepted at another rate."
    return [Reason("made_up_prompts", text)]
