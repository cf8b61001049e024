"""What about a set of runs qualifies an arm's verdict, or forbids one: nothing drafted, failures, short runs; pure.

A benchmark's file looks the same whether speculation was off or on with nothing drafted, so silence is weighed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from probes.imports.arm_name import k_of_name
from probes.imports.bench_json import VLLM
from probes.imports.rows import ResultFileError, Row
from probes.imports.run_quality import faults_of_runs, made_up_prompts, other_lengths
from probes.values import Reason

FAILED_SHARE = 0.05
"""A run in which more requests failed measured something else than this load."""
K_TOLERANCE = 0.5
NOTHING_DRAFTED = "nothing_drafted"


@dataclass(frozen=True, slots=True)
class Qualified:
    """Runs that may be used, and what must be said of them."""

    rows: tuple[Row, ...]
    reasons: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    refused: Mapping[str, Reason] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def qualify(rows: Sequence[Row], baseline: str, *, asked: bool) -> Qualified:
    """Sort the runs. ResultFileError where a baseline that nobody `asked` for by name drafted: then it is none."""
    used, notes = _without_failures(rows)
    reasons: dict[str, list[Reason]] = {}
    refused: dict[str, Reason] = {}
    base = [row for row in used if row.arm == baseline]
    _check_baseline(base, reasons.setdefault(baseline, []), asked)
    shown = any(row.drafted for row in used if row.arm != baseline)
    for arm in dict.fromkeys(row.arm for row in used if row.arm != baseline):
        own = [row for row in used if row.arm == arm]
        found = _undrafted(arm, own, shown)
        if found is not None and found.code == NOTHING_DRAFTED:
            refused[arm] = found
            used = [row for row in used if row.arm != arm]
            continue
        said = reasons.setdefault(arm, [])
        said += [found] if found is not None else []
        silent = [row for row in own if _silent(row)]
        if any(row.drafted for row in own) and silent:
            used = [row for row in used if row not in silent]
            text = f"{len(silent)} of {len(own)} runs of {arm} drafted nothing ({_places(silent)}); they are left out."
            said.append(Reason(NOTHING_DRAFTED, text))
        said += [*_other_k(arm, own), *other_lengths(arm, own, baseline, base), *made_up_prompts(arm, own)]
    for arm in dict.fromkeys(row.arm for row in used):
        reasons.setdefault(arm, []).extend(faults_of_runs(arm, [row for row in used if row.arm == arm]))
    said_of = {arm: tuple(found) for arm, found in reasons.items() if found}
    return Qualified(tuple(used), said_of, refused, tuple(notes))


def _without_failures(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    used: list[Row] = []
    notes: list[str] = []
    for row in rows:
        total = row.failed + (row.completed or 0)
        if row.completed is not None and row.failed > FAILED_SHARE * total:
            notes.append(f"{row.path}: {row.where}: left out: {row.failed} of {total} requests failed.")
            continue
        if row.failed:
            notes.append(f"{row.path}: {row.where}: {row.failed} requests failed; its throughput may be too low.")
        used.append(row)
    if not used:
        raise ResultFileError(rows[0].path, "too many requests failed in every run; measure again.")
    return used, notes


def _check_baseline(rows: Iterable[Row], reasons: list[Reason], asked: bool) -> None:
    for row in rows:
        if row.drafting is not None and not asked:
            text = (
                f"{row.where}: {row.arm} is the baseline, but its server drafted {row.drafting.k:.1f} tokens per step: "
                "it ran with speculation. Name the arms with --arm NAME=FILE, or the right one with --baseline."
            )
            raise ResultFileError(row.path, text)
        if row.drafted:
            text = f"The server of {row.arm} reports accepted drafts ({row.path.name}); it may not have been off."
            reasons.append(Reason("baseline_drafted", text))
            return


def _silent(row: Row) -> bool:
    """A run whose file would show drafting, had there been any."""
    return row.drafted is False or (row.drafted is None and row.tool == VLLM)


def _undrafted(arm: str, rows: Sequence[Row], shown: bool) -> Reason | None:
    """Why an arm is refused, or that nothing proves it; `shown` says that other files of this set show drafts."""
    if any(row.drafted for row in rows):
        return None
    if any(row.drafted is False for row in rows) or (shown and any(_silent(row) for row in rows)):
        text = (
            f"No run of {arm} drafted anything ({_places(rows)}): it is another measurement without speculation, not "
            "an arm. Check the server's speculative settings, and that its drafter finds matches."
        )
        return Reason(NOTHING_DRAFTED, text)
    tools = list(dict.fromkeys(row.tool for row in rows if row.tool))
    if not tools:
        return None
    text = f"Nothing in the files ({', '.join(tools)}) shows that {arm} drafted; it may have run without speculation."
    if any(_silent(row) for row in rows):
        text = (
            f"No file shows that {arm} drafted anything: vllm bench serve notes drafts only where its --base-url has "
            "/metrics and some were made, and releases before 0.14.1 never do. If it did not, the baseline is compared "
            "with itself."
        )
    return Reason("drafting_not_shown", text)


def _other_k(arm: str, rows: Sequence[Row]) -> list[Reason]:
    named = k_of_name(arm)
    found = [row.drafting.k for row in rows if row.drafting is not None]
    if named is None or not found or all(abs(k - named) <= K_TOLERANCE for k in found):
        return []
    low, high = min(found), max(found)
    drafted = f"{low:.1f}" if high - low < 0.1 else f"{low:.1f} to {high:.1f}"
    return [
        Reason("other_k", f"{arm} drafted {drafted} tokens per step, not {named}: its name or its server is wrong.")
    ]


def _places(rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(row.path.name for row in rows))
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
