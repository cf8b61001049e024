"""What the live mix rests on: only what finished between two pages of one server, and enough of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from monitor.live_mix import length_spread, live_mix, mix_moved, newest_mix
from monitor.now_values import LiveMix
from probes.steptime.values import Mix
from probes.values import EngineReading, Histogram, Reading
from tests.support.readings import NOW_S, engine, reading

EDGES = (100.0, float("inf"))


def lengths(count: float, mean: float) -> Histogram:
    """A histogram of so many requests of one length."""
    return Histogram(EDGES, (count if mean <= 100 else 0.0, count), count * mean, count)


def page(
    at_s: float,
    finished: float,
    *,
    prompt: float = 400.0,
    output: float = 60.0,
    hit_share: float | None = 0.25,
    computed: float | None = None,
    engines: Sequence[str] = ("0",),
    process_start_s: float = 1.0,
) -> Reading:
    """A server after `finished` requests of one kind on every engine."""

    def one(name: str) -> EngineReading:
        histograms = {"prompt_tokens": lengths(finished, prompt), "generation_tokens": lengths(finished, output)}
        if computed is not None:
            histograms["computed_prompt_tokens"] = lengths(finished, computed)
        return replace(
            engine(name),
            finished=finished,
            prefix_queries=None if hit_share is None else finished * prompt,
            prefix_hits=None if hit_share is None else finished * prompt * hit_share,
            histograms=histograms,
        )

    return reading(at_s, [one(name) for name in engines], process_start_s=process_start_s)


def test_the_mix_is_what_finished_between_the_pages_less_what_the_prefix_cache_had() -> None:
    found = live_mix(page(NOW_S - 600, 1000), page(NOW_S, 1200))
    assert found is not None
    assert (found.mix.prompt_tokens, found.mix.output_tokens) == pytest.approx((300.0, 60.0))
    assert (found.requests, found.span_s) == (200.0, 600.0)


def test_engines_are_taken_together() -> None:
    found = live_mix(page(NOW_S - 600, 50, engines=("0", "1")), page(NOW_S, 70, engines=("0", "1")))
    assert found is not None
    assert found.requests == 40.0


def test_the_engines_own_count_of_computed_prompt_tokens_is_taken_where_it_has_one() -> None:
    found = live_mix(page(NOW_S - 60, 0, computed=120.0), page(NOW_S, 100, computed=120.0))
    assert found is not None
    assert found.mix.prompt_tokens == pytest.approx(120.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (page(NOW_S - 60, 100), page(NOW_S, 119)),
        (page(NOW_S - 60, 100), page(NOW_S, 300, process_start_s=500.0)),
        (page(NOW_S - 60, 300), page(NOW_S, 100)),
        (page(NOW_S - 60, 100, hit_share=None), page(NOW_S, 300, hit_share=None)),
        (page(NOW_S - 60, 100), replace(page(NOW_S, 300), engines=(engine("0"),))),
        (page(NOW_S, 100), page(NOW_S, 300)),
    ],
    ids=["too few", "restarted", "counter fell", "no prefix counters", "no histograms", "no time"],
)
def test_what_does_not_tell_gives_no_mix(before: Reading, after: Reading) -> None:
    assert live_mix(before, after) is None


@pytest.mark.parametrize(("finished", "told"), [(60.0, False), (1000.0, True)])
def test_what_ended_first_after_a_start_is_not_the_mix(finished: float, told: bool) -> None:
    """With a hundred in the server, sixty that have ended since it started are its shortest."""
    busy = page(NOW_S, finished)
    busy = replace(busy, engines=(replace(busy.engines[0], running=90.0, waiting=10.0),))
    assert (live_mix(page(NOW_S - 60, finished - 50.0), busy) is not None) is told


@pytest.mark.parametrize(
    ("prompt", "output", "requests", "moved"),
    [
        (300.0, 60.0, 1000.0, False),
        (326.0, 60.0, 1000.0, False),
        (340.0, 60.0, 1000.0, True),
        (300.0, 52.0, 1000.0, True),
        (340.0, 60.0, 40.0, False),
        (600.0, 60.0, 40.0, True),
        (0.0, 60.0, 1000.0, True),
    ],
)
def test_a_mix_has_moved_only_beyond_ten_percent_and_its_own_noise(
    prompt: float, output: float, requests: float, moved: bool
) -> None:
    now = LiveMix(Mix(prompt, output), requests, 900.0)
    assert mix_moved(now, Mix(300.0, 60.0)) is moved


def test_one_spread_of_lengths_is_told_from_the_buckets() -> None:
    even = Histogram((1.0, 2.0, 5.0, 10.0, float("inf")), (10.0, 20.0, 50.0, 100.0, 100.0), 500.0, 100.0)
    assert length_spread(even) == pytest.approx(1 / 3**0.5, rel=0.01)
    assert length_spread(Histogram((), (), 0.0, 0.0)) == 0.0


def test_a_few_very_long_prompts_make_the_mean_unsure() -> None:
    edges = (100.0, 200.0, 50_000.0, 100_000.0, float("inf"))

    def one(finished: float) -> EngineReading:
        long = finished / 100
        counts = (0.0, finished - long, finished - long, finished, finished)
        prompts = Histogram(edges, counts, 150.0 * (finished - long) + 75_000.0 * long, finished)
        return replace(
            engine("0"),
            finished=finished,
            prefix_queries=None,
            prefix_hits=None,
            histograms={
                "prompt_tokens": prompts,
                "computed_prompt_tokens": prompts,
                "generation_tokens": lengths(finished, 60.0),
            },
        )

    found = live_mix(reading(NOW_S - 600, [one(1000.0)]), reading(NOW_S, [one(1200.0)]))
    assert found is not None
    assert found.spread > 5
    fewer_long = Mix(found.mix.prompt_tokens / 1.5, found.mix.output_tokens)
    assert not mix_moved(found, fewer_long)
    assert mix_moved(replace(found, spread=1.0), fewer_long)


def ended(
    page_before: Reading, after_s: float, requests: float, prompt: float, *, inside: float = 0.0, noise: float = 1.0
) -> Reading:
    """The page after so many more requests of `prompt` tokens, whose mean came out `noise` times as long."""
    one = page_before.engines[0]
    held = one.histograms["prompt_tokens"]
    finished, total = held.count + requests, held.total + requests * prompt * noise
    return replace(
        page(page_before.at_s + after_s, finished, prompt=total / finished, hit_share=0.0),
        engines=(
            replace(
                page(0.0, finished, prompt=total / finished, hit_share=0.0).engines[0], running=inside, waiting=0.0
            ),
        ),
    )


@pytest.mark.parametrize(
    ("requests", "inside", "prompt", "follows"),
    [
        (240.0, 8.0, 1400.0, True),
        (240.0, 8.0, 560.0, False),
        (15.0, 1.0, 1400.0, False),
        (240.0, 60.0, 1400.0, True),
        (240.0, 60.0, 760.0, False),
        (240.0, 250.0, 5000.0, False),
        (40.0, 1.0, 680.0, False),
    ],
    ids=[
        "changed",
        "as ever",
        "too few requests",
        "changed for sure",
        "the short ones alone may have ended",
        "more inside than ended",
        "within both noises",
    ],
)
def test_the_newest_minutes_are_taken_once_they_clearly_show_another_mix(
    requests: float, inside: float, prompt: float, follows: bool
) -> None:
    before = page(NOW_S - 900.0, 5000, prompt=520.0, hit_share=0.0)
    lately = ended(before, 780.0, 1500.0, 520.0)
    found = newest_mix(before, lately, ended(lately, 120.0, requests, prompt, inside=inside))
    assert found is not None
    assert (found.span_s == 120.0) is follows
    assert (found.mix.prompt_tokens == pytest.approx(prompt)) is follows


def test_steady_traffic_is_seldom_taken_for_changed() -> None:
    rng = np.random.default_rng(3)
    looks, taken = 400, 0
    for _ in range(looks):
        means = np.exp(rng.normal(-0.32, 0.8, (2, 600)))
        before = page(NOW_S - 900.0, 5000, prompt=500.0, hit_share=0.0)
        lately = ended(before, 780.0, 520.0, 500.0, noise=float(means[0][:520].mean()))
        found = newest_mix(before, lately, ended(lately, 120.0, 80.0, 500.0, noise=float(means[1][:80].mean())))
        assert found is not None
        taken += found.span_s == 120.0
    assert taken < looks / 50
