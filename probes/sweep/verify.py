"""Checks from a cell's own counters that the arm is what it claims: on must draft, off must not; pure."""

from __future__ import annotations

from probes.sweep.evidence import Evidence
from probes.values import Cell, Reason

NOT_DRAFTING = "arm_not_drafting"
DRAFTING = "arm_drafting"


def arm_reasons(cell: Cell, evidence: Evidence) -> tuple[list[Reason], list[Reason]]:
    """(void, notes) about the arm's identity; nothing where no page was read."""
    if not evidence.readings:
        return [], []
    return _must_draft(cell, evidence) if evidence.arm.speculative else _must_not_draft(cell, evidence)


def _must_not_draft(cell: Cell, evidence: Evidence) -> tuple[list[Reason], list[Reason]]:
    name = evidence.arm.name
    if cell.drafts:
        return [Reason(DRAFTING, f"arm {name} must not speculate, but made {cell.drafts:.0f} drafts in the cell")], []
    configured = [reading.speculation_configured for reading in evidence.readings]
    if any(configured):
        text = f"arm {name} must not speculate, but its page shows speculative decoding configured"
        return [Reason(DRAFTING, text)], []
    return [], [_unverified(name)] if all(one is None for one in configured) else []


def _must_draft(cell: Cell, evidence: Evidence) -> tuple[list[Reason], list[Reason]]:
    name = evidence.arm.name
    if cell.drafts:
        return [], []
    if cell.drafts == 0 and evidence.arm.dynamic:
        return [], [Reason("no_draft_here", f"arm {name} drafted nothing at this load")]
    if cell.drafts == 0:
        return [Reason(NOT_DRAFTING, f"arm {name} does not draft: no draft was made during the cell")], []
    shown = [reading.speculation_configured for reading in evidence.readings]
    if shown[-1] is False and not any(shown):
        return [Reason(NOT_DRAFTING, f"arm {name} does not draft: its page shows no speculative decoding")], []
    return [], [_unverified(name)]


def _unverified(name: str) -> Reason:
    return Reason("arm_not_verified", f"the page of arm {name} does not show whether it drafts: not verified")
