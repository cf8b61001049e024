"""Quiet means that nobody else is there, whether a look meets them or only their traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probes.sweep.backoff import Quiet
from probes.values import EngineReading, Reading, State

IDLE = EngineReading("0", running=0.0, waiting=0.0, finished=10.0, prompt_tokens=100.0)


def page(state: State = State.OK, **changes: Any) -> Reading:
    return Reading("off", 0.0, 0.0, state, engines=(replace(IDLE, **changes),))


def test_quiet_grows_while_nothing_happens() -> None:
    quiet = Quiet(1.0)
    assert [quiet.look(page(), now_s) for now_s in (5.0, 7.0, 9.0)] == [0.0, 2.0, 4.0]
    assert quiet.now


@pytest.mark.parametrize(
    "news",
    [
        page(running=2.0),
        page(waiting=2.0),
        page(finished=11.0),
        page(prompt_tokens=164.0),
        page(State.DOWN),
        page(running=None),
    ],
)
def test_any_trace_of_others_starts_the_wait_anew(news: Reading) -> None:
    quiet = Quiet(1.0)
    quiet.look(page(), 0.0)
    assert quiet.look(news, 50.0) == 0.0
    assert not quiet.now
    last = news if news.state is State.OK else page()
    settled = replace(last, engines=(replace(last.engines[0], running=0.0, waiting=0.0),))
    assert [quiet.look(settled, now_s) for now_s in (60.0, 61.0)] == [0.0, 1.0]


def test_what_the_plan_allows_is_no_disturbance() -> None:
    quiet = Quiet(1.0)
    assert [quiet.look(page(running=1.0), now_s) for now_s in (0.0, 3.0)] == [0.0, 3.0]
