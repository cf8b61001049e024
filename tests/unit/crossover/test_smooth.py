"""The line between rungs: through every one of them, without overshoot, and nearer to a bend than straight pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.crossover.smooth import monotone_cubic

VALUES = st.lists(st.floats(-5, 5), min_size=2, max_size=12)


@given(VALUES)
def test_it_goes_through_every_point_and_never_leaves_a_gap_s_ends(values: list[float]) -> None:
    y = np.array(values)
    x = np.cumsum(np.linspace(0.3, 1.7, y.size))
    assert monotone_cubic(x, y, x) == pytest.approx(y, abs=1e-9)
    for left in range(y.size - 1):
        inside = monotone_cubic(x, y, np.linspace(x[left], x[left + 1], 33))
        low, high = sorted((y[left], y[left + 1]))
        assert inside.min() >= low - 1e-9
        assert inside.max() <= high + 1e-9


def test_it_follows_a_bend_more_closely_than_straight_pieces() -> None:
    x = np.log([1.0, 4.0, 16.0, 64.0, 256.0])
    at = np.linspace(x[0], x[-1], 101)

    def curve(log_x: np.ndarray) -> np.ndarray:
        return np.asarray(log_x - np.log1p(np.exp(log_x) / 20))

    smooth = np.abs(monotone_cubic(x, curve(x), at) - curve(at)).max()
    straight = np.abs(np.interp(at, x, curve(x)) - curve(at)).max()
    assert smooth < 0.5 * straight


def test_two_points_make_a_straight_line() -> None:
    found = monotone_cubic(np.array([0.0, 2.0]), np.array([1.0, 3.0]), np.array([0.5, 1.0]))
    assert found == pytest.approx([1.5, 2.0])
