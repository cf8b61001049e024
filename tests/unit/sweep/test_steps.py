"""A cell's engine steps, from vLLM's histogram of tokens per step; None wherever it is not the whole server's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.values import EngineReading, Histogram, Reading
from tests.support.evidence import evidence


def with_steps(given: Evidence, count: Callable[[Reading, int], float | None]) -> Evidence:
    """Pages whose histogram of tokens per step has `count(page, engine number)` observations; None leaves it out."""

    def page(reading: Reading) -> Reading:
        return replace(
            reading, engines=tuple(engine(reading, number, one) for number, one in enumerate(reading.engines))
        )

    def engine(reading: Reading, number: int, one: EngineReading) -> EngineReading:
        steps = count(reading, number)
        if steps is None:
            return one
        return replace(one, histograms={"iteration_tokens": Histogram((float("inf"),), (steps,), 9 * steps, steps)})

    samples = tuple(page(reading) for reading in given.samples)
    return replace(given, samples=samples, start=samples[0], end=samples[-1])


def test_steps_are_those_between_the_window_s_edges_and_of_all_engines() -> None:
    cell = assemble(with_steps(evidence(engines=2), lambda page, number: (100.0 + 20 * number) * page.mono_s))

    assert cell.window_s is not None
    assert cell.steps == pytest.approx(220.0 * cell.window_s)


def test_a_server_without_the_histogram_tells_no_steps() -> None:
    assert assemble(evidence()).steps is None


def test_steps_of_only_some_engines_are_not_the_server_s() -> None:
    one_engine_silent = with_steps(evidence(engines=2), lambda page, number: None if number else 100.0 * page.mono_s)

    assert assemble(one_engine_silent).steps is None


def test_a_histogram_that_fell_tells_no_steps() -> None:
    assert assemble(with_steps(evidence(), lambda page, number: 5000.0 - page.mono_s)).steps is None
