"""Decides from a journal what is still owed to a server; pure, with the clock as an argument."""

from __future__ import annotations

from dataclasses import replace

from probes.restart.journal import Journal, Step

FIRST_WAIT_S = 60.0
LONGEST_WAIT_S = 1800.0


def owes_restart(journal: Journal) -> bool:
    """Whether the server may run anything but its proven live arm."""
    return journal.step in (Step.RESTARTING, Step.UP, Step.RESTORING)


def owes_after(journal: Journal) -> bool:
    """Whether `after` must run (again): once `before` has begun, until `after` has ended well."""
    return journal.orders.after is not None and journal.step is not Step.BEGUN


def proof_may_suffice(journal: Journal) -> bool:
    """Whether a server that proves to be the live arm need not be restarted again.

    So it is where the live arm's command was the last to run well, and where no other arm's command can come any more,
    for the last one was up and looked otherwise: then a slow start, a person or a reboot has put it right, however the
    live arm's command ended. Not while an arm's command may still take effect, and not where what the live arm's
    command had to replace looks like the live arm: it may take effect late, or never.
    """
    if journal.step not in (Step.UP, Step.RESTORING) or journal.alike:
        return False
    told = journal.arm == journal.orders.live_arm or looked_otherwise(journal)
    return told or (journal.step is Step.RESTORING and journal.commanded)


def restoring(journal: Journal) -> Journal:
    """The same journal with the live arm's command about to run.

    It remembers which arm was up and how it looked; and whether only the live arm's commands were under way.
    """
    only_live = journal.step is Step.RESTARTING and journal.arm == journal.orders.live_arm
    if only_live or journal.step in (Step.UP, Step.RESTORING):
        return replace(journal, step=Step.RESTORING, hook=None)
    return journal.at(Step.RESTORING)


def looked_otherwise(journal: Journal) -> bool:
    """Whether the arm that was up last can be told from the live arm by its page."""
    orders = journal.orders
    if journal.shown_drafts is not None and journal.shown_drafts is not orders.drafts:
        return True
    return journal.shown_k is not None and orders.k is not None and journal.shown_k != orders.k


def next_try_s(journal: Journal, now_s: float) -> float:
    """When the next try to restore is due: at once after a kill, then ever later, for people may be at work on it."""
    if not journal.attempts or journal.tried_at_s is None or journal.tried_at_s > now_s:
        return now_s
    wait_s = FIRST_WAIT_S * 2.0 ** min(journal.attempts - 1, 16)
    return journal.tried_at_s + min(LONGEST_WAIT_S, wait_s)


def what_is_owed(journal: Journal) -> str:
    """In words for people: what to do by hand."""
    orders = journal.orders
    owed = []
    if owes_restart(journal):
        owed.append(f"bring the server back as arm {orders.live_arm} (`{orders.restore}`)")
    if owes_after(journal):
        owed.append(f"undo `before` (`{orders.after}`)")
    return " and ".join(owed) if owed else "nothing"
