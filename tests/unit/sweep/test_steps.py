"""A cell's engine steps, from vLLM's histograms of tokens per step and of gaps; None wherever they do not tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from probes.sweep.assemble import assemble
from probes.sweep.evidence import Evidence
from probes.values import EngineKind, EngineReading, Histogram, Reading
from tests.support.evidence import evidence
from tests.unit.engines.pages import only_engine, real


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


def on_two_api_servers() -> Evidence:
    """The edges of the window are two real pages of one server, 6.030 s apart."""
    given = evidence()
    pages = ("vllm-0.32.0-cpu-2api-off-c8.prom", "vllm-0.32.0-cpu-2api-off-c8-later.prom")
    assert given.start is not None
    start, end = (
        replace(given.start, mono_s=given.start.mono_s + late_s, engines=(only_engine(real(name)),))
        for late_s, name in zip((0.0, 6.030), pages, strict=True)
    )
    return replace(given, samples=(start, end), start=start, end=end)


def test_several_api_servers_tell_no_steps_but_how_long_they_took() -> None:
    cell = assemble(on_two_api_servers())

    assert cell.steps is None
    steps = 3788 / 8
    assert cell.output_gap_ms == pytest.approx(6030 / steps, rel=0.05)


def test_gaps_of_a_server_that_counts_them_per_token_tell_no_steps() -> None:
    given = on_two_api_servers()
    samples = tuple(replace(page, engine_kind=EngineKind.SGLANG) for page in given.samples)

    assert assemble(replace(given, samples=samples, start=samples[0], end=samples[1])).output_gap_ms is None
