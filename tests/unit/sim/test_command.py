"""What the arguments of `python -m probes.sim` make of a server."""

from __future__ import annotations

import pytest

from probes.sim.__main__ import parser, spec_of
from probes.sim.spec import SimSpec

POOR = (0.5, 0.3, 0.2)


def made(*arguments: str, k: int = 3) -> SimSpec:
    return spec_of(parser().parse_args(arguments), k)


def test_acceptance_now_makes_drafts_poorer_on_the_same_hardware() -> None:
    as_swept, now = made("--crossover", "24"), made("--crossover", "24", "--acceptance-now", "0.5,0.3,0.2")
    assert now.acceptance == POOR
    assert now.stretch == as_swept.stretch
    assert made("--crossover", "24", "--acceptance", "0.5,0.3,0.2").stretch != as_swept.stretch


def test_the_hardware_is_that_of_the_acceptance_it_was_swept_with() -> None:
    swept = ("--acceptance", "0.8,0.6,0.5")
    now = made(*swept, "--acceptance-now", "0.5,0.3,0.2")
    assert now.stretch == made(*swept).stretch
    assert (now.acceptance, made(*swept).acceptance) == (POOR, (0.8, 0.6, 0.5))


def test_it_needs_a_rate_for_every_draft_too() -> None:
    with pytest.raises(ValueError, match="k=3 needs 3 acceptance rates, there are 2"):
        made("--acceptance-now", "0.5,0.3")
