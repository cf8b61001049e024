"""Lengths of real traffic: what histograms tell of them, and how they are drawn."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest

from probes.load.shape import LEAST_REQUESTS, QUANTILES, LengthShape, draw_lengths, shape_of
from probes.values import Histogram

EDGES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, float("inf"))


def histogram(*lengths: int) -> Histogram:
    """What a server shows after requests of these lengths."""
    counts = tuple(float(sum(one <= edge for one in lengths)) for edge in EDGES)
    return Histogram(EDGES, counts, float(sum(lengths)), float(len(lengths)))


def shaped(*lengths: int) -> tuple[float, ...]:
    """Prompt lengths of traffic of these lengths."""
    shape = shape_of(histogram(*lengths), histogram(*[100] * len(lengths)))
    assert shape is not None
    return shape.prompt_tokens


def test_the_mean_is_the_traffics_own_although_buckets_are_coarse() -> None:
    lengths = [210 + n % 17 for n in range(400)]
    found = shaped(*lengths)
    assert sum(found) / QUANTILES == pytest.approx(sum(lengths) / 400, rel=0.01)


def test_short_and_long_requests_both_stay() -> None:
    """Half of the requests have about 40 tokens, half about 1500: the mean of 770 is the length of none."""
    found = shaped(*([40] * 300 + [1500] * 300))
    assert sum(one <= 60 for one in found) == QUANTILES // 2
    assert sum(one >= 900 for one in found) == QUANTILES // 2
    assert all(a <= b for a, b in pairwise(found))


def test_too_few_requests_have_no_shape() -> None:
    few = histogram(*[50] * (int(LEAST_REQUESTS) - 1))
    enough = histogram(*[50] * int(LEAST_REQUESTS))
    assert shape_of(few, enough) is None
    assert shape_of(enough, few) is None
    assert shape_of(enough, enough) is not None


def test_lengths_beyond_the_last_edge_count_as_long() -> None:
    found = shaped(*([100] * 200 + [9000] * 200))
    assert max(found) > 2000
    assert sum(found) / QUANTILES == pytest.approx(4550, rel=0.01)


SHAPE = LengthShape(tuple(float(n + 1) for n in range(8)), tuple(float(100 + n) for n in range(8)), 1000.0)


def test_every_pass_brings_each_length_once() -> None:
    drawn = list(islice(draw_lengths(SHAPE, 1, 4, 0), 16))
    for part in (drawn[:8], drawn[8:]):
        assert sorted(prompt for prompt, _ in part) == list(SHAPE.prompt_tokens)
        assert sorted(answer for _, answer in part) == list(SHAPE.output_tokens)
    assert drawn[:8] != drawn[8:]


def test_neither_prompts_nor_answers_come_in_waves_from_short_to_long() -> None:
    drawn = list(islice(draw_lengths(SHAPE, 1, 4, 0), 8))
    assert [prompt for prompt, _ in drawn] != list(SHAPE.prompt_tokens)
    assert [answer for _, answer in drawn] != list(SHAPE.output_tokens)


def test_long_prompts_do_not_always_have_long_answers() -> None:
    pairs = islice(draw_lengths(SHAPE, 1, 4, 0), 80)
    assert len({answer for prompt, answer in pairs if prompt == 8.0}) > 3


def test_lengths_are_drawn_alike_whenever_a_rung_is_repeated_by_another_arm() -> None:
    once, again = (list(islice(draw_lengths(SHAPE, 1, 4, 0), 30)) for _ in range(2))
    assert once == again
    assert once != list(islice(draw_lengths(SHAPE, 1, 4, 1), 30))
