"""A simulated server says which of its values contradict each other."""

from __future__ import annotations

import pytest

from probes.sim.spec import SimSpec


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"k": 6}, "k=6 needs 6 acceptance rates"),
        ({"k": -1}, "k=-1"),
        ({"acceptance": (0.5, 0.6)}, "never rises"),
        ({"acceptance": (1.2,)}, "between 0 and 1"),
        ({"crossover": 0.0}, "must be above 0"),
        ({"engines": 0}, "must be positive"),
        ({"kv_tokens": 16}, "does not hold one request"),
        ({"k": 1, "schedule": ((1, 8, 3),)}, "drafts more than k=1"),
    ],
)
def test_contradictions_are_named(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SimSpec(**changes)  # type: ignore[arg-type]


def test_drafts_cost_kv_space() -> None:
    assert SimSpec(k=3).kv_blocks < SimSpec(k=0).kv_blocks


def test_the_longest_request_fits_into_a_small_cache() -> None:
    spec = SimSpec(k=3, kv_tokens=800)
    assert spec.context_limit + spec.k < spec.kv_blocks * 16
