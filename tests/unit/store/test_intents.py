"""Requests: taken once, answered once, and a pause or an abort is seen by whoever asks."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.store.db import Store, open_store
from monitor.store.identities import load_identity, save_identity
from monitor.store.intents import (
    abort_requested,
    active_pause,
    add_intent,
    claim_next,
    finish_intent,
    get_intent,
    pending,
)
from probes.values import Identity


def ask(store: Store, kind: str, at_s: float = 10.0, subject: str = "", reason: str = "", **args: Any) -> int:
    return add_intent(
        store, kind=kind, subject=subject, who="ana", host="desk", created_at_s=at_s, reason=reason, args=args
    )


def test_two_takers_never_get_the_same_request(store: Store) -> None:
    first, second = ask(store, "sweep", subject="chat"), ask(store, "sweep", subject="code", arms=["k1"])
    with open_store(store.path) as other:
        one, two = claim_next(store, "sweep", 11.0), claim_next(other, "sweep", 12.0)
        assert one is not None
        assert two is not None
        assert [one.id, two.id] == [first, second]
        assert two.args == {"arms": ["k1"]}
        assert claim_next(other, "sweep", 13.0) is None
    assert [i.id for i in pending(store, "sweep")] == [first, second]


def test_an_answer_is_found_by_whoever_asked(store: Store) -> None:
    number = ask(store, "sweep")
    claim_next(store, "sweep", 11.0)
    finish_intent(store, number, 99.0, "exit 0")
    found = get_intent(store, number)
    assert found is not None
    assert (found.claimed_at_s, found.done_at_s, found.result) == (11.0, 99.0, "exit 0")
    assert pending(store, "sweep") == []


def test_a_pause_holds_until_its_time_or_a_resume(store: Store) -> None:
    assert active_pause(store, 0.0) is None
    ask(store, "pause", reason="launch day", until_s=500.0)
    assert active_pause(store, 499.0) == (500.0, "launch day (ana on desk)")
    assert active_pause(store, 500.0) is None
    ask(store, "resume")
    assert active_pause(store, 20.0) is None
    ask(store, "pause", until_s=900.0)
    assert active_pause(store, 20.0) == (900.0, "(ana on desk)")


@pytest.mark.parametrize(("subject", "heard"), [("", True), ("chat-70b", True), ("code", False)])
def test_an_abort_is_heard_by_the_pool_it_names(store: Store, subject: str, heard: bool) -> None:
    ask(store, "abort", at_s=50.0, subject=subject, reason="users complain")
    said = abort_requested(store, "chat-70b", since_s=40.0)
    assert said == ("stopped by ana on desk: users complain" if heard else None)
    assert abort_requested(store, "chat-70b", since_s=50.5) is None


def test_a_request_that_nobody_would_take_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="no such intent: 'sweeep'"):
        ask(store, "sweeep")
    with pytest.raises(ValueError, match="a pause needs until_s"):
        ask(store, "pause")


def test_an_identity_keeps_its_first_sight_until_it_changes(store: Store) -> None:
    old, new = Identity(version="0.26.0", models=("a", "b")), Identity(version="0.27.0")
    assert load_identity(store, "chat") is None
    for at_s, identity, mark in ((1.0, old, "f1"), (2.0, old, "f1"), (3.0, new, "f2"), (4.0, new, "f2")):
        save_identity(store, "chat", at_s, identity, mark)
    assert load_identity(store, "chat") == (new, "f2", 4.0)
    rows = store.rows("SELECT first_seen_s, last_seen_s, fingerprint FROM identities ORDER BY id")
    assert [tuple(row) for row in rows] == [(1.0, 2.0, "f1"), (3.0, 4.0, "f2")]
