"""What is proposed against cut answers is something that a config may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.commands.cut_answers import cut_answers, cut_words
from monitor.config.model import MAX_TOKENS_MOST as MOST
from probes.load.shape import LengthShape
from probes.sweep.plan import LoadSpec
from tests.support.configs import SOUND, edited, problems


def load(cap: int, *answers: float) -> LoadSpec:
    return LoadSpec(max_tokens=cap, shape=LengthShape((100.0,) * len(answers), answers, 1000.0))


def test_a_cap_that_cuts_next_to_none_is_proposed() -> None:
    cut = cut_answers(load(128, 100.0, 500.0))
    assert cut is not None
    assert cut_words(cut, 128).endswith("set max_tokens = 512 or more")


@pytest.mark.parametrize("cap", [128, MOST])
def test_no_more_is_proposed_than_a_config_may_hold(cap: int) -> None:
    cut = cut_answers(load(cap, 100.0, 2.0 * MOST))
    assert cut is not None
    assert cut.enough == MOST
    assert cut_words(cut, cap).endswith(f"max_tokens may be {MOST} at most")


@pytest.mark.parametrize(("cap", "sound"), [(MOST, True), (MOST + 1, False)])
def test_the_highest_cap_is_the_config_s(cap: int, sound: bool, tmp_path: Path) -> None:
    assert (problems(tmp_path, edited("ladder =", f"max_tokens = {cap}\nladder =", SOUND)) == ()) is sound
