"""What is still owed to a server at each step, and when it is tried again."""

from __future__ import annotations

import pytest

from probes.restart.journal import Step, failed_try
from probes.restart.steps import next_try_s, owes_after, owes_restart, proof_may_suffice, restoring, what_is_owed
from tests.support.journals import journal


@pytest.mark.parametrize(
    ("step", "restart", "after"),
    [
        (Step.BEGUN, False, False),
        (Step.BEFORE_STARTED, False, True),
        (Step.DRAINED, False, True),
        (Step.RESTARTING, True, True),
        (Step.UP, True, True),
        (Step.RESTORING, True, True),
        (Step.RESTORED, False, True),
        (Step.AFTER_STARTED, False, True),
    ],
)
def test_what_is_owed_at_each_step(step: Step, restart: bool, after: bool) -> None:
    assert owes_restart(journal(step)) is restart
    assert owes_after(journal(step)) is after
    assert not owes_after(journal(step, before=None, after=None))


def test_every_step_is_in_that_table() -> None:
    assert len(Step) == 8


@pytest.mark.parametrize(
    ("step", "changes", "suffices"),
    [
        (Step.UP, {"arm": "k3"}, True),
        (Step.UP, {"arm": "off", "shown_drafts": False}, True),
        (Step.UP, {"arm": "off"}, False),  # its page does not tell it from the live arm
        (Step.UP, {"arm": "k1", "shown_drafts": True, "shown_k": 1}, True),
        (Step.UP, {"arm": "other-k3", "shown_drafts": True, "shown_k": 3}, False),
        (Step.UP, {"arm": "k1", "shown_drafts": True, "shown_k": 1, "k": None}, False),
        (Step.RESTARTING, {"arm": "off"}, False),  # the command may still take effect
        (Step.RESTARTING, {"arm": "k3"}, False),
        (Step.RESTORING, {}, False),
        (Step.RESTORING, {"commanded": True}, True),
        # The live arm's command failed, but the arm before it was up and looks otherwise: a person has put it right.
        (Step.RESTORING, {"arm": "off", "shown_drafts": False}, True),
        (Step.RESTORING, {"arm": "k3"}, True),
        (Step.RESTORING, {"arm": "k3", "alike": True}, False),  # what that was to replace looks like it
        (Step.RESTORING, {"arm": "other-k3", "shown_drafts": True, "shown_k": 3}, False),
        # What it had to replace looks like the live arm, and the command may take effect late or never.
        (Step.RESTORING, {"commanded": True, "alike": True}, False),
    ],
)
def test_when_a_proven_server_need_not_be_restarted(step: Step, changes: dict[str, object], suffices: bool) -> None:
    assert proof_may_suffice(journal(step, **changes)) is suffices


def test_a_try_that_failed_does_not_make_it_forget_how_the_last_arm_looked() -> None:
    up = journal(Step.UP, arm="off", shown_drafts=False)
    assert proof_may_suffice(restoring(failed_try(restoring(up), "exit 3", 1.0)))
    own = journal(Step.RESTARTING, arm="k3")
    assert proof_may_suffice(restoring(failed_try(restoring(own), "exit 3", 1.0)))
    begun = journal(Step.RESTARTING, arm="off")
    assert not proof_may_suffice(restoring(failed_try(restoring(begun), "exit 3", 1.0)))


def test_a_killed_sweep_is_restored_at_once_and_a_failing_restore_ever_more_rarely() -> None:
    assert next_try_s(journal(Step.UP), 50.0) == 50.0
    waits = [next_try_s(journal(Step.RESTORING, attempts=n, tried_at_s=100.0), 101.0) - 100.0 for n in range(1, 9)]
    assert waits == [60.0, 120.0, 240.0, 480.0, 960.0, 1800.0, 1800.0, 1800.0]
    assert next_try_s(journal(Step.RESTORING, attempts=10_000, tried_at_s=100.0), 101.0) == 1900.0


def test_a_clock_that_was_set_back_does_not_put_it_off() -> None:
    assert next_try_s(journal(Step.RESTORING, attempts=3, tried_at_s=9_999.0), 100.0) == 100.0


def test_what_to_do_by_hand_is_said() -> None:
    assert what_is_owed(journal(Step.UP, arm="off")) == (
        "bring the server back as arm k3 (`./switch.sh k3`) and undo `before` (`./undrain.sh`)"
    )
    assert what_is_owed(journal(Step.RESTORED)) == "undo `before` (`./undrain.sh`)"
    assert what_is_owed(journal(Step.BEGUN)) == "nothing"
